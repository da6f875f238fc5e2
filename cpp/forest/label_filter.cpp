// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/label_filter.hpp"

#include <algorithm>

namespace oplt {

namespace {

std::vector<bool> nodes_to(const LabelTree& tree, const std::vector<bool>& is_allowed) {
  std::vector<bool> leads(tree.n_nodes());
  for (LabelId label = 0; label < is_allowed.size(); ++label) {
    if (is_allowed[label]) {
      for (NodeId node = tree.leaf_of(label); node != kNone && !leads[node]; node = tree.node(node).parent) {
        leads[node] = true;
      }
    }
  }
  return leads;
}

}  // namespace

LabelFilter::LabelFilter(std::optional<std::span<const LabelId>> allowed, std::span<const LabelId> denied,
                         std::span<const Plt> trees)
    : is_allowed_(trees.front().n_labels(), !allowed) {
  if (allowed) {
    for (const LabelId label : *allowed) {
      is_allowed_[label] = true;
    }
  }
  for (const LabelId label : denied) {
    is_allowed_[label] = false;
  }
  n_allowed_ = static_cast<std::size_t>(std::count(is_allowed_.begin(), is_allowed_.end(), true));
  if (2 * n_allowed_ < is_allowed_.size()) {
    for (const Plt& plt : trees) {
      leads_to_allowed_.push_back(nodes_to(plt.tree(), is_allowed_));
    }
  }
}

}  // namespace oplt

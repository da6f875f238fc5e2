// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/label_filter.hpp"

#include <algorithm>

namespace oplt {

namespace {

std::vector<bool> nodes_to(const LabelTree& tree, const std::vector<bool>& is_allowed) {
  std::vector<bool> leads(tree.n_nodes());
  for (LabelId label = 0; label < is_allowed.size(); ++label) {
    if (is_allowed[label] && tree.leaf_of(label) != kNone) {
      for (NodeId node = tree.leaf_of(label); node != kNone && !leads[node]; node = tree.node(node).parent) {
        leads[node] = true;
      }
    }
  }
  return leads;
}

}  // namespace

LabelFilter::LabelFilter(const LabelBook& labels, std::optional<std::span<const LabelId>> allowed,
                         std::span<const LabelId> denied, std::span<const Plt> trees)
    : unshown_(labels.unshown()), is_allowed_(labels.size(), !allowed) {
  if (allowed) {
    for (const LabelId label : *allowed) {
      is_allowed_[label] = true;
    }
  }
  for (const LabelId label : denied) {
    is_allowed_[label] = false;
  }
  for (LabelId label = 0; label < is_allowed_.size(); ++label) {
    is_allowed_[label] = allows(label);
    n_allowed_ += is_allowed_[label] ? 1 : 0;
  }
  if (2 * n_allowed_ < is_allowed_.size()) {
    for (const Plt& plt : trees) {
      leads_to_allowed_.push_back(nodes_to(plt.tree(), is_allowed_));
    }
  }
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/label_filter.hpp"

#include <algorithm>

namespace oplt {

namespace {

/// The nodes at or above the leaves of these labels, as far as they are allowed.
std::vector<bool> nodes_to(const LabelTree& tree, std::span<const LabelId> labels, const LabelFilter& filter) {
  std::vector<bool> leads(tree.n_nodes());
  for (const LabelId label : labels) {
    const NodeId leaf = filter.allows(label) ? tree.leaf_of(label) : kNone;
    for (NodeId node = leaf; node != kNone && !leads[node]; node = tree.node(node).parent) {
      leads[node] = true;
    }
  }
  return leads;
}

}  // namespace

/// Takes time for the labels that are given, not for all, except for the bits.
LabelFilter::LabelFilter(const LabelBook& labels, std::optional<std::span<const LabelId>> allowed,
                         std::span<const LabelId> denied, std::span<const Plt> trees)
    : unshown_(labels.unshown()), is_allowed_(labels.size(), !allowed), n_allowed_(allowed ? 0 : labels.n_shown()) {
  const auto set = [&](LabelId label, bool is_allowed) {
    if (labels.is_shown(label) && is_allowed_[label] != is_allowed) {
      is_allowed_[label] = is_allowed;
      is_allowed ? ++n_allowed_ : --n_allowed_;
    }
  };
  if (allowed) {
    std::ranges::for_each(*allowed, [&](LabelId label) { set(label, true); });
  }
  std::ranges::for_each(denied, [&](LabelId label) { set(label, false); });
  if (allowed && 2 * n_allowed_ < is_allowed_.size()) {
    for (const Plt& plt : trees) {
      leads_to_allowed_.push_back(nodes_to(plt.tree(), *allowed, *this));
    }
  }
}

LabelFilter::LabelFilter(const FilterIds& ids, std::span<const LabelTree* const> trees) {
  LabelId label_bound = 0;
  for (const LabelTree* tree : trees) {
    label_bound = std::max(label_bound, tree->label_bound());
  }
  is_allowed_.resize(label_bound, !ids.are_allowed);
  for (const LabelId label : ids.labels) {
    if (label < label_bound) {
      is_allowed_[label] = ids.are_allowed;
    }
  }
  n_allowed_ = static_cast<std::size_t>(std::ranges::count(is_allowed_, true));
  if (ids.are_allowed) {
    for (const LabelTree* tree : trees) {
      leads_to_allowed_.push_back(nodes_to(*tree, ids.labels, *this));
    }
  }
}

FilterIds LabelFilter::ids() const {
  FilterIds ids{.are_allowed = knows_nodes(), .labels = {}};
  const std::size_t bound = std::max(is_allowed_.size(), unshown_ ? unshown_->size() : 0);
  for (LabelId label = 0; label < bound; ++label) {
    if (allows(label) == ids.are_allowed) {
      ids.labels.push_back(label);
    }
  }
  return ids;
}

}  // namespace oplt

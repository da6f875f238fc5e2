// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "encode/label_book.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// A filter as a list of labels, from which another holder of trees makes the same filter.
struct FilterIds {
  bool are_allowed = false;  // the labels are the only allowed ones, and nodes are known; otherwise they are denied
  std::vector<LabelId> labels;
};

/// Which labels a prediction may return. It belongs to the labels and trees as they are when it is made.
class LabelFilter {
 public:
  /// Allows the labels that are shown.
  explicit LabelFilter(const LabelBook& labels) : unshown_(labels.unshown()), n_allowed_(labels.n_shown()) {}

  /// Of these, allows only the labels `allowed`, if given, and none of `denied`.
  LabelFilter(const LabelBook& labels, std::optional<std::span<const LabelId>> allowed, std::span<const LabelId> denied,
              std::span<const Plt> trees);

  /// The same filter for other trees.
  LabelFilter(const FilterIds& ids, std::span<const LabelTree* const> trees);
  FilterIds ids() const;

  bool allows(LabelId label) const {
    return (!unshown_ || label >= unshown_->size() || !(*unshown_)[label]) &&
           (label >= is_allowed_.size() || is_allowed_[label]);
  }

  /// Whether there may be an allowed label at or below a node of a tree.
  bool allows_below(std::size_t tree, NodeId node) const {
    return leads_to_allowed_.empty() || leads_to_allowed_[tree][node];
  }

  /// Whether allows_below() is exact; otherwise it is true of all nodes.
  bool knows_nodes() const { return !leads_to_allowed_.empty(); }

  std::size_t n_allowed() const { return n_allowed_; }

 private:
  std::shared_ptr<const std::vector<bool>> unshown_;  // by label; see LabelBook
  std::vector<bool> is_allowed_;                      // by label; empty if all are
  std::vector<std::vector<bool>> leads_to_allowed_;   // by tree and node; empty if most nodes do
  std::size_t n_allowed_ = 0;
};

/// Allows the labels that are shown; nullopt if all are.
inline std::optional<LabelFilter> shown_labels(const LabelBook& labels) {
  return labels.unshown() ? std::optional<LabelFilter>(labels) : std::nullopt;
}

}  // namespace oplt

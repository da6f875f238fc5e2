// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// Which labels a prediction may return. It belongs to the trees as they are when it is made.
class LabelFilter {
 public:
  /// Allows only the labels `allowed`, or all labels if it is nullopt, but none of `denied`. All must exist.
  LabelFilter(std::optional<std::span<const LabelId>> allowed, std::span<const LabelId> denied,
              std::span<const Plt> trees);

  bool allows(LabelId label) const { return is_allowed_[label]; }

  /// Whether there may be an allowed label at or below a node of a tree.
  bool allows_below(std::size_t tree, NodeId node) const {
    return leads_to_allowed_.empty() || leads_to_allowed_[tree][node];
  }

  std::size_t n_allowed() const { return n_allowed_; }

 private:
  std::vector<bool> is_allowed_;                     // by label
  std::vector<std::vector<bool>> leads_to_allowed_;  // by tree and node; empty if most nodes do
  std::size_t n_allowed_ = 0;
};

}  // namespace oplt

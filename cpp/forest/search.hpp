// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "base/params.hpp"
#include "base/types.hpp"
#include "forest/online_plt.hpp"

namespace oplt {

struct ScoredLabel {
  LabelId label;
  Real probability;

  friend bool operator==(const ScoredLabel&, const ScoredLabel&) = default;
};

struct ScoredNode {
  NodeId node;
  Real probability;
};

/// Working memory of one searching thread.
struct SearchScratch {
  NodeScratch nodes;
  std::vector<ScoredNode> frontier;
  std::vector<ScoredNode> next_level;
};

/// The labels that `params` asks for, most probable first; equally probable ones by ascending label id.
///
/// With beam == 0 the answer is exact: a subtree is passed over only if its probability, which bounds that of all its
/// labels, is below the threshold or below that of k labels already found (Algorithm 10). With beam > 0 only the `beam`
/// most probable nodes of each level are looked into.
std::vector<ScoredLabel> search(const OnlinePlt& model, RowView x, const PredictParams& params, SearchScratch& scratch);

/// Those of the labels that `params` asks for, in the same order. `labels` are distinct.
std::vector<ScoredLabel> best_of(std::span<const ScoredLabel> labels, const PredictParams& params);

}  // namespace oplt

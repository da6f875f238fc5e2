// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "forest/label_filter.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// The options of a prediction. The defaults are defined in Python.
struct SearchParams {
  std::size_t top_k = 0;                // at most this many labels; 0 = no limit
  Real threshold = 0;                   // only labels at least this probable
  std::size_t beam = 0;                 // beam search of this width; 0 = exact search
  const LabelFilter* filter = nullptr;  // if given, only labels that it allows
  const LabelFilter* shown = nullptr;   // labels that may be predicted at all, null if all may; `filter` respects it
};

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
/// With beam == 0 the search is exact: a subtree is skipped only if its probability, which is an upper bound for all
/// its labels, is below the threshold or below that of k labels already found (Algorithm 10). With beam > 0, only the
/// `beam` most probable nodes of each level are expanded; if too few of the labels below them are allowed, the search
/// is repeated with a wider beam. Subtrees without an allowed label are skipped, if the filter knows them; `number` is
/// that of the tree in its forest, by which the filter knows its nodes.
std::vector<ScoredLabel> search(const Plt& plt, RowView x, const SearchParams& params, SearchScratch& scratch,
                                std::size_t number = 0);

/// The same selection from given labels, which must be distinct and allowed.
std::vector<ScoredLabel> best_of(std::span<const ScoredLabel> labels, const SearchParams& params);

}  // namespace oplt

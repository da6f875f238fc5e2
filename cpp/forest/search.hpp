// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "forest/label_filter.hpp"
#include "forest/plt.hpp"
#include "forest/scored.hpp"

namespace oplt {

/// The options of a prediction. The defaults are defined in Python.
struct SearchParams {
  std::size_t top_k = 0;                // at most this many labels; 0 = no limit
  Real threshold = 0;                   // only labels at least this probable
  std::size_t beam = 0;                 // beam search of this width; 0 = exact search
  Real beam_share = 0;                  // leave out nodes below this share of the best node of their level
  const LabelFilter* filter = nullptr;  // if given, only labels that it allows
  const LabelFilter* shown = nullptr;   // labels that may be predicted at all, null if all may; `filter` respects it
};

/// The labels found so far that reach the threshold: the k best, or all of them.
class FoundLabels {
 public:
  FoundLabels(std::size_t top_k, Real threshold) : top_k_(top_k), least_(threshold) {}

  /// Whether a label of this probability could still be among the results.
  bool wants(Real probability) const { return probability >= least_; }

  /// Labels below this probability are not wanted.
  Real least() const { return least_; }

  void offer(const ScoredLabel& candidate);

  std::size_t size() const { return labels_.size(); }
  std::vector<ScoredLabel> sorted() &&;

 private:
  bool is_full() const { return top_k_ > 0 && labels_.size() == top_k_; }

  std::size_t top_k_;
  Real least_;                       // the threshold, or the lowest probability of k labels
  std::vector<ScoredLabel> labels_;  // a heap, the worst label on top
};

/// The search for the labels of one row.
struct RowSearch {
  RowView x;
  FoundLabels found;
  std::vector<ScoredNode> open;        // to be expanded: a heap, or, for beam search, the level in ascending order
  std::vector<ScoredNode> next_level;  // of a beam search
};

/// A node to be expanded for a row.
struct Visit {
  ScoredNode node;
  std::uint32_t row;
};

/// Working memory of one searching thread.
struct SearchScratch {
  NodeScratch nodes;
  std::vector<RowSearch> rows;
  std::vector<std::uint32_t> unfinished;  // the rows whose searches are not complete
  std::vector<Visit> visits;              // of a round
};

/// For each row, the labels that `params` asks for, most probable first; equally probable ones by ascending label id.
///
/// With beam == 0 the search is exact: a subtree is skipped only if its probability, which is an upper bound for all
/// its labels, is below the threshold or below that of k labels already found (Algorithm 10). With beam > 0, only the
/// `beam` most probable nodes of each level are expanded; if too few of the labels below them are allowed, the search
/// is repeated with a wider beam. Subtrees without an allowed label are skipped, if the filter knows them; `number` is
/// that of the tree in its forest, by which the filter knows its nodes.
///
/// Searching for many rows together is faster than for one after the other; what is found for a row does not depend on
/// the others.
LabelsOfRows search(const Plt& plt, std::span<const RowView> rows, const SearchParams& params, SearchScratch& scratch,
                    std::size_t number = 0);

/// The same for a single row.
inline std::vector<ScoredLabel> search(const Plt& plt, RowView x, const SearchParams& params, SearchScratch& scratch,
                                       std::size_t number = 0) {
  return std::move(search(plt, {&x, 1}, params, scratch, number)[0]);
}

/// Continues the exact search of each row from its open nodes, which are a heap, and adds to what it has found.
void search_on(const Plt& plt, std::span<RowSearch> rows, const LabelFilter* filter, SearchScratch& scratch,
               std::size_t number = 0);

/// Whether a beam search may have found too few labels, because nodes without an allowed label have displaced others
/// from the beam. Then it is repeated with a beam that is kWiderBeam times as wide. If there is a threshold, fewer
/// labels may be all that reach it.
bool is_short(const FoundLabels& found, const SearchParams& params);
inline constexpr std::size_t kWiderBeam = 4;

/// The same selection from given labels, which must be distinct and allowed.
std::vector<ScoredLabel> best_of(std::span<const ScoredLabel> labels, const SearchParams& params);

}  // namespace oplt

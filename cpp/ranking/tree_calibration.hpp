// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "base/working_memory.hpp"
#include "forest/forest.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/explained_step.hpp"
#include "ranking/online_logistic.hpp"
#include "ranking/pass_detector.hpp"

namespace oplt {

/// Calibrates the probabilities of a model that has no label memory. The order of the labels stays that of the trees.
///
/// The probability of a label in a tree is a product over the nodes of its path, and the errors of the factors multiply
/// as well. A logistic model learns from the stream how often the best labels are right, given their log-odds in the
/// trees and the sum of the best probabilities of the row: it sees some examples just before the trees learn them
/// (progressive validation).
class TreeCalibration {
 public:
  TreeCalibration();

  /// Whether to observe the example with this number, from 0. The fraction decreases over time. Observed examples come
  /// in runs, because each ends a batch, and small batches are learned more slowly.
  static bool observes(std::uint64_t number);

  /// Learns from an example that the trees have not learned yet.
  /// `by_trees` are the labels of observed_search(), before the trees have learned the example; null: searches for
  /// them.
  void observe(const Forest& forest, const LabelFilter* shown, const Example& example,
               const std::vector<ScoredLabel>* by_trees = nullptr);
  static SearchParams observed_search(const Forest& forest, const LabelFilter* shown);

  /// See PassDetector.
  bool recognise(std::span<const std::uint64_t> digests) { return passes_.recognise(digests); }
  bool is_repeating() const { return passes_.is_repeating(); }

  /// As Forest::search(), but with calibrated probabilities; the threshold applies to these. The search is as exact as
  /// that of the forest. With one tree, a label's probability does not depend on `params`, unless a beam misses one of
  /// the best labels.
  LabelsOfRows search(const Forest& forest, std::span<const RowView> rows, const SearchParams& params,
                      SearchScratch& scratch) const;

  /// The steps from a probability by the trees to the one that search() returns, given the best labels by the trees.
  ExplainedSteps explain(Real probability, std::span<const ScoredLabel> best) const;

  /// That probability.
  Real calibrated(Real probability, std::span<const ScoredLabel> best) const { return of_row(best)(probability); }

  void save(ArrayWriter& out, const std::string& prefix) const;
  static TreeCalibration load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError unless the state is possible in a model that has learned this many examples.
  void check(std::uint64_t n_examples) const;

 private:
  using Model = OnlineLogistic<3>;  // of a constant, a label's log-odds, and the logarithm of the sum of the best

  /// The calibration of one row: a non-decreasing function of the trees' probability.
  struct OfRow {
    double constant;
    double slope;

    double logit(Real probability) const;
    Real operator()(Real probability) const;

    /// The smallest number that is mapped to `calibrated` or more; above 1 if there is none.
    Real lowest_reaching(Real calibrated) const;
  };

  OfRow of_row(std::span<const ScoredLabel> best) const;

  Model model_;
  PassDetector passes_;
  std::uint64_t n_observed_ = 0;
  WorkingMemory<SearchScratch> scratch_;  // for observe()
};

}  // namespace oplt

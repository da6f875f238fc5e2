// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/working_memory.hpp"
#include "forest/forest.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/candidate_features.hpp"
#include "ranking/explained_ranking.hpp"
#include "ranking/label_memory.hpp"
#include "ranking/online_logistic.hpp"
#include "ranking/pass_detector.hpp"
#include "ranking/recent_examples.hpp"
#include "ranking/score_calibration.hpp"

namespace oplt {

/// A row with some of its features removed.
struct ThinnedRow {
  std::vector<FeatureId> features;
  std::vector<Real> values;

  RowView view() const { return {features, values}; }
};

/// The labels that the trees have found for an observed example.
struct FoundByTrees {
  std::vector<ScoredLabel> labels;
  std::vector<ScoredLabel> of_thinned;  // for LabelRanker::thinned(), if there is such a row
};

/// Ranks labels by the tree and the label memory together.
///
/// Both propose candidates, and a small logistic model combines their evidence into a probability. That model is
/// trained by progressive validation: it sees some examples of the stream just before the tree and the memory learn
/// from them. So it learns how far the tree and the memory can be trusted, for labels with few and with many examples.
class LabelRanker {
 public:
  /// Working memory of one predicting thread.
  struct Scratch {
    SearchScratch search;
    LabelMemory::Query query;
    std::vector<LabelId> nearest;
    std::vector<LabelId> known;  // the candidates' labels, sorted
    std::vector<Candidate> candidates;
    std::size_t n_first = 0;           // number of candidates for any k; the others were added because k is large
    Real least_probability = 0;        // lowest probability by the tree among the first candidates
    RecentExamples::Nearest examples;  // nearest to the row
    std::vector<CandidateFeatures> features;
    ScoreCalibration::Context context;
  };

  explicit LabelRanker(std::uint32_t max_features);

  /// Whether to observe the example with this number, from 0: half of the first examples, then fewer, but always one in
  /// 64, so that the ranking follows the stream. They come in runs, because all pending updates of the tree must be
  /// applied before each, and many updates at once are faster.
  static bool observes(std::uint64_t number);

  /// Trains the ranking on an example that the tree and the memory have not learnt yet. Some examples are used a second
  /// time with some of their features removed, to learn how far to trust the scores of rows with few known features.
  /// Labels that are not `shown` are no candidates; null if all are shown.
  /// `by_trees` is what observed_search() has found before the trees have learnt the example; null: searches for it.
  void observe(const Forest& forest, const LabelFilter* shown, const Example& example,
               const FoundByTrees* by_trees = nullptr);
  static SearchParams observed_search(const Forest& forest, const LabelFilter* shown);

  /// Whether observe() will certainly use this row, also after more examples.
  bool will_use(RowView x) const { return memory_.has_feature_of(x); }
  /// The row that observe() uses beside this one, if any, after `n_before` others that it will use.
  std::optional<ThinnedRow> thinned(RowView x, std::uint64_t n_before = 0) const;

  /// See PassDetector.
  bool recognise(std::span<const std::uint64_t> digests) { return passes_.recognise(digests); }
  bool is_repeating() const { return passes_.is_repeating(); }

  /// Updates the label memory with the examples; whether it may `grow`, see LabelMemory and RecentExamples.
  void remember(std::span<const Example> examples, bool grow = true) {
    for (const Example& example : examples) {
      memory_.learn(example.x, example.labels, example.weight, grow);
      recent_.learn(example.x, example.labels, memory_, grow);
      n_of_several_ += example.labels.size() > 1 ? 1 : 0;
    }
  }

  /// Adds what is known about a label besides its examples to the label memory.
  void describe(RowView row, LabelId label, bool grow = true) { memory_.describe(row, label, grow); }

  /// Forgets the examples of a label.
  void remove(LabelId label) {
    memory_.remove(label);
    recent_.remove(label);
  }

  /// Gives the examples of a label to another one.
  void merge(LabelId label, LabelId into) {
    recent_.merge(label, into, memory_);
    memory_.merge(label, into);
  }

  /// For each row, the labels that `params` asks for, among the candidates; the highest scores, and so probabilities,
  /// first, equal scores by ascending label id. The best ten labels do not depend on k. If no example so far had more
  /// than one label, the probabilities of all labels sum to at most 1. For a row without known features, the
  /// probabilities are the base rates of the labels. The probability of a label does not depend on which others are
  /// allowed.
  LabelsOfRows rank(const Forest& forest, std::span<const RowView> rows, const SearchParams& params,
                    Scratch& scratch) const;

  /// Why a label has its probability in a row. It is the probability that rank() returns, or that it would return if
  /// the label were the only one allowed. `by_trees` is the label's probability in the trees if all return it; nullopt
  /// if it has no leaf.
  ExplainedRanking explain(const Forest& forest, const LabelFilter* shown, RowView x, LabelId label,
                           std::optional<Real> by_trees, Scratch& scratch) const;

  const LabelMemory& memory() const { return memory_; }
  std::size_t memory_bytes() const { return memory_.memory_bytes() + recent_.memory_bytes(); }
  std::size_t content_bytes() const { return memory_.content_bytes() + recent_.content_bytes(); }

  /// See LabelMemory.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelRanker load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features);
  void check(const LabelMemory::Limits& limits) const;

 private:
  using RankingModel = OnlineLogistic<kCandidateFeatures>;
  using Judged = ScoreCalibration::Judged;

  /// The limits of candidates beyond the first ones.
  struct Limit {
    Real probability;
    double logit;

    Real operator()(const Judged& each) const;
  };

  const RankingModel& model_for(std::uint32_t count) const;
  static const char* score_name(std::uint32_t count);
  static SearchParams tree_search(const Forest& forest, std::size_t n, std::size_t beam, const LabelFilter* filter);
  static SearchParams first_tree_search(const Forest& forest, const LabelFilter* shown, std::size_t beam = 0);
  void add_candidate(LabelId label, Real probability, Scratch& scratch) const;
  Limit limit_of_further(std::span<const ScoredLabel> ranked, std::span<const Judged> first,
                         std::size_t n_labels) const;
  ExplainedSteps explain_candidate(const Scratch& scratch, std::size_t i) const;
  bool find_first(RowView x, std::span<const ScoredLabel> by_trees, const LabelFilter* shown, Scratch& scratch) const;
  void add_candidates(std::span<const ScoredLabel> by_trees, std::size_t n, const LabelFilter* filter,
                      Scratch& scratch) const;
  std::vector<ScoredLabel> rank_row(const Forest& forest, RowView x, std::span<const ScoredLabel> by_trees,
                                    const SearchParams& params, Scratch& scratch) const;
  void describe_candidates(RowView x, std::size_t begin, Scratch& scratch) const;
  double score(const Scratch& scratch, std::size_t i) const;
  Judged judged(const Scratch& scratch, std::size_t i) const;
  std::vector<Judged> first_judged(const Scratch& scratch) const;
  std::vector<double> first_scores(const Scratch& scratch) const;
  std::vector<ScoredLabel> probabilities_of_first(std::span<const Judged> first) const;
  std::vector<ScoredLabel> rank_more(const Forest& forest, RowView x, const SearchParams& params,
                                     std::vector<ScoredLabel> ranked, std::span<const Judged> first,
                                     Scratch& scratch) const;
  std::vector<ScoredLabel> most_frequent(std::size_t n_labels, const SearchParams& params) const;
  std::size_t label_bound(const Forest& forest) const;
  double frequency(std::uint32_t count) const;
  Real base_rate(LabelId label) const;
  void learn_ranking(const Example& example);
  void observe_thinned(const Forest& forest, const LabelFilter* shown, const Example& example, RowView thinned,
                       const FoundByTrees* by_trees);

  LabelMemory memory_;
  RecentExamples recent_;
  std::vector<RankingModel> models_;  // by bucket of the label's number of examples
  ScoreCalibration calibration_;      // trained on all observed examples, and on some with features removed
  PassDetector passes_;
  std::uint64_t n_observed_ = 0;    // examples on which the models were trained
  std::uint64_t n_looked_at_ = 0;   // examples on which the calibration was trained
  std::uint64_t n_of_several_ = 0;  // examples with more than one label
  double mean_known_ = 0;           // mean number of known features of an observed example
  WorkingMemory<Scratch> scratch_;  // for observe()
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/working_memory.hpp"
#include "forest/forest.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/candidate_features.hpp"
#include "ranking/label_memory.hpp"
#include "ranking/online_logistic.hpp"
#include "ranking/pass_detector.hpp"

namespace oplt {

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
    std::size_t n_first = 0;     // number of candidates for any k; the others were added because k is large
    Real least_probability = 0;  // lowest probability by the tree among the first candidates
    std::vector<CandidateFeatures> features;
    double together = 0;  // logarithm of the sum of the first candidates' exponential scores
    double thinness = 0;  // how little is known about the row: from 0 (as much as for most rows) to 1 (nothing)
  };

  explicit LabelRanker(std::uint32_t max_features);

  /// Whether to observe the example with this number, from 0: half of the first examples, then fewer, but always one in
  /// 64, so that the ranking follows the stream. They come in runs, because all pending updates of the tree must be
  /// applied before each, and many updates at once are faster.
  static bool observes(std::uint64_t number);

  /// Trains the ranking on an example that the tree and the memory have not learnt yet. Some examples are used a second
  /// time with some of their features removed, to learn how far to trust the scores of rows with few known features.
  void observe(const Forest& forest, const Example& example);

  /// See PassDetector.
  bool recognise(std::span<const std::uint64_t> digests) { return passes_.recognise(digests); }
  bool is_repeating() const { return passes_.is_repeating(); }

  /// Updates the label memory with the examples.
  void remember(std::span<const Example> examples) {
    for (const Example& example : examples) {
      memory_.learn(example.x, example.labels, example.weight);
      n_of_several_ += example.labels.size() > 1 ? 1 : 0;
    }
  }

  /// The labels that `params` asks for, among the candidates; the highest scores, and so probabilities, first, equal
  /// scores by ascending label id. The best ten labels do not depend on k. If no example so far had more than one
  /// label, the probabilities of all labels sum to at most 1. For a row without known features, the probabilities are
  /// the base rates of the labels.
  std::vector<ScoredLabel> rank(const Forest& forest, RowView x, const SearchParams& params, Scratch& scratch) const;

  const LabelMemory& memory() const { return memory_; }

  /// See LabelMemory.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelRanker load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features);
  void check(const LabelMemory::Limits& limits) const;

 private:
  using RankingModel = OnlineLogistic<kCandidateFeatures>;
  using Calibration = OnlineLogistic<3>;  // of a constant, a candidate's score, and Scratch::together

  // The less is known about a row, the less the calibrated log-odds count, and the more the base rate of the label. The
  // features are 1, the calibrated log-odds and the log-odds of the base rate, each times the thinness and its square.
  using Doubt = OnlineLogistic<6>;

  /// A candidate with its score and the resulting log-odds.
  struct Judged {
    LabelId label;
    double score;
    Doubt::Features doubt;
    double logit;  // of its probability
  };

  bool find_first(const Forest& forest, RowView x, std::size_t beam, Scratch& scratch) const;
  void add_candidates(const Forest& forest, RowView x, std::size_t n, std::size_t beam, Scratch& scratch) const;
  double score(const Scratch& scratch, std::size_t i) const;
  double calibrated(double score, const Scratch& scratch) const;
  Judged judged(const Scratch& scratch, std::size_t i) const;
  std::vector<Judged> first_judged(const Scratch& scratch) const;
  std::vector<double> first_scores(const Scratch& scratch) const;
  std::vector<ScoredLabel> probabilities_of_first(std::span<const Judged> first) const;
  std::vector<ScoredLabel> rank_more(const Forest& forest, RowView x, const SearchParams& params,
                                     std::vector<ScoredLabel> ranked, std::span<const Judged> first,
                                     Scratch& scratch) const;
  std::vector<ScoredLabel> most_frequent(std::size_t n_labels, const SearchParams& params) const;
  double frequency(std::uint32_t count) const;
  void learn_probabilities(const Example& example, std::span<const Judged> first);
  void learn_ranking(const Example& example);
  void learn_doubt(const Example& example, std::span<const Judged> first);
  void observe_thinned(const Forest& forest, const Example& example);

  LabelMemory memory_;
  std::vector<RankingModel> models_;  // by bucket of the label's number of examples
  Calibration calibration_;           // trained on all observed examples
  Doubt doubt_;                       // likewise, and on some with features removed
  PassDetector passes_;
  std::uint64_t n_observed_ = 0;    // examples on which the models were trained
  std::uint64_t n_looked_at_ = 0;   // examples on which the calibration was trained
  std::uint64_t n_of_several_ = 0;  // examples with more than one label
  double mean_known_ = 0;           // mean number of known features of an observed example
  WorkingMemory<Scratch> scratch_;  // for observe()
};

}  // namespace oplt

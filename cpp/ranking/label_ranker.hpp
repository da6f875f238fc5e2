// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/working_memory.hpp"
#include "forest/forest.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/candidate_features.hpp"
#include "ranking/label_memory.hpp"
#include "ranking/online_logistic.hpp"

namespace oplt {

/// Ranks labels by tree and memory together.
///
/// Both name candidates, and a small logistic model over what they say of each gives its probability. That model
/// learns from some examples of the stream, just before they are learnt, so that what it sees are honest predictions:
/// it finds out by itself how far the tree can be trusted, and the memory, for labels with few and with many examples.
class LabelRanker {
 public:
  /// Working memory of one asking thread.
  struct Scratch {
    SearchScratch search;
    LabelMemory::Query query;
    std::vector<LabelId> nearest;
    std::vector<LabelId> known;  // the candidates' labels, sorted
    std::vector<Candidate> candidates;
    std::size_t n_first = 0;  // candidates that there always are; the others were added because so many were asked for
    Real least_probability = 0;  // by the tree, of the first ones
    std::vector<CandidateFeatures> features;
  };

  explicit LabelRanker(std::uint32_t max_features);

  /// Is the example with this number, from 0, one to observe? Ever fewer are; they come in runs, because all steps of
  /// the tree must have been taken before.
  static bool observes(std::uint64_t number);

  /// Learns how to rank from an example that the tree and the memory have not learnt yet.
  void observe(const Forest& forest, const Example& example);

  /// Learns what the labels of the examples look like.
  void remember(std::span<const Example> examples) {
    for (const Example& example : examples) {
      memory_.learn(example.x, example.labels, example.weight);
    }
  }

  /// The labels that `params` asks for, among the candidates; the highest scores, and so probabilities, first, equal
  /// scores by ascending label id. The best ten are the same however many are asked for.
  std::vector<ScoredLabel> rank(const Forest& forest, RowView x, const SearchParams& params, Scratch& scratch) const;

  const LabelMemory& memory() const { return memory_; }

  /// See LabelMemory.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelRanker load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features);
  void check(const LabelMemory::Limits& limits) const;

 private:
  using RankingModel = OnlineLogistic<kCandidateFeatures>;
  using Calibration = OnlineLogistic<3>;  // of a constant, a candidate's score, and how high all scores are together

  struct ScoredCandidate {
    LabelId label;
    double score;
  };

  void find_candidates(const Forest& forest, RowView x, std::size_t n, std::size_t beam, Scratch& scratch) const;
  void add_candidates(const Forest& forest, RowView x, std::size_t n, std::size_t beam, Scratch& scratch) const;
  double score(const Scratch& scratch, std::size_t i) const;
  std::vector<ScoredCandidate> sorted_scores(const Scratch& scratch) const;
  std::vector<double> first_scores(const Scratch& scratch) const;
  void learn_probabilities(const Example& example);
  void learn_ranking(const Example& example);

  LabelMemory memory_;
  std::vector<RankingModel> models_;  // by how many examples the label has
  Calibration calibration_;           // by all observed examples
  std::uint64_t n_observed_ = 0;      // examples from which the models have learnt
  WorkingMemory<Scratch> scratch_;    // of observe()
};

}  // namespace oplt

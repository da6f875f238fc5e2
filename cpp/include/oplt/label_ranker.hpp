// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "oplt/archive.hpp"
#include "oplt/candidate_features.hpp"
#include "oplt/forest.hpp"
#include "oplt/label_memory.hpp"
#include "oplt/online_logistic.hpp"
#include "oplt/search.hpp"

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
    std::vector<LabelId> in_tree;
    std::vector<Candidate> candidates;
    std::vector<CandidateFeatures> features;
  };

  explicit LabelRanker(std::uint32_t max_features);

  /// Is the example with this number, from 0, one to observe? Ever fewer are; they come in runs, because all steps of
  /// the tree must have been taken before.
  static bool observes(std::uint64_t number);

  /// Learns how to rank from an example that the tree and the memory have not learnt yet.
  void observe(const Forest& forest, const Example& example);

  /// Learns what the labels of the example look like.
  void learn(const Example& example) { memory_.learn(example.x, example.labels, example.weight); }

  /// The labels that `params` asks for, among the candidates; the most probable first, equally probable ones by
  /// ascending label id.
  std::vector<ScoredLabel> rank(const Forest& forest, RowView x, const PredictParams& params, Scratch& scratch) const;

  const LabelMemory& memory() const { return memory_; }

  void save(Writer& out) const;
  static LabelRanker load(std::uint32_t max_features, Reader& in);

 private:
  using RankingModel = OnlineLogistic<std::tuple_size_v<CandidateFeatures>>;

  struct ScoredCandidate {
    LabelId label;
    double score;
  };

  void find_candidates(const Forest& forest, RowView x, std::size_t top_k, std::size_t beam, Scratch& scratch) const;
  std::vector<ScoredCandidate> sorted_scores(const Scratch& scratch) const;

  LabelMemory memory_;
  std::vector<RankingModel> models_;  // by how many examples the label has
  OnlineLogistic<2> calibration_;     // of the models' scores, by all observed examples
  std::uint64_t n_observed_ = 0;      // examples from which the models have learnt
  Scratch scratch_;                   // of observe()
};

}  // namespace oplt

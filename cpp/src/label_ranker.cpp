// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/label_ranker.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>
#include <utility>

#include "oplt/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCandidates = 20;  // of the tree, and as many of the memory, if no more are asked for
constexpr std::size_t kUnlimited = 100;  // the same, if all labels above a threshold are asked for
constexpr std::size_t kCalibrated = 10;  // best candidates whose probabilities are learnt: few look at others

constexpr double kScoreScale = 4.0;
constexpr double kLeastSlope = 0.2;  // probabilities must not turn the order of the scores round

// Of what is known, each step keeps so much. The calibration has two weights to learn, and follows a stream in which
// the labels become ever better known.
constexpr double kKeepModel = 0.999;
constexpr double kKeepCalibration = 0.99;

// Observed examples, after which a model learns rather from its own labels than from those of the other models: five
// models that learn apart from the start are of no use on the first few hundred examples.
constexpr double kSharing = 30.0;
constexpr double kLeastSharing = 0.05;  // what counts less is not worth its time

constexpr std::size_t kBuckets = 5;  // of labels with 1, 2, 4, 8, 16 examples or more

std::size_t bucket(std::uint32_t count) {
  return std::min<std::size_t>(std::bit_width(std::max(count, 1U)) - 1, kBuckets - 1);
}

}  // namespace

LabelRanker::LabelRanker(std::uint32_t max_features)
    : memory_(max_features),
      models_(kBuckets, {trusting_weights(), kKeepModel}),
      calibration_({0.0, kScoreScale}, kKeepCalibration) {}

bool LabelRanker::observes(std::uint64_t number) {
  constexpr std::uint64_t kRun = 32;
  const std::uint64_t period = std::clamp<std::uint64_t>(std::bit_floor(number) / 16, 2 * kRun, 4096);
  return number % period < kRun;
}

void LabelRanker::find_candidates(const Forest& forest, RowView x, std::size_t top_k, std::size_t beam,
                                  Scratch& scratch) const {
  const std::size_t k = top_k == 0 ? kUnlimited : std::max(kCandidates, 2 * top_k);
  std::vector<Candidate>& candidates = scratch.candidates;
  candidates.clear();
  PredictParams params;
  params.top_k = k;
  params.beam = beam > 0 ? beam : k;  // candidates need not be exactly the best
  for (const ScoredLabel& found : forest.search(x, params, scratch.search)) {
    candidates.push_back({found.label, found.probability, {}, 0, 0});
  }
  const Real least = candidates.empty() ? Real{0} : candidates.back().probability;
  memory_.ask(x, scratch.query);
  scratch.nearest.clear();
  memory_.find_nearest(k, scratch.query, scratch.nearest);
  std::vector<LabelId>& in_tree = scratch.in_tree;
  in_tree.clear();
  std::transform(candidates.begin(), candidates.end(), std::back_inserter(in_tree),
                 [](const Candidate& candidate) { return candidate.label; });
  std::sort(in_tree.begin(), in_tree.end());
  for (const LabelId label : scratch.nearest) {
    if (!std::binary_search(in_tree.begin(), in_tree.end(), label)) {
      candidates.push_back({label, least, {}, 0, 0});
    }
  }
  for (Candidate& candidate : candidates) {
    candidate.similarity = memory_.similarity(candidate.label, scratch.query);
    candidate.count = memory_.count(candidate.label);
    candidate.n_since = memory_.n_since(candidate.label);
  }
  describe(candidates, scratch.features);
}

/// The best first, equally good ones by ascending label id.
std::vector<LabelRanker::ScoredCandidate> LabelRanker::sorted_scores(const Scratch& scratch) const {
  std::vector<ScoredCandidate> scored;
  for (std::size_t i = 0; i < scratch.candidates.size(); ++i) {
    const Candidate& candidate = scratch.candidates[i];
    scored.push_back({candidate.label, models_[bucket(candidate.count)].score(scratch.features[i])});
  }
  std::sort(scored.begin(), scored.end(), [](const ScoredCandidate& a, const ScoredCandidate& b) {
    return a.score != b.score ? a.score > b.score : a.label < b.label;
  });
  return scored;
}

void LabelRanker::observe(const Forest& forest, const Example& example) {
  find_candidates(forest, example.x, kCandidates / 2, 0, scratch_);
  const auto is_positive = [&](LabelId label) {
    return std::binary_search(example.labels.begin(), example.labels.end(), label);
  };
  const std::vector<ScoredCandidate> scored = sorted_scores(scratch_);
  for (std::size_t i = 0; i < std::min(kCalibrated, scored.size()); ++i) {
    calibration_.observe({1.0, scored[i].score / kScoreScale}, is_positive(scored[i].label));
  }
  calibration_.step();
  // Where all labels are new, no ranking could have been right, and there is nothing to learn about it. That no label
  // applies is worth to know.
  if (!example.labels.empty() && std::none_of(example.labels.begin(), example.labels.end(),
                                              [this](LabelId label) { return memory_.count(label) > 0; })) {
    return;
  }
  ++n_observed_;
  const double share = kSharing / (kSharing + static_cast<double>(n_observed_));
  for (std::size_t i = 0; i < scratch_.candidates.size(); ++i) {
    const Candidate& candidate = scratch_.candidates[i];
    const std::size_t own = bucket(candidate.count);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      if (b == own || share > kLeastSharing) {
        models_[b].observe(scratch_.features[i], is_positive(candidate.label), b == own ? 1.0 : share);
      }
    }
  }
  for (RankingModel& model : models_) {
    model.step();
  }
}

std::vector<ScoredLabel> LabelRanker::rank(const Forest& forest, RowView x, const PredictParams& params,
                                           Scratch& scratch) const {
  find_candidates(forest, x, params.top_k, params.beam, scratch);
  const double offset = calibration_.weights()[0];
  const double slope = std::max(kLeastSlope, calibration_.weights()[1]) / kScoreScale;
  std::vector<ScoredLabel> ranked;
  for (const auto& [label, score] : sorted_scores(scratch)) {
    const Real probability = sigmoid(static_cast<Real>(offset + slope * score));
    if (probability < params.threshold || (params.top_k > 0 && ranked.size() == params.top_k)) {
      break;
    }
    ranked.push_back({label, probability});
  }
  return ranked;
}

void LabelRanker::save(Writer& out) const {
  memory_.save(out);
  for (const RankingModel& model : models_) {
    model.save(out);
  }
  calibration_.save(out);
  out.put(n_observed_);
}

LabelRanker LabelRanker::load(std::uint32_t max_features, Reader& in) {
  LabelRanker ranker(max_features);
  ranker.memory_ = LabelMemory::load(max_features, in);
  for (RankingModel& model : ranker.models_) {
    model = RankingModel::load(in, kKeepModel);
  }
  ranker.calibration_ = OnlineLogistic<2>::load(in, kKeepCalibration);
  ranker.n_observed_ = in.get<std::uint64_t>();
  return ranker;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/label_ranker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "oplt/math.hpp"

namespace oplt {

namespace {

using Features = LabelRanker::Features;

constexpr std::size_t kCandidates = 20;     // of the tree, and as many of the memory, if no more are asked for
constexpr std::size_t kUnlimited = 100;     // the same, if all labels above a threshold are asked for
constexpr double kLeastProbability = 1e-9;  // below, logarithms would say more than is known
constexpr double kLeastSimilarity = 1e-3;

// What is believed before anything was observed: the tree's odds, and rather more the memory, which is good from the
// first example of a label on.
constexpr Features kStart = {-1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0};
constexpr double kScoreScale = 4.0;
constexpr double kLeastSlope = 0.2;  // probabilities must not turn the order of the scores round

double log_at_least(double least, Real x) { return log_double(std::max(least, static_cast<double>(x))); }

/// What the logistic models see of each candidate. Scales are chosen so that weights are of the order of 1.
void describe(std::span<const Candidate> candidates, std::vector<Features>& described) {
  const std::size_t n = candidates.size();
  std::vector<std::size_t> by_cosine(n);
  std::iota(by_cosine.begin(), by_cosine.end(), std::size_t{0});
  std::sort(by_cosine.begin(), by_cosine.end(), [&](std::size_t a, std::size_t b) {
    const Real cosine_a = candidates[a].similarity.cosine;
    const Real cosine_b = candidates[b].similarity.cosine;
    return cosine_a != cosine_b ? cosine_a > cosine_b : a < b;
  });
  std::vector<std::size_t> cosine_rank(n);
  double sum = 0.0;
  double squares = 0.0;
  Candidate best = candidates[0];  // by each measure apart
  for (std::size_t i = 0; i < n; ++i) {
    cosine_rank[by_cosine[i]] = i;
    const double cosine = candidates[i].similarity.cosine;
    sum += cosine;
    squares += cosine * cosine;
    best.probability = std::max(best.probability, candidates[i].probability);
    best.similarity.cosine = std::max(best.similarity.cosine, candidates[i].similarity.cosine);
    best.similarity.coverage = std::max(best.similarity.coverage, candidates[i].similarity.coverage);
  }
  const auto count = static_cast<double>(n);
  const double spread = std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
  const double best_log_p = log_at_least(kLeastProbability, best.probability);
  const double best_log_cosine = log_at_least(kLeastSimilarity, best.similarity.cosine);
  const double best_log_coverage = log_at_least(kLeastSimilarity, best.similarity.coverage);

  described.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const Candidate& candidate = candidates[i];
    const double p = candidate.probability;
    const double log_p = log_at_least(kLeastProbability, candidate.probability);
    const double log_not_p = log_double(std::max(1e-6, 1.0 - p));
    const double cosine = candidate.similarity.cosine;
    const double log_cosine = log_at_least(kLeastSimilarity, candidate.similarity.cosine);
    const double log_coverage = log_at_least(kLeastSimilarity, candidate.similarity.coverage);
    described.push_back({1.0, log_p / 4, (log_p - log_not_p) / 4, log_cosine, 4 * cosine,
                         log_double(std::max(1.0, static_cast<double>(candidate.count))) / 4, (log_p - best_log_p) / 4,
                         log_cosine - best_log_cosine, p, (cosine - best.similarity.cosine) / (spread + 1e-3) / 2,
                         log_double(1.0 + static_cast<double>(i)) / 2,
                         log_double(1.0 + static_cast<double>(cosine_rank[i])) / 2, log_coverage,
                         log_coverage - best_log_coverage});
  }
}

std::size_t bucket(std::uint32_t count, std::size_t n_buckets) {
  return std::min<std::size_t>(std::bit_width(std::max(count, 1U)) - 1, n_buckets - 1);
}

}  // namespace

LabelRanker::LabelRanker(std::uint32_t max_features)
    : memory_(max_features),
      models_{OnlineLogistic<kFeatures>(kStart), OnlineLogistic<kFeatures>(kStart), OnlineLogistic<kFeatures>(kStart),
              OnlineLogistic<kFeatures>(kStart), OnlineLogistic<kFeatures>(kStart)},
      calibration_({0.0, kScoreScale}) {}

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
  params.beam = beam;
  for (const ScoredLabel& found : forest.search(x, params, scratch.search)) {
    candidates.push_back({found.label, found.probability, {}, 0});
  }
  const std::size_t n_found = candidates.size();
  const Real least = n_found > 0 ? candidates.back().probability : Real{0};
  memory_.ask(x, scratch.query);
  scratch.nearest.clear();
  memory_.find_nearest(k, scratch.query, scratch.nearest);
  for (const LabelId label : scratch.nearest) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(n_found);
    if (std::none_of(candidates.begin(), end, [&](const Candidate& c) { return c.label == label; })) {
      candidates.push_back({label, least, {}, 0});
    }
  }
  for (Candidate& candidate : candidates) {
    candidate.similarity = memory_.similarity(candidate.label, scratch.query);
    candidate.count = memory_.count(candidate.label);
  }
  if (!candidates.empty()) {
    describe(candidates, scratch.features);
  }
}

double LabelRanker::score(const Candidate& candidate, const Features& features) const {
  return models_[bucket(candidate.count, kBuckets)].score(features);
}

void LabelRanker::observe(const Forest& forest, const Example& example) {
  find_candidates(forest, example.x, kCandidates / 2, 0, scratch_);
  // Where all labels are new, no ranking could have been right, and there is nothing to learn about it.
  const bool any_known = std::any_of(example.labels.begin(), example.labels.end(),
                                     [this](LabelId label) { return memory_.count(label) > 0; });
  for (std::size_t i = 0; i < scratch_.candidates.size(); ++i) {
    const Candidate& candidate = scratch_.candidates[i];
    const bool positive = std::binary_search(example.labels.begin(), example.labels.end(), candidate.label);
    calibration_.observe({1.0, score(candidate, scratch_.features[i]) / kScoreScale}, positive);
    if (any_known) {
      models_[bucket(candidate.count, kBuckets)].observe(scratch_.features[i], positive);
    }
  }
  calibration_.step();
  for (OnlineLogistic<kFeatures>& model : models_) {
    model.step();
  }
}

std::vector<ScoredLabel> LabelRanker::rank(const Forest& forest, RowView x, const PredictParams& params,
                                           Scratch& scratch) const {
  find_candidates(forest, x, params.top_k, params.beam, scratch);
  std::vector<std::pair<double, LabelId>> scored;
  for (std::size_t i = 0; i < scratch.candidates.size(); ++i) {
    scored.emplace_back(-score(scratch.candidates[i], scratch.features[i]), scratch.candidates[i].label);
  }
  std::sort(scored.begin(), scored.end());
  const double offset = calibration_.weights()[0];
  const double slope = std::max(kLeastSlope, calibration_.weights()[1]) / kScoreScale;
  std::vector<ScoredLabel> ranked;
  for (const auto& [negative_score, label] : scored) {
    const Real probability = sigmoid(static_cast<Real>(offset - slope * negative_score));
    if (probability < params.threshold || (params.top_k > 0 && ranked.size() == params.top_k)) {
      break;
    }
    ranked.push_back({label, probability});
  }
  return ranked;
}

void LabelRanker::save(Writer& out) const {
  memory_.save(out);
  for (const OnlineLogistic<kFeatures>& model : models_) {
    model.save(out);
  }
  calibration_.save(out);
}

LabelRanker LabelRanker::load(std::uint32_t max_features, Reader& in) {
  LabelRanker ranker(max_features);
  ranker.memory_ = LabelMemory::load(max_features, in);
  for (OnlineLogistic<kFeatures>& model : ranker.models_) {
    model = OnlineLogistic<kFeatures>::load(in);
  }
  ranker.calibration_ = OnlineLogistic<2>::load(in);
  return ranker;
}

}  // namespace oplt

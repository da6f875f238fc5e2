// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/label_ranker.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>

#include "base/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCandidates = 20;  // of the tree, and as many of the memory, if no more are asked for
constexpr std::size_t kUnlimited = 100;  // the same, if all labels above a threshold are asked for
constexpr std::size_t kSurePlaces = 10;  // the best candidates keep their places when there are more candidates
constexpr std::size_t kCalibrated = 10;  // best candidates whose probabilities are learnt: few look at others

constexpr double kScoreScale = 4.0;
constexpr double kMostScore = 1e6;   // no model learns to give more; a file may hold any weights
constexpr double kLeastSlope = 0.2;  // probabilities must not turn the order of the scores round

// Of what is known, each step keeps so much. The calibration has three weights to learn, and follows a stream in which
// the labels become ever better known.
constexpr double kKeepModel = 0.999;
constexpr double kKeepCalibration = 0.99;

// Observed examples, after which a model learns rather from its own labels than from those of the other models: five
// models that learn apart from the start are of no use on the first few hundred examples.
constexpr double kSharing = 30.0;
constexpr double kLeastSharing = 0.05;  // what counts less is not worth its time

// An example's only label excludes all others, which tells more than that each of them does not apply.
constexpr double kOnlyLabel = 3.0;

constexpr std::size_t kBuckets = 5;  // of labels with 1, 2, 4, 8, 16 examples or more

bool has_label(const Example& example, LabelId label) {
  return std::binary_search(example.labels.begin(), example.labels.end(), label);
}

/// Of exponentials.
double log_of_sum(std::span<const double> scores) {
  if (scores.empty()) {
    return 0.0;
  }
  const double best = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (const double score : scores) {
    sum += exp_real(static_cast<Real>(score - best));
  }
  return best + log_double(sum);
}

std::vector<double> softmax_of(std::vector<double> scores) {
  const double all = log_of_sum(scores);
  for (double& score : scores) {
    score = exp_real(static_cast<Real>(score - all));
  }
  return scores;
}

std::size_t bucket(std::uint32_t count) {
  return std::min<std::size_t>(std::bit_width(std::max(count, 1U)) - 1, kBuckets - 1);
}

}  // namespace

LabelRanker::LabelRanker(std::uint32_t max_features)
    : memory_(max_features),
      models_(kBuckets, {trusting_weights(), kKeepModel}),
      calibration_({0.0, kScoreScale, 0.0}, kKeepCalibration) {}

bool LabelRanker::observes(std::uint64_t number) {
  constexpr std::uint64_t kRun = 32;
  const std::uint64_t period = std::clamp<std::uint64_t>(std::bit_floor(number) / 16, 2 * kRun, 4096);
  return number % period < kRun;
}

/// Those of tree and memory, n each, that are no candidates yet.
void LabelRanker::add_candidates(const Forest& forest, RowView x, std::size_t n, std::size_t beam,
                                 Scratch& scratch) const {
  std::vector<Candidate>& candidates = scratch.candidates;
  const auto add = [&](LabelId label, Real probability) {
    if (!std::binary_search(scratch.known.begin(), scratch.known.end(), label)) {
      candidates.push_back(
          {label, probability, memory_.similarity(label, scratch.query), memory_.count(label), memory_.n_since(label)});
    }
  };
  const auto renew_known = [&] {
    scratch.known.clear();
    std::transform(candidates.begin(), candidates.end(), std::back_inserter(scratch.known),
                   [](const Candidate& candidate) { return candidate.label; });
    std::sort(scratch.known.begin(), scratch.known.end());
  };
  renew_known();
  SearchParams params;
  params.top_k = n;
  params.beam = beam > 0 ? beam : n;  // candidates need not be exactly the best
  for (const ScoredLabel& found : forest.search(x, params, scratch.search)) {
    add(found.label, found.probability);
  }
  if (scratch.n_first == 0) {
    scratch.least_probability = candidates.empty() ? Real{0} : candidates.back().probability;
  }
  renew_known();
  scratch.nearest.clear();
  memory_.find_nearest(n, scratch.query, scratch.nearest);
  for (const LabelId label : scratch.nearest) {
    add(label, scratch.least_probability);
  }
}

void LabelRanker::find_candidates(const Forest& forest, RowView x, std::size_t n, std::size_t beam,
                                  Scratch& scratch) const {
  memory_.ask(x, scratch.query);
  scratch.candidates.clear();
  scratch.n_first = 0;
  add_candidates(forest, x, kCandidates, beam, scratch);
  scratch.n_first = scratch.candidates.size();
  if (n > kCandidates && scratch.n_first > 0) {
    add_candidates(forest, x, n, beam, scratch);
  }
  describe(scratch.candidates, scratch.n_first, scratch.features);
}

/// A number, whatever the weights are: to sort what is none is undefined.
double LabelRanker::score(const Scratch& scratch, std::size_t i) const {
  const double score = models_[bucket(scratch.candidates[i].count)].score(scratch.features[i]);
  return std::min(kMostScore, std::max(-kMostScore, score));  // in this order, NaN is the least
}

/// The best first, equally good ones by ascending label id.
std::vector<LabelRanker::ScoredCandidate> LabelRanker::sorted_scores(const Scratch& scratch) const {
  const auto better = [](const ScoredCandidate& a, const ScoredCandidate& b) {
    return a.score != b.score ? a.score > b.score : a.label < b.label;
  };
  std::vector<ScoredCandidate> scored;
  for (std::size_t i = 0; i < scratch.n_first; ++i) {
    scored.push_back({scratch.candidates[i].label, score(scratch, i)});
  }
  std::sort(scored.begin(), scored.end(), better);
  if (scratch.n_first == scratch.candidates.size()) {
    return scored;
  }
  const std::size_t n_sure = std::min(kSurePlaces, scored.size());
  const double most = scored[n_sure - 1].score;
  for (std::size_t i = scratch.n_first; i < scratch.candidates.size(); ++i) {
    scored.push_back({scratch.candidates[i].label, std::min(most, score(scratch, i))});
  }
  std::sort(scored.begin() + static_cast<std::ptrdiff_t>(n_sure), scored.end(), better);
  return scored;
}

std::vector<double> LabelRanker::first_scores(const Scratch& scratch) const {
  std::vector<double> scores(scratch.n_first);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = score(scratch, i);
  }
  return scores;
}

void LabelRanker::observe(const Forest& forest, const Example& example) {
  find_candidates(forest, example.x, kCandidates, 0, scratch_);
  learn_probabilities(example);
  // Where all labels are new, no ranking could have been right, and there is nothing to learn about it. That no label
  // applies is worth to know.
  if (example.labels.empty() || std::any_of(example.labels.begin(), example.labels.end(),
                                            [this](LabelId label) { return memory_.count(label) > 0; })) {
    learn_ranking(example);
  }
}

void LabelRanker::learn_probabilities(const Example& example) {
  const std::vector<ScoredCandidate> scored = sorted_scores(scratch_);
  const double together = log_of_sum(first_scores(scratch_));
  for (std::size_t i = 0; i < std::min(kCalibrated, scored.size()); ++i) {
    calibration_.observe({1.0, scored[i].score / kScoreScale, together / kScoreScale},
                         has_label(example, scored[i].label));
  }
  calibration_.step();
}

void LabelRanker::learn_ranking(const Example& example) {
  ++n_observed_;
  const double share = kSharing / (kSharing + static_cast<double>(n_observed_));
  const bool only_one =
      example.labels.size() == 1 && std::any_of(scratch_.candidates.begin(), scratch_.candidates.end(),
                                                [&](const Candidate& c) { return c.label == example.labels[0]; });
  const std::vector<double> softmax = only_one ? softmax_of(first_scores(scratch_)) : std::vector<double>{};
  for (std::size_t i = 0; i < scratch_.candidates.size(); ++i) {
    const Candidate& candidate = scratch_.candidates[i];
    const bool positive = has_label(example, candidate.label);
    const std::size_t own = bucket(candidate.count);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const double weight = b == own ? 1.0 : share;
      if (weight <= kLeastSharing) {
        continue;
      }
      if (only_one) {
        models_[b].observe_probability(softmax[i], scratch_.features[i], positive, kOnlyLabel * weight);
      } else {
        models_[b].observe(scratch_.features[i], positive, weight);
      }
    }
  }
  for (RankingModel& model : models_) {
    model.step();
  }
}

std::vector<ScoredLabel> LabelRanker::rank(const Forest& forest, RowView x, const SearchParams& params,
                                           Scratch& scratch) const {
  find_candidates(forest, x, params.top_k == 0 ? kUnlimited : 2 * params.top_k, params.beam, scratch);
  const std::vector<ScoredCandidate> scored = sorted_scores(scratch);
  const auto& [constant, slope, together] = calibration_.weights();
  const double offset = constant + together * log_of_sum(first_scores(scratch)) / kScoreScale;
  std::vector<ScoredLabel> ranked;
  for (const auto& [label, score] : scored) {
    const Real probability = sigmoid(static_cast<Real>(offset + std::max(kLeastSlope, slope) * score / kScoreScale));
    if (probability < params.threshold || (params.top_k > 0 && ranked.size() == params.top_k)) {
      break;
    }
    ranked.push_back({label, probability});
  }
  return ranked;
}

void LabelRanker::save(ArrayWriter& out, const std::string& prefix) const {
  memory_.save(out, prefix + "/memory");
  for (std::size_t i = 0; i < kBuckets; ++i) {
    models_[i].save(out, prefix + "/models/" + std::to_string(i));
  }
  calibration_.save(out, prefix + "/calibration");
  out.put_one(prefix + "/n_observed", n_observed_);
}

LabelRanker LabelRanker::load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features) {
  LabelRanker ranker(max_features);
  ranker.memory_ = LabelMemory::load(in, prefix + "/memory", max_features);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    ranker.models_[i] = RankingModel::load(in, prefix + "/models/" + std::to_string(i), kKeepModel);
  }
  ranker.calibration_ = Calibration::load(in, prefix + "/calibration", kKeepCalibration);
  ranker.n_observed_ = in.get_one<std::uint64_t>(prefix + "/n_observed");
  return ranker;
}

void LabelRanker::check(const LabelMemory::Limits& limits) const {
  memory_.check(limits);
  for (const RankingModel& model : models_) {
    model.check();
  }
  calibration_.check();
}

}  // namespace oplt

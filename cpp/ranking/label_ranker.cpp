// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/label_ranker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/random.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCandidates = 20;  // of the tree, and as many of the memory, if no more are asked for
constexpr std::size_t kUnlimited = 100;  // more of each, at first, if all labels above a threshold are asked for
constexpr std::size_t kGrowth = 4;       // as many times more of each, while what was added has labels above it
constexpr std::size_t kSurePlaces = 10;  // the best candidates keep their places when there are more candidates
constexpr std::size_t kCalibrated = 10;  // best candidates whose probabilities are learnt: few look at others

constexpr double kScoreScale = 4.0;
constexpr double kMostScore = 1e6;   // no model learns to give more; a file may hold any weights
constexpr double kLeastSlope = 0.2;  // probabilities must not turn the order of the scores round

// Of what is known, each step keeps so much. The calibration has three weights to learn, and follows a stream in which
// the labels become ever better known.
constexpr double kKeepModel = 0.999;
constexpr double kKeepCalibration = 0.99;
constexpr double kKeepDoubt = 0.999;

constexpr double kMostLogit = 30.0;      // so that no probability is 0 or 1 for good
constexpr double kLeastBelief = 0.05;    // of the log-odds, however little is known of a row: it keeps their order
constexpr double kMostFrequent = 0.999;  // of all examples, to have log-odds
constexpr double kLeastCount = 0.5;      // of a label without examples, to have log-odds
constexpr double kKnownWindow = 256.0;   // observed examples over which their number of known features is averaged

// Of the observed examples, every sixteenth is looked at again with a part of its features left out: half of them,
// three quarters, and so on.
constexpr std::uint64_t kThinnedEvery = 16;
constexpr std::uint64_t kThinnings = 4;

// Probabilities are rounded to Real, and their sum must not exceed 1.
constexpr double kWhole = 1.0 - 1e-6;

// Observed examples, after which a model learns rather from its own labels than from those of the other models: five
// models that learn apart from the start are of no use on the first few hundred examples.
constexpr double kSharing = 30.0;
constexpr double kLeastSharing = 0.05;  // what counts less is not worth its time

// An example's only label excludes all others, which tells more than that each of them does not apply.
constexpr double kOnlyLabel = 3.0;

constexpr std::size_t kBuckets = 5;  // of labels with 1, 2, 4, 8, 16 examples or more

/// A row with a part of its features.
struct Thinned {
  std::vector<FeatureId> features;
  std::vector<Real> values;
};

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
      calibration_({0.0, kScoreScale, 0.0}, kKeepCalibration),
      doubt_({0.0, 0.0, 0.0, 0.0, -1.0, 1.0}, kKeepDoubt) {}

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

/// False if nothing is known of the row.
bool LabelRanker::find_first(const Forest& forest, RowView x, std::size_t beam, Scratch& scratch) const {
  memory_.ask(x, scratch.query);
  scratch.candidates.clear();
  scratch.n_first = 0;
  if (scratch.query.n_known() == 0) {
    return false;
  }
  add_candidates(forest, x, kCandidates, beam, scratch);
  scratch.n_first = scratch.candidates.size();
  describe(scratch.candidates, scratch.n_first, scratch.query.is_signed(), scratch.features);
  scratch.together = log_of_sum(first_scores(scratch));
  const double usual = log_double(1.0 + mean_known_);
  const double known = log_double(1.0 + static_cast<double>(scratch.query.n_known()));
  scratch.thinness = known < usual ? 1.0 - known / usual : 0.0;
  return true;
}

/// A number, whatever the weights are: to sort what is none is undefined.
double LabelRanker::score(const Scratch& scratch, std::size_t i) const {
  const double score = models_[bucket(scratch.candidates[i].count)].score(scratch.features[i]);
  return std::min(kMostScore, std::max(-kMostScore, score));  // in this order, NaN is the least
}

/// Of a row of which as much is known as of most.
double LabelRanker::calibrated(double score, const Scratch& scratch) const {
  const auto& [constant, slope, together] = calibration_.weights();
  const double logit =
      constant + together * scratch.together / kScoreScale + std::max(kLeastSlope, slope) * score / kScoreScale;
  return std::min(kMostLogit, std::max(-kMostLogit, logit));
}

/// Of all examples, how many have a label that has so many.
double LabelRanker::frequency(std::uint32_t count) const {
  return std::max(kLeastCount, static_cast<double>(count)) / (1.0 + static_cast<double>(memory_.n_learnt()));
}

LabelRanker::Judged LabelRanker::judged(const Scratch& scratch, std::size_t i) const {
  const Candidate& candidate = scratch.candidates[i];
  const double own = score(scratch, i);
  const double logit = calibrated(own, scratch);
  const double u = scratch.thinness;
  if (u == 0) {
    return {candidate.label, own, {}, logit};
  }
  const double frequent = std::min(kMostFrequent, frequency(candidate.count));
  const double rare = log_double(frequent / (1.0 - frequent));
  const Doubt::Features& w = doubt_.weights();
  const double belief = std::max(kLeastBelief, 1.0 + u * (w[1] + u * w[4]));
  const double frequency = std::max(0.0, u * (w[2] + u * w[5]));
  const double blended = u * (w[0] + u * w[3]) + belief * logit + frequency * rare;
  return {candidate.label,
          own,
          {u, u * logit, u * rare, u * u, u * u * logit, u * u * rare},
          std::min(kMostLogit, std::max(-kMostLogit, blended))};
}

/// The best first, equally good ones by ascending label id.
std::vector<LabelRanker::Judged> LabelRanker::first_judged(const Scratch& scratch) const {
  std::vector<Judged> first;
  for (std::size_t i = 0; i < scratch.n_first; ++i) {
    first.push_back(judged(scratch, i));
  }
  std::sort(first.begin(), first.end(), [](const Judged& a, const Judged& b) {
    if (a.logit != b.logit) {
      return a.logit > b.logit;
    }
    return a.score != b.score ? a.score > b.score : a.label < b.label;
  });
  return first;
}

std::vector<double> LabelRanker::first_scores(const Scratch& scratch) const {
  std::vector<double> scores(scratch.n_first);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = score(scratch, i);
  }
  return scores;
}

bool LabelRanker::recognise(std::span<const std::uint64_t> digests) {
  passes_.see(digests.front());
  const bool is_new = !passes_.is_repeating();
  for (const std::uint64_t digest : digests.subspan(1)) {
    passes_.see(digest);
  }
  return is_new;
}

void LabelRanker::observe(const Forest& forest, const Example& example) {
  if (!find_first(forest, example.x, 0, scratch_)) {
    return;  // what will be answered to such a row needs no ranking
  }
  const std::vector<Judged> first = first_judged(scratch_);
  learn_probabilities(example, first);
  learn_doubt(example, first);
  // Where all labels are new, no ranking could have been right, and there is nothing to learn about it. That no label
  // applies is worth knowing.
  if (example.labels.empty() || std::any_of(example.labels.begin(), example.labels.end(),
                                            [this](LabelId label) { return memory_.count(label) > 0; })) {
    learn_ranking(example);
  }
  ++n_looked_at_;
  const auto n_known = static_cast<double>(scratch_.query.n_known());
  mean_known_ += (n_known - mean_known_) / std::min(kKnownWindow, static_cast<double>(n_looked_at_));
  if (n_looked_at_ % kThinnedEvery == 0) {
    observe_thinned(forest, example);
  }
}

/// Which features are left out depends on how many examples have been observed, and on nothing else. Half of the time
/// the rest is scaled as if there were no others; else these count as unknown ones do.
void LabelRanker::observe_thinned(const Forest& forest, const Example& example) {
  const std::uint64_t number = n_looked_at_ / kThinnedEvery;
  const std::uint64_t of_which_one = std::uint64_t{2} << (number % kThinnings);
  const bool is_scaled = number / kThinnings % 2 == 0;
  Random random(number);
  Thinned thinned;
  double squares = 0;
  double squares_left = 0;
  for (std::size_t i = 0; i < example.x.size(); ++i) {
    const FeatureId feature = example.x.features[i];
    const double value = example.x.values[i];
    const bool is_proper = feature != kBiasFeature;
    squares += is_proper ? value * value : 0;
    if (!is_proper || random.next() % of_which_one == 0) {
      thinned.features.push_back(feature);
      thinned.values.push_back(example.x.values[i]);
      squares_left += is_proper ? value * value : 0;
    }
  }
  if (squares_left == 0) {
    return;
  }
  // Rows of norm 1 are those of a model that normalises.
  if (is_scaled && std::abs(squares - 1.0) < 1e-3) {
    const double scale = 1.0 / std::sqrt(squares_left);
    for (std::size_t i = 0; i < thinned.features.size(); ++i) {
      if (thinned.features[i] != kBiasFeature) {
        thinned.values[i] = static_cast<Real>(scale * thinned.values[i]);
      }
    }
  }
  if (find_first(forest, {thinned.features, thinned.values}, 0, scratch_)) {
    learn_doubt(example, first_judged(scratch_));
  }
}

void LabelRanker::learn_probabilities(const Example& example, std::span<const Judged> first) {
  for (std::size_t i = 0; i < std::min(kCalibrated, first.size()); ++i) {
    calibration_.observe({1.0, first[i].score / kScoreScale, scratch_.together / kScoreScale},
                         has_label(example, first[i].label));
  }
  calibration_.step();
}

void LabelRanker::learn_doubt(const Example& example, std::span<const Judged> first) {
  if (scratch_.thinness == 0) {
    return;
  }
  for (std::size_t i = 0; i < std::min(kCalibrated, first.size()); ++i) {
    doubt_.observe_probability(sigmoid(static_cast<Real>(first[i].logit)), first[i].doubt,
                               has_label(example, first[i].label), 1.0);
  }
  doubt_.step();
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

/// In their order.
std::vector<ScoredLabel> LabelRanker::probabilities_of_first(std::span<const Judged> first) const {
  std::vector<ScoredLabel> ranked;
  double sum = 0;
  for (const Judged& each : first) {
    ranked.push_back({each.label, sigmoid(static_cast<Real>(each.logit))});
    sum += static_cast<double>(ranked.back().probability);
  }
  if (n_of_several_ == 0 && sum > kWhole) {
    for (ScoredLabel& each : ranked) {
      each.probability = static_cast<Real>(each.probability * (kWhole / sum));
    }
  }
  return ranked;
}

/// Adds to the ranked candidates further ones, which are at most as probable as the last sure one; where labels exclude
/// each other, they share evenly what the first ones leave.
std::vector<ScoredLabel> LabelRanker::rank_more(const Forest& forest, RowView x, const SearchParams& params,
                                                std::vector<ScoredLabel> ranked, double least_sure,
                                                Scratch& scratch) const {
  const std::size_t n_labels = forest.n_labels();
  Real most = 1;
  if (n_of_several_ == 0 && n_labels > ranked.size()) {
    double sum = 0;
    for (const ScoredLabel& each : ranked) {
      sum += static_cast<double>(each.probability);
    }
    most = static_cast<Real>(std::max(0.0, kWhole - sum) / static_cast<double>(n_labels - ranked.size()));
  }
  const std::size_t n_sure = std::min(kSurePlaces, ranked.size());
  most = std::min(most, ranked[n_sure - 1].probability);
  std::size_t n = params.top_k > 0 ? 2 * params.top_k : kUnlimited;
  for (bool any_above = true; any_above && ranked.size() < n_labels; n *= kGrowth) {
    const std::size_t begin = scratch.candidates.size();
    add_candidates(forest, x, n, params.beam, scratch);
    describe(scratch.candidates, scratch.n_first, scratch.query.is_signed(), scratch.features);
    any_above = false;
    for (std::size_t i = begin; i < scratch.candidates.size(); ++i) {
      const Judged each = judged(scratch, i);
      const Real probability = sigmoid(static_cast<Real>(std::min(least_sure, each.logit)));
      ranked.push_back({each.label, std::min(most, probability)});
      any_above = any_above || ranked.back().probability >= params.threshold;
    }
    if (params.top_k > 0 || n >= n_labels) {
      break;
    }
  }
  std::sort(ranked.begin() + static_cast<std::ptrdiff_t>(n_sure), ranked.end(),
            [](const ScoredLabel& a, const ScoredLabel& b) {
              return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
            });
  return ranked;
}

std::vector<ScoredLabel> LabelRanker::most_frequent(std::size_t n_labels, const SearchParams& params) const {
  std::vector<ScoredLabel> all;
  for (LabelId label = 0; label < n_labels; ++label) {
    const std::uint32_t count = memory_.count(label);
    all.push_back({label, count > 0 ? static_cast<Real>(frequency(count) * kWhole) : Real{0}});
  }
  return best_of(all, params);
}

std::vector<ScoredLabel> LabelRanker::rank(const Forest& forest, RowView x, const SearchParams& params,
                                           Scratch& scratch) const {
  if (!find_first(forest, x, params.beam, scratch)) {
    return memory_.n_learnt() > 0 ? most_frequent(forest.n_labels(), params) : forest.search(x, params, scratch.search);
  }
  const std::vector<Judged> first = first_judged(scratch);
  std::vector<ScoredLabel> ranked = probabilities_of_first(first);
  if (!first.empty() && (params.top_k == 0 || 2 * params.top_k > kCandidates)) {
    const double least_sure = first[std::min(kSurePlaces, first.size()) - 1].logit;
    ranked = rank_more(forest, x, params, std::move(ranked), least_sure, scratch);
  }
  const auto below = std::find_if(ranked.begin(), ranked.end(),
                                  [&](const ScoredLabel& each) { return each.probability < params.threshold; });
  const auto n = static_cast<std::size_t>(below - ranked.begin());
  ranked.resize(params.top_k > 0 ? std::min(n, params.top_k) : n);
  return ranked;
}

void LabelRanker::save(ArrayWriter& out, const std::string& prefix) const {
  memory_.save(out, prefix + "/memory");
  for (std::size_t i = 0; i < kBuckets; ++i) {
    models_[i].save(out, prefix + "/models/" + std::to_string(i));
  }
  calibration_.save(out, prefix + "/calibration");
  doubt_.save(out, prefix + "/doubt");
  passes_.save(out, prefix + "/passes");
  out.put_one(prefix + "/n_observed", n_observed_);
  out.put_one(prefix + "/n_looked_at", n_looked_at_);
  out.put_one(prefix + "/n_of_several", n_of_several_);
  out.put_one(prefix + "/mean_known", mean_known_);
}

LabelRanker LabelRanker::load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features) {
  LabelRanker ranker(max_features);
  ranker.memory_ = LabelMemory::load(in, prefix + "/memory", max_features);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    ranker.models_[i] = RankingModel::load(in, prefix + "/models/" + std::to_string(i), kKeepModel);
  }
  ranker.calibration_ = Calibration::load(in, prefix + "/calibration", kKeepCalibration);
  ranker.doubt_ = Doubt::load(in, prefix + "/doubt", kKeepDoubt);
  ranker.passes_ = PassDetector::load(in, prefix + "/passes");
  ranker.n_observed_ = in.get_one<std::uint64_t>(prefix + "/n_observed");
  ranker.n_looked_at_ = in.get_one<std::uint64_t>(prefix + "/n_looked_at");
  ranker.n_of_several_ = in.get_one<std::uint64_t>(prefix + "/n_of_several");
  ranker.mean_known_ = in.get_one<double>(prefix + "/mean_known");
  return ranker;
}

void LabelRanker::check(const LabelMemory::Limits& limits) const {
  memory_.check(limits);
  for (const RankingModel& model : models_) {
    model.check();
  }
  calibration_.check();
  doubt_.check();
  passes_.check();
  expect_format(n_of_several_ <= limits.examples && n_looked_at_ <= limits.examples,
                "the ranking has seen more examples than the model");
  expect_format(mean_known_ >= 0 && mean_known_ <= static_cast<double>(limits.features),
                "the mean number of known features is none that can be");
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/label_ranker.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/math.hpp"
#include "base/random.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCandidates = 20;  // from the tree, and as many from the memory, unless k is larger
constexpr std::size_t kBeam = 16;        // of the search for the first candidates, which need not be the exact top 20
constexpr std::size_t kBeamOfMany = 10;  // the same for each of several trees, which propose different candidates
constexpr Real kBeamShare = 0.03F;       // of the best node of a level; below it, no precision is gained (measured)
constexpr std::size_t kUnlimited = 100;  // initial number from each, if all labels above a threshold are requested
constexpr std::size_t kGrowth = 4;       // then multiplied by this, as long as new candidates are above the threshold
constexpr std::size_t kSurePlaces = 10;  // this many best candidates keep their ranks when more candidates are added

constexpr double kMostScore = 1e6;  // beyond any trained model, but a file may contain any weights

// The ranking models keep about the latest quarter of their evidence, because most early examples favour the memory
// over the tree; but of at least and at most this many observed examples.
constexpr double kWindowShare = 4.0;
constexpr double kLeastWindow = 100.0;
constexpr double kMostWindow = 1000.0;

constexpr double kLeastCount = 0.5;     // of a label without examples, so that its base rate has finite log-odds
constexpr double kKnownWindow = 256.0;  // the mean number of known features is taken over this many observed examples

// Every sixteenth observed example is used again with some of its features removed: half of them, three quarters, and
// so on.
constexpr std::uint64_t kThinnedEvery = 16;
constexpr std::uint64_t kThinnings = 4;

// Slightly below 1, because probabilities are rounded to Real and their sum must not exceed 1.
constexpr double kWhole = 1.0 - 1e-6;

// After about this many observed examples, a model learns mainly from labels of its own bucket instead of those of all
// buckets: five models trained separately from the start are useless on the first few hundred examples.
constexpr double kSharing = 30.0;
constexpr double kLeastSharing = 0.05;  // updates with a smaller weight are not worth their time

// Weight of an example with a single label: to rank one label above all others is more informative than that each of
// the others does not apply.
constexpr double kOnlyLabel = 3.0;

constexpr std::size_t kBuckets = 5;  // labels with at least 1, 2, 4, 8 and 16 examples

std::vector<double> softmax_of(std::vector<double> scores) {
  const double all = log_of_sum(scores);
  for (double& score : scores) {
    score = exp_real(static_cast<Real>(score - all));
  }
  return scores;
}

std::size_t beam_for(std::size_t n_candidates, std::size_t n_trees) {
  return n_candidates > kCandidates ? n_candidates : n_trees > 1 ? kBeamOfMany : kBeam;
}

bool is_allowed(LabelId label, const SearchParams& params) {
  return params.filter == nullptr || params.filter->allows(label);
}

/// The number of allowed labels among the ranked first candidates whose ranks further candidates do not change.
std::size_t n_sure(std::span<const ScoredLabel> ranked, const SearchParams& params) {
  if (params.filter == nullptr) {
    return kSurePlaces;
  }
  const auto sure = ranked.first(std::min(kSurePlaces, ranked.size()));
  return static_cast<std::size_t>(
      std::ranges::count_if(sure, [&](const ScoredLabel& each) { return is_allowed(each.label, params); }));
}

std::size_t bucket(std::uint32_t count) {
  return std::min<std::size_t>(std::bit_width(std::max(count, 1U)) - 1, kBuckets - 1);
}

}  // namespace

LabelRanker::LabelRanker(std::uint32_t max_features)
    : memory_(max_features), models_(kBuckets, RankingModel(trusting_weights())) {}

bool LabelRanker::observes(std::uint64_t number) {
  constexpr std::uint64_t kRun = 32;
  const std::uint64_t period = std::clamp<std::uint64_t>(std::bit_floor(number) / 16, 2 * kRun, 64 * kRun);
  return number % period < kRun;
}

const LabelRanker::RankingModel& LabelRanker::model_for(std::uint32_t count) const { return models_[bucket(count)]; }

/// The name of the score by model_for(), for people.
const char* LabelRanker::score_name(std::uint32_t count) {
  static constexpr std::array<const char*, kBuckets> kNames = {
      "score, by the model for labels with one example", "score, by the model for labels with 2 or 3 examples",
      "score, by the model for labels with 4 to 7 examples", "score, by the model for labels with 8 to 15 examples",
      "score, by the model for labels with 16 or more examples"};
  return kNames[bucket(count)];
}

/// How the trees are searched for n candidates.
SearchParams LabelRanker::tree_search(const Forest& forest, std::size_t n, std::size_t beam,
                                      const LabelFilter* filter) {
  SearchParams params;
  params.top_k = n;
  params.filter = filter;
  params.beam = beam > 0 ? beam : beam_for(n, forest.trees.size());
  return params;
}

SearchParams LabelRanker::first_tree_search(const Forest& forest, const LabelFilter* shown, std::size_t beam) {
  SearchParams params = tree_search(forest, kCandidates, beam, shown);
  params.beam_share = beam > 0 ? Real{0} : kBeamShare;
  return params;
}

void LabelRanker::add_candidate(LabelId label, Real probability, Scratch& scratch) const {
  scratch.candidates.push_back({.label = label,
                                .probability = probability,
                                .similarity = memory_.similarity(label, scratch.query),
                                .count = memory_.count(label),
                                .n_since = memory_.n_since(label),
                                .votes = {}});
}

/// Adds the labels found by the trees and the n best ones of the memory, if they are not candidates yet.
void LabelRanker::add_candidates(std::span<const ScoredLabel> by_trees, std::size_t n, const LabelFilter* filter,
                                 Scratch& scratch) const {
  std::vector<Candidate>& candidates = scratch.candidates;
  const auto add = [&](LabelId label, Real probability) {
    if (!std::binary_search(scratch.known.begin(), scratch.known.end(), label)) {
      add_candidate(label, probability, scratch);
    }
  };
  const auto renew_known = [&] {
    scratch.known.clear();
    std::transform(candidates.begin(), candidates.end(), std::back_inserter(scratch.known),
                   [](const Candidate& candidate) { return candidate.label; });
    std::sort(scratch.known.begin(), scratch.known.end());
  };
  for (const ScoredLabel& found : by_trees) {
    memory_.prefetch(found.label);
  }
  for (const ScoredLabel& found : by_trees) {
    add(found.label, found.probability);
  }
  if (scratch.n_first == 0) {
    scratch.least_probability = candidates.empty() ? Real{0} : candidates.back().probability;
  }
  renew_known();
  scratch.nearest.clear();
  memory_.find_nearest(n, scratch.query, scratch.nearest, filter);
  for (const LabelId label : scratch.nearest) {
    memory_.prefetch(label);
  }
  for (const LabelId label : scratch.nearest) {
    add(label, scratch.least_probability);
  }
  renew_known();
}

/// Describes the candidates from `begin` on. The first ones choose which recent examples are compared with the row.
void LabelRanker::describe_candidates(RowView x, std::size_t begin, Scratch& scratch) const {
  if (begin == 0) {
    recent_.find_nearest(x, scratch.known, memory_, scratch.examples);
  }
  for (Candidate& candidate : std::span(scratch.candidates).subspan(begin)) {
    candidate.votes = recent_.votes(candidate.label, scratch.examples);
  }
  oplt::describe(scratch.candidates, scratch.n_first, scratch.query.is_signed(), scratch.features);
}

/// Finds the first candidates and their features. Returns false if the row has no known feature.
bool LabelRanker::find_first(RowView x, std::span<const ScoredLabel> by_trees, const LabelFilter* shown,
                             Scratch& scratch) const {
  memory_.ask(x, scratch.query);
  scratch.candidates.clear();
  scratch.known.clear();
  scratch.n_first = 0;
  if (scratch.query.n_known() == 0) {
    return false;
  }
  add_candidates(by_trees, kCandidates, shown, scratch);
  scratch.n_first = scratch.candidates.size();
  describe_candidates(x, 0, scratch);
  scratch.context.together = log_of_sum(first_scores(scratch));
  const double usual = log_double(1.0 + mean_known_);
  const double known = log_double(1.0 + static_cast<double>(scratch.query.n_known()));
  scratch.context.thinness = known < usual ? 1.0 - known / usual : 0.0;
  return true;
}

/// Never NaN, whatever the weights are, because sorting NaN is undefined behaviour.
double LabelRanker::score(const Scratch& scratch, std::size_t i) const {
  const double score = model_for(scratch.candidates[i].count).score(scratch.features[i]);
  return std::min(kMostScore, std::max(-kMostScore, score));  // in this order, NaN becomes -kMostScore
}

/// The base rate of a label with this number of examples.
double LabelRanker::frequency(std::uint32_t count) const {
  return std::max(kLeastCount, static_cast<double>(count)) / (1.0 + static_cast<double>(memory_.n_learnt()));
}

LabelRanker::Judged LabelRanker::judged(const Scratch& scratch, std::size_t i) const {
  const Candidate& candidate = scratch.candidates[i];
  return calibration_.judged(candidate.label, score(scratch, i), frequency(candidate.count), scratch.context);
}

/// The first candidates, best first, ties by ascending label id.
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

SearchParams LabelRanker::observed_search(const Forest& forest, const LabelFilter* shown) {
  return first_tree_search(forest, shown);
}

void LabelRanker::observe(const Forest& forest, const LabelFilter* shown, const Example& example,
                          const FoundByTrees* by_trees) {
  std::vector<ScoredLabel> found;
  if (by_trees == nullptr) {
    found = forest.search(example.x, observed_search(forest, shown), scratch_.search);
  }
  if (!find_first(example.x, by_trees != nullptr ? by_trees->labels : found, shown, scratch_)) {
    return;  // rank() answers with base rates for such a row
  }
  const std::optional<ThinnedRow> other = thinned(example.x);
  calibration_.learn(first_judged(scratch_), example.labels, scratch_.context);
  // If all labels of the example are new, no ranking could have been right, and there is nothing to learn from it. An
  // example without labels is informative.
  if (example.labels.empty() || std::any_of(example.labels.begin(), example.labels.end(),
                                            [this](LabelId label) { return memory_.knows(label); })) {
    learn_ranking(example);
  }
  ++n_looked_at_;
  const auto n_known = static_cast<double>(scratch_.query.n_known());
  mean_known_ += (n_known - mean_known_) / std::min(kKnownWindow, static_cast<double>(n_looked_at_));
  if (other) {
    observe_thinned(forest, shown, example, other->view(), by_trees);
  }
}

/// Which features are removed depends only on the number of observed examples. Half of the time, the remaining row is
/// scaled to norm 1, as if it had no other features; otherwise the removed features count like unknown ones.
std::optional<ThinnedRow> LabelRanker::thinned(RowView x, std::uint64_t n_before) const {
  const std::uint64_t n = n_looked_at_ + n_before + 1;
  if (n % kThinnedEvery != 0) {
    return std::nullopt;
  }
  const std::uint64_t number = n / kThinnedEvery;
  const std::uint64_t of_which_one = std::uint64_t{2} << (number % kThinnings);
  const bool is_scaled = number / kThinnings % 2 == 0;
  Random random(number);
  ThinnedRow row;
  double squares = 0;
  double squares_left = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const FeatureId feature = x.features[i];
    const double value = x.values[i];
    const bool is_proper = feature != kBiasFeature;
    squares += is_proper ? value * value : 0;
    if (!is_proper || random.next() % of_which_one == 0) {
      row.features.push_back(feature);
      row.values.push_back(x.values[i]);
      squares_left += is_proper ? value * value : 0;
    }
  }
  if (squares_left == 0) {
    return std::nullopt;
  }
  // Only if the model normalises rows, i.e. if they have norm 1.
  if (is_scaled && std::abs(squares - 1.0) < 1e-3) {
    const double scale = 1.0 / std::sqrt(squares_left);
    for (std::size_t i = 0; i < row.features.size(); ++i) {
      if (row.features[i] != kBiasFeature) {
        row.values[i] = static_cast<Real>(scale * row.values[i]);
      }
    }
  }
  return row;
}

void LabelRanker::observe_thinned(const Forest& forest, const LabelFilter* shown, const Example& example,
                                  RowView thinned, const FoundByTrees* by_trees) {
  std::vector<ScoredLabel> found;
  if (by_trees == nullptr) {
    found = forest.search(thinned, observed_search(forest, shown), scratch_.search);
  }
  if (find_first(thinned, by_trees != nullptr ? by_trees->of_thinned : found, shown, scratch_)) {
    calibration_.learn_doubt(first_judged(scratch_), example.labels, scratch_.context);
  }
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
    const bool positive = has_label(example.labels, candidate.label);
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
  const double window = std::clamp(static_cast<double>(n_observed_) / kWindowShare, kLeastWindow, kMostWindow);
  for (RankingModel& model : models_) {
    model.step(1.0 - 1.0 / window);
  }
}

/// Their probabilities, in the same order.
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

/// Further candidates are at most as probable as the last one that keeps its rank; if no example had more than one
/// label, each gets at most an equal share of what the first candidates leave of 1.
LabelRanker::Limit LabelRanker::limit_of_further(std::span<const ScoredLabel> ranked, std::span<const Judged> first,
                                                 std::size_t n_labels) const {
  Real most = 1;
  if (n_of_several_ == 0 && n_labels > ranked.size()) {
    double sum = 0;
    for (const ScoredLabel& each : ranked) {
      sum += static_cast<double>(each.probability);
    }
    most = static_cast<Real>(std::max(0.0, kWhole - sum) / static_cast<double>(n_labels - ranked.size()));
  }
  const std::size_t last_sure = std::min(kSurePlaces, ranked.size()) - 1;
  return {std::min(most, ranked[last_sure].probability), first[last_sure].logit};
}

Real LabelRanker::Limit::operator()(const Judged& each) const {
  return std::min(probability, sigmoid(static_cast<Real>(std::min(logit, each.logit))));
}

/// Adds further candidates to the ranked ones.
std::vector<ScoredLabel> LabelRanker::rank_more(const Forest& forest, RowView x, const SearchParams& params,
                                                std::vector<ScoredLabel> ranked, std::span<const Judged> first,
                                                Scratch& scratch) const {
  const std::size_t n_labels = label_bound(forest);
  const Limit limited = limit_of_further(ranked, first, n_labels);
  const std::size_t n_kept = std::min(kSurePlaces, ranked.size());
  std::vector<std::pair<ScoredLabel, double>> rest;  // with their log-odds, because probabilities may tie
  for (std::size_t i = n_kept; i < ranked.size(); ++i) {
    rest.emplace_back(ranked[i], first[i].logit);
  }
  const std::size_t n_allowed = params.filter != nullptr ? params.filter->n_allowed() : n_labels;
  std::size_t n = params.top_k > 0 ? std::max(2 * params.top_k, kCandidates) : kUnlimited;
  for (bool any_above = true; any_above && n_kept + rest.size() < n_labels; n *= kGrowth) {
    const std::size_t begin = scratch.candidates.size();
    add_candidates(forest.search(x, tree_search(forest, n, params.beam, params.filter), scratch.search), n,
                   params.filter, scratch);
    describe_candidates(x, begin, scratch);
    any_above = false;
    for (std::size_t i = begin; i < scratch.candidates.size(); ++i) {
      const Judged each = judged(scratch, i);
      rest.push_back({{each.label, limited(each)}, each.logit});
      any_above = any_above || rest.back().first.probability >= params.threshold;
    }
    if (params.top_k > 0 || n >= n_allowed) {
      break;
    }
  }
  std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) {
    if (a.first.probability != b.first.probability) {
      return a.first.probability > b.first.probability;
    }
    return a.second != b.second ? a.second > b.second : a.first.label < b.first.label;
  });
  ranked.resize(n_kept);
  std::transform(rest.begin(), rest.end(), std::back_inserter(ranked), [](const auto& each) { return each.first; });
  return ranked;
}

/// One more than the largest id of a label: described ones are not in the trees, and given trees have labels without
/// examples.
std::size_t LabelRanker::label_bound(const Forest& forest) const {
  return std::max<std::size_t>(forest.label_bound(), memory_.n_labels());
}

/// The probability of a label in a row without known features.
Real LabelRanker::base_rate(LabelId label) const {
  const std::uint32_t count = memory_.count(label);
  return count > 0 ? static_cast<Real>(frequency(count) * kWhole) : Real{0};
}

std::vector<ScoredLabel> LabelRanker::most_frequent(std::size_t n_labels, const SearchParams& params) const {
  std::vector<ScoredLabel> all;
  for (LabelId label = 0; label < n_labels; ++label) {
    if (is_allowed(label, params)) {
      all.push_back({label, base_rate(label)});
    }
  }
  return best_of(all, params);
}

LabelsOfRows LabelRanker::rank(const Forest& forest, std::span<const RowView> rows, const SearchParams& params,
                               Scratch& scratch) const {
  // Also for rows without a known feature: they are few, and their search is short.
  LabelsOfRows result = forest.search(rows, first_tree_search(forest, params.shown, params.beam), scratch.search);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    result[i] = rank_row(forest, rows[i], result[i], params, scratch);
  }
  return result;
}

/// `by_trees` are the labels that the first search has found.
std::vector<ScoredLabel> LabelRanker::rank_row(const Forest& forest, RowView x, std::span<const ScoredLabel> by_trees,
                                               const SearchParams& params, Scratch& scratch) const {
  if (!find_first(x, by_trees, params.shown, scratch)) {
    return memory_.n_learnt() > 0 ? most_frequent(label_bound(forest), params)
                                  : forest.search(x, params, scratch.search);
  }
  const std::vector<Judged> first = first_judged(scratch);
  std::vector<ScoredLabel> ranked = probabilities_of_first(first);
  if (!first.empty() && (params.top_k == 0 || params.top_k > n_sure(ranked, params))) {
    ranked = rank_more(forest, x, params, std::move(ranked), first, scratch);
  }
  std::erase_if(ranked, [&](const ScoredLabel& each) { return !is_allowed(each.label, params); });
  const auto below = std::find_if(ranked.begin(), ranked.end(),
                                  [&](const ScoredLabel& each) { return each.probability < params.threshold; });
  const auto n = static_cast<std::size_t>(below - ranked.begin());
  ranked.resize(params.top_k > 0 ? std::min(n, params.top_k) : n);
  return ranked;
}

}  // namespace oplt

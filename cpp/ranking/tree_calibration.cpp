// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/tree_calibration.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.hpp"
#include "base/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kBest = 5;   // number of labels of a row that the calibration is trained on, and whose sum counts
constexpr std::size_t kBeam = 10;  // for observed examples: an exact search takes up to four times as long
constexpr double kLeastTreeSlope = 0.1;  // probabilities must not reverse the order of the labels
constexpr double kLeastLogOdds = -30.0;  // of labels to learn from: a single outlier must not outweigh all others
constexpr double kMostTreeLogit = 80.0;  // its probability is still a normal Real
constexpr double kObservedWeight = 3.0;  // of an observed label, relative to the initial curvature

// The model keeps the evidence of the latest sixteenth of the observed examples, to follow a stream whose labels become
// better known over time, but of at least and at most this many.
constexpr std::uint64_t kWindowShare = 16;
constexpr std::uint64_t kLeastWindow = 32;
constexpr std::uint64_t kMostWindow = 200;

double log_odds(Real probability) {
  const double p = std::max(probability, std::numeric_limits<Real>::min());
  return log_double(p / std::max(1.0 - p, static_cast<double>(std::numeric_limits<Real>::epsilon()) / 4));
}

/// The logarithm of the sum of the best probabilities.
double together(std::span<const ScoredLabel> best) {
  double sum = 0.0;
  for (const ScoredLabel& label : best.first(std::min(kBest, best.size()))) {
    sum += static_cast<double>(label.probability);
  }
  return std::max(kLeastLogOdds, log_double(std::max<double>(sum, std::numeric_limits<Real>::min())));
}

}  // namespace

// At first the probabilities are those of the trees.
TreeCalibration::TreeCalibration() : model_({0.0, 1.0, 0.0}) {}

// About one example in √number: often enough at first, and cheap in a long stream.
bool TreeCalibration::observes(std::uint64_t number) {
  constexpr std::uint64_t kRun = 16;
  const std::uint64_t period = kRun << (std::bit_width(number / 2) / 2);
  return number % period < kRun;
}

SearchParams TreeCalibration::observed_search(const Forest& /*forest*/, const LabelFilter* shown) {
  return {.top_k = kBest, .threshold = 0, .beam = kBeam, .filter = shown};
}

void TreeCalibration::observe(const Forest& forest, const LabelFilter* shown, const Example& example,
                              const std::vector<ScoredLabel>* by_trees) {
  const std::vector<ScoredLabel> best =
      by_trees != nullptr ? *by_trees : forest.search(example.x, observed_search(forest, shown), scratch_);
  const double sum = together(best);
  for (const ScoredLabel& found : best) {
    model_.observe({1.0, std::max(kLeastLogOdds, log_odds(found.probability)), sum},
                   std::binary_search(example.labels.begin(), example.labels.end(), found.label), kObservedWeight);
  }
  ++n_observed_;
  const std::uint64_t window = std::clamp(n_observed_ / kWindowShare, kLeastWindow, kMostWindow);
  model_.step(1.0 - 1.0 / static_cast<double>(window));
}

TreeCalibration::OfRow TreeCalibration::of_row(std::span<const ScoredLabel> best) const {
  const auto& [constant, slope, sum] = model_.weights();
  return {constant + sum * together(best), std::max(kLeastTreeSlope, slope)};
}

double TreeCalibration::OfRow::logit(Real probability) const {
  return std::clamp(constant + slope * log_odds(probability), -kMostTreeLogit, kMostTreeLogit);
}

/// In double precision, so that rounding errors are too small to reverse the order of two different probabilities.
Real TreeCalibration::OfRow::operator()(Real probability) const {
  return static_cast<Real>(1.0 / (1.0 + exp_double(-logit(probability))));
}

ExplainedSteps TreeCalibration::explain(Real probability, std::span<const ScoredLabel> best) const {
  const double sum = together(best);
  const double of_sum = model_.weights()[2];
  const OfRow of_this = of_row(best);
  const double odds = log_odds(probability);
  const double unbounded = of_this.constant + of_this.slope * odds;
  ExplainedSteps steps{{"log-odds",
                        {{"constant", 1.0, model_.weights()[0], model_.weights()[0]},
                         {"log-odds by the trees", odds, of_this.slope, of_this.slope * odds},
                         {"log sum of the five best probabilities", sum, of_sum, of_sum * sum}},
                        unbounded}};
  if (of_this.logit(probability) != unbounded) {
    steps.push_back({"log-odds, limited to the range from -80 to 80", {}, of_this.logit(probability)});
  }
  steps.push_back({"probability", {}, of_this(probability)});
  return steps;
}

/// By bisection: numbers from 0 on have the same order as their bits.
Real TreeCalibration::OfRow::lowest_reaching(Real calibrated) const {
  std::uint32_t low = std::bit_cast<std::uint32_t>(Real{0});
  std::uint32_t high = std::bit_cast<std::uint32_t>(Real{1}) + 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if ((*this)(std::bit_cast<Real>(middle)) >= calibrated) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::bit_cast<Real>(low);
}

LabelsOfRows TreeCalibration::search(const Forest& forest, std::span<const RowView> rows, const SearchParams& params,
                                     SearchScratch& scratch) const {
  SearchParams asked = params;
  asked.top_k = std::max(kBest, params.top_k);
  asked.threshold = 0;
  asked.filter = params.shown;  // the probability of a label does not depend on which others are allowed
  LabelsOfRows result = forest.search(rows, asked, scratch);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<ScoredLabel>& found = result[i];
    const OfRow calibrated = of_row(found);
    if (params.top_k == 0 || params.filter != params.shown) {
      asked = params;
      asked.threshold = params.threshold > 0 ? calibrated.lowest_reaching(params.threshold) : 0;
      found = forest.search(rows[i], asked, scratch);
    } else {
      found.resize(std::min(params.top_k, found.size()));
    }
    for (ScoredLabel& label : found) {
      label.probability = calibrated(label.probability);
    }
    while (!found.empty() && found.back().probability < params.threshold) {
      found.pop_back();
    }
  }
  return result;
}

void TreeCalibration::save(ArrayWriter& out, const std::string& prefix) const {
  model_.save(out, prefix + "/model");
  passes_.save(out, prefix + "/passes");
  out.put_one(prefix + "/n_observed", n_observed_);
}

TreeCalibration TreeCalibration::load(const ArrayReader& in, const std::string& prefix) {
  TreeCalibration calibration;
  calibration.model_ = Model::load(in, prefix + "/model");
  calibration.passes_ = PassDetector::load(in, prefix + "/passes");
  calibration.n_observed_ = in.get_one<std::uint64_t>(prefix + "/n_observed");
  return calibration;
}

void TreeCalibration::check(std::uint64_t n_examples) const {
  model_.check();
  passes_.check();
  expect_format(n_observed_ <= n_examples, "the calibration has seen more examples than the model");
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/score_calibration.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCalibrated = 10;  // it is trained on this many best candidates

constexpr double kScoreScale = 4.0;
constexpr double kLeastSlope = 0.2;  // probabilities must not reverse the order of the scores
constexpr double kLeastRest = 1e-5;  // 1 - share

// The fraction of the evidence that each step keeps. The usual model has only four weights, so it can forget faster and
// follow the stream, in which labels become better known over time.
constexpr double kKeepUsual = 0.99;
constexpr double kKeepDoubt = 0.999;

constexpr double kMostLogit = 30.0;      // so that no probability gets stuck at 0 or 1
constexpr double kLeastBelief = 0.05;    // minimum factor of the log-odds for sparse rows: it keeps their order
constexpr double kMostFrequent = 0.999;  // maximum base rate, so that its log-odds are finite

double bounded_logit(double logit) { return std::min(kMostLogit, std::max(-kMostLogit, logit)); }

/// Grows at least as fast as the score.
double log_odds_of_share(double score, double together) {
  const double log_share = score - together;
  return log_share - log_double(std::max(kLeastRest, 1.0 - exp_real(static_cast<Real>(log_share))));
}

}  // namespace

bool has_label(std::span<const LabelId> labels, LabelId label) {
  return std::binary_search(labels.begin(), labels.end(), label);
}

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

ScoreCalibration::ScoreCalibration() : usual_({0.0, kScoreScale, 0.0, 0.0}), doubt_({0.0, 0.0, 0.0, 0.0, -1.0, 1.0}) {}

/// The weights of the score and of the share may compensate each other, as long as the sum ascends with the score.
ScoreCalibration::UsualTerms ScoreCalibration::usual_terms(double score, const Context& context) const {
  const auto& [constant, slope, together, share] = usual_.weights();
  const double of_share = std::max(0.0, share);
  return {.constant = constant,
          .together = context.together,
          .of_together = together,
          .score = score,
          .of_score = std::max(kLeastSlope - of_share, slope),
          .share = log_odds_of_share(score, context.together),
          .of_share = of_share};
}

double ScoreCalibration::UsualTerms::sum() const {
  return constant + (of_together * together + of_score * score + of_share * share) / kScoreScale;
}

ScoreCalibration::DoubtTerms ScoreCalibration::doubt_terms(double logit, double base_rate, double thinness) const {
  const double frequent = std::min(kMostFrequent, base_rate);
  const double u = thinness;
  const Doubt::Features& w = doubt_.weights();
  return {.constant = u * (w[0] + u * w[3]),
          .logit = logit,
          .belief = 1.0 + u * (w[1] + u * w[4]),
          .rare = log_double(frequent / (1.0 - frequent)),
          .frequency = u * (w[2] + u * w[5])};
}

double ScoreCalibration::DoubtTerms::bounded_belief() const { return std::max(kLeastBelief, belief); }

double ScoreCalibration::DoubtTerms::bounded_frequency() const { return std::max(0.0, frequency); }

ScoreCalibration::Judged ScoreCalibration::judged(LabelId label, double score, double base_rate,
                                                  const Context& context) const {
  const double logit = bounded_logit(usual_terms(score, context).sum());
  const double u = context.thinness;
  if (u == 0) {
    return {label, score, {}, logit};
  }
  const DoubtTerms terms = doubt_terms(logit, base_rate, u);
  // A weight has no effect while its term is at the bound. Without this, the errors would push it ever further away.
  const double x_logit = terms.belief > kLeastBelief ? u * logit : 0.0;
  const double x_rare = terms.frequency >= 0 ? u * terms.rare : 0.0;
  return {label, score, {u, x_logit, x_rare, u * u, u * x_logit, u * x_rare}, bounded_logit(terms.sum())};
}

ExplainedSteps ScoreCalibration::explain(double score, double base_rate, const Context& context) const {
  ExplainedSteps steps;
  const auto add = [&](const char* name, std::vector<ExplainedTerm> terms, double sum) {
    steps.push_back({name, std::move(terms), sum});
    if (bounded_logit(sum) != sum) {
      steps.push_back({"log-odds, limited to the range from -30 to 30", {}, bounded_logit(sum)});
    }
  };
  const auto term = [](const char* name, double value, double weight) {
    return ExplainedTerm{name, value, weight, weight * value};
  };
  const auto scaled = [&](const char* name, double value, double weight) {
    return term(name, value, weight / kScoreScale);
  };
  const UsualTerms usual = usual_terms(score, context);
  add("log-odds",
      {term("constant", 1.0, usual.constant), scaled("score", usual.score, usual.of_score),
       scaled("log sum of all candidates' exponential scores", usual.together, usual.of_together),
       scaled("log-odds of its share of this sum", usual.share, usual.of_share)},
      usual.sum());
  if (context.thinness > 0) {
    const DoubtTerms doubt = doubt_terms(bounded_logit(usual.sum()), base_rate, context.thinness);
    add("log-odds of an example with few known features",
        {term("constant", 1.0, doubt.constant), term("log-odds", doubt.logit, doubt.bounded_belief()),
         term("log-odds of the label's base rate", doubt.rare, doubt.bounded_frequency())},
        doubt.sum());
  }
  return steps;
}

void ScoreCalibration::learn(std::span<const Judged> best, std::span<const LabelId> labels, const Context& context) {
  for (const Judged& each : best.first(std::min(kCalibrated, best.size()))) {
    usual_.observe({1.0, each.score / kScoreScale, context.together / kScoreScale,
                    log_odds_of_share(each.score, context.together) / kScoreScale},
                   has_label(labels, each.label));
  }
  usual_.step(kKeepUsual);
  learn_doubt(best, labels, context);
}

void ScoreCalibration::learn_doubt(std::span<const Judged> best, std::span<const LabelId> labels,
                                   const Context& context) {
  if (context.thinness == 0) {
    return;
  }
  for (const Judged& each : best.first(std::min(kCalibrated, best.size()))) {
    doubt_.observe_probability(sigmoid(static_cast<Real>(each.logit)), each.doubt, has_label(labels, each.label), 1.0);
  }
  doubt_.step(kKeepDoubt);
}

void ScoreCalibration::save(ArrayWriter& out, const std::string& prefix) const {
  usual_.save(out, prefix + "/usual");
  doubt_.save(out, prefix + "/doubt");
}

ScoreCalibration ScoreCalibration::load(const ArrayReader& in, const std::string& prefix) {
  ScoreCalibration calibration;
  calibration.usual_ = Usual::load(in, prefix + "/usual");
  calibration.doubt_ = Doubt::load(in, prefix + "/doubt");
  return calibration;
}

void ScoreCalibration::check() const {
  usual_.check();
  doubt_.check();
}

}  // namespace oplt

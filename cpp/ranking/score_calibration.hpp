// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "io/array_file.hpp"
#include "ranking/explained_step.hpp"
#include "ranking/online_logistic.hpp"

namespace oplt {

/// Turns the scores of a row's candidates into log-odds, without changing their order in rows of which enough is known.
///
/// One logistic model is for the usual row. A second one corrects its log-odds for rows of which less is known.
class ScoreCalibration {
 private:
  // Of a constant, the score, Context::together, and the log-odds of the candidate's share: its exponential score
  // divided by the sum of all. The last one fits streams in which each example has one label.
  using Usual = OnlineLogistic<4>;

  // The less is known about a row, the less the usual log-odds count, and the more the base rate of the label. The
  // features are 1, the usual log-odds and the log-odds of the base rate, each times the thinness and its square.
  using Doubt = OnlineLogistic<6>;

 public:
  /// What the candidates of a row have in common.
  struct Context {
    double together = 0;  // logarithm of the sum of the first candidates' exponential scores
    double thinness = 0;  // how little is known about the row: from 0 (as much as for most rows) to 1 (nothing)
  };

  /// A candidate with its score and the resulting log-odds.
  struct Judged {
    LabelId label;
    double score;
    Doubt::Features doubt;
    double logit;  // of its probability
  };

  ScoreCalibration();

  /// `base_rate` is that of the label.
  Judged judged(LabelId label, double score, double base_rate, const Context& context) const;

  /// The steps from a score to the log-odds that judged() returns, which are the result of the last one.
  ExplainedSteps explain(double score, double base_rate, const Context& context) const;

  /// Learns from the best candidates of an observed example, whose labels ascend.
  void learn(std::span<const Judged> best, std::span<const LabelId> labels, const Context& context);

  /// Learns from a row of which little is known; otherwise does nothing.
  void learn_doubt(std::span<const Judged> best, std::span<const LabelId> labels, const Context& context);

  /// See LabelMemory.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static ScoreCalibration load(const ArrayReader& in, const std::string& prefix);
  void check() const;

 private:
  /// The summands of the usual log-odds: weights, bounded so that the order of the scores stays, and values.
  struct UsualTerms {
    double constant;
    double together, of_together;
    double score, of_score;
    double share, of_share;

    double sum() const;
  };

  /// Those of the log-odds for a row of which less is known. The weights of the last two have bounds.
  struct DoubtTerms {
    double constant;
    double logit, belief;
    double rare, frequency;

    double bounded_belief() const;
    double bounded_frequency() const;
    double sum() const { return constant + bounded_belief() * logit + bounded_frequency() * rare; }
  };

  UsualTerms usual_terms(double score, const Context& context) const;
  DoubtTerms doubt_terms(double logit, double base_rate, double thinness) const;

  Usual usual_;
  Doubt doubt_;
};

/// log(sum(exp(score))), without overflow.
double log_of_sum(std::span<const double> scores);

/// The labels ascend.
bool has_label(std::span<const LabelId> labels, LabelId label);

}  // namespace oplt

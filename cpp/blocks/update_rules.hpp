// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// How the classifiers learn online. A rule has two halves: SiblingBlock::find_step() turns the scores of all columns
// into gradients, and step() below applies one gradient to one cell, a weight and its accumulator.
//
// A rule may decline to *start* a weight, i.e. to change a cell whose accumulator is 0; in a closed model (closed()),
// all do.
//
// Every rule satisfies two conditions, on which properness rests:
// - A classifier with negated weights and a flipped target takes exactly the negated step, so that the inverse of a
//   classifier (InverseClassifier, Algorithm 6) is exact to the bit.
// - An absent cell is (0, 0), and a step depends only on the content of the cell, not on whether it is stored.
//
// Faster kernels have their own version of step(), with the same operations in the same order.
#pragma once

#include <cmath>
#include <limits>
#include <variant>

#include "base/types.hpp"

namespace oplt {

/// AdaGrad on the logistic loss, as in the paper.
struct AdaGradParams {
  Real learning_rate;
  Real eps;
  Real gate;       // skip the update of a classifier whose |gradient| is below this
  Real least = 0;  // smallest |gradient · value| that starts a weight: 0, or infinity in a closed model
};

/// AROW, adaptive regularisation of weights (Crammer, Kulesza, Dredze, 2009), with a diagonal covariance.
struct ArowParams {
  Real r;         // regularisation: the larger, the smaller the steps
  Real sparsity;  // do not start weights whose first step is small compared with that of a medium feature of the row
};

/// The rule, with its settings. The defaults are defined in Python.
using LearningParams = std::variant<AdaGradParams, ArowParams>;

/// The same rule, but it starts no weights.
inline LearningParams closed(LearningParams params) {
  constexpr Real kNever = std::numeric_limits<Real>::infinity();
  if (auto* adagrad = std::get_if<AdaGradParams>(&params)) {
    adagrad->least = kNever;
  } else {
    std::get<ArowParams>(params).sparsity = kNever;
  }
  return params;
}

/// The accumulator is the sum of squared gradients.
struct AdaGradStep {
  Real learning_rate;
  Real eps;
  Real least = 0;  // smallest |gradient · value| that starts a weight

  /// Returns whether the step starts the weight. A step so small that the accumulator stays 0 does not.
  bool step(Real gradient, Real value, Real& weight, Real& accumulator) const {
    const Real g = gradient * value;
    const bool is_started = accumulator > 0;
    if (!is_started && !(std::abs(g) >= least)) {
      return false;
    }
    accumulator += g * g;
    weight -= learning_rate * g / std::sqrt(eps + accumulator);
    return !is_started && accumulator > 0;
  }

  /// Whether step() changes a cell that is (0, 0). Others need not be stored.
  bool starts(Real gradient, Real value) const { return std::abs(gradient * value) >= least; }
  bool starts_all() const { return least <= 0; }
};

/// The accumulator is the confidence in the weight, 1 - variance, from 0 (none) to 1. With the precision 1 + Q =
/// 1 / variance, a step is w -= gradient · x / (1 + Q), then Q += x² / r. The `gradient` is the size of the step, with
/// the sign of a gradient. Near 1, a Real cannot represent small changes of the confidence: after some thousand
/// mistakes, the variance of a frequent feature stays at about 1e-4, so that it goes on learning slowly.
struct ArowStep {
  Real r;
  Real least;  // smallest |gradient · value| that starts a weight

  bool step(Real gradient, Real value, Real& weight, Real& accumulator) const {
    const Real g = gradient * value;
    const bool is_started = accumulator > 0;
    if (!is_started && !(std::abs(g) >= least)) {
      return false;
    }
    const Real variance = 1 > accumulator ? 1 - accumulator : 0;
    const Real spread = variance * (value * value);
    weight -= g * variance;
    accumulator += variance * spread / (r + spread);
    return !is_started && accumulator > 0;
  }

  bool starts(Real gradient, Real value) const { return std::abs(gradient * value) >= least; }
  bool starts_all() const { return least <= 0; }
};

}  // namespace oplt

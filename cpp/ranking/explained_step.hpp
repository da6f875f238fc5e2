// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// How the evidence for a label becomes a probability, step by step, for people.
#pragma once

#include <vector>

namespace oplt {

/// A part of a sum: weight · value.
struct ExplainedTerm {
  const char* name;
  double value;
  double weight;
  double contribution;
};

/// A number that is computed from the result of the step before it. If it is a sum, `terms` are its parts.
struct ExplainedStep {
  const char* name;
  std::vector<ExplainedTerm> terms;
  double result;
};

using ExplainedSteps = std::vector<ExplainedStep>;

}  // namespace oplt

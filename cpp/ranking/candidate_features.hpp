// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

/// A candidate label and the evidence for it.
struct Candidate {
  LabelId label;
  Real probability;  // by the tree; for a label found only by the memory, the lowest probability that the tree found
  Similarity similarity;
  std::uint32_t count;    // of the label's examples
  std::uint64_t n_since;  // examples since the last one of the label
};

/// The features of a candidate for a logistic model. *Gap*: the distance to the best candidate, in logarithms.
enum CandidateFeature : std::size_t {
  kConstant,
  kLogProbability,
  kLogOdds,
  kProbability,
  kProbabilityGap,
  kTreeRank,
  kLogCosine,
  kCosine,
  kCosineGap,
  kCosineDeviations,  // behind the best one, in standard deviations
  kCosineRank,
  kLogCoverage,
  kCoverageGap,
  kLogMeanShare,
  kMeanShareGap,
  kLogLargestShare,
  kLogCount,
  kLogSince,
  kCandidateFeatures  // how many there are
};

using CandidateFeatures = std::array<double, kCandidateFeatures>;

/// The prior: weights of a model that trusts the tree, and somewhat more the memory, which is good from the first
/// example of a label on.
CandidateFeatures trusting_weights();

/// Computes the features of each candidate, partly by comparison with the first n_first candidates, whose features
/// therefore do not depend on those that follow. The candidates of the tree come first, by descending probability.
/// `is_signed`: the row has negative values, so cosines may be negative, and are near 0 by chance.
void describe(std::span<const Candidate> candidates, std::size_t n_first, bool is_signed,
              std::vector<CandidateFeatures>& described);

}  // namespace oplt

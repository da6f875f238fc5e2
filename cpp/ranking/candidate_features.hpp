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

/// A label that may be relevant, and what speaks for it.
struct Candidate {
  LabelId label;
  Real probability;  // by the tree; of a label that only the memory found, the least that the tree found
  Similarity similarity;
  std::uint32_t count;    // of the label's examples
  std::uint64_t n_since;  // examples since the last one of the label
};

/// What a logistic model sees of a candidate. *Gap*: how far it is behind the best one, in logarithms.
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

/// Weights of a model that trusts the tree, and rather more the memory, which is good from the first example of a label
/// on: what is believed before anything was observed.
CandidateFeatures trusting_weights();

/// Describes each candidate, also by how it compares with the first n_first. So these look the same, whatever follows.
/// They begin with those that the tree found, by descending probability.
/// `is_signed`: the row has negative values, so cosines may be negative, and are near 0 by chance.
void describe(std::span<const Candidate> candidates, std::size_t n_first, bool is_signed,
              std::vector<CandidateFeatures>& described);

}  // namespace oplt

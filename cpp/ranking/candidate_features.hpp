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
#include "ranking/recent_examples.hpp"

namespace oplt {

/// A candidate label and the evidence for it.
struct Candidate {
  LabelId label;
  Real probability;  // by the tree; for a label found only by the memory, the lowest probability that the tree found
  Similarity similarity;
  std::uint32_t count;    // number of examples of the label
  std::uint64_t n_since;  // examples since the last one of the label
  Votes votes;
};

/// The features of a candidate for a logistic model. A *gap* is the difference of logarithms to the best candidate.
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
  kCosineDeviations,  // difference from the best cosine, in standard deviations
  kCosineRank,
  kLogCoverage,
  kCoverageGap,
  kLogMeanShare,
  kMeanShareGap,
  kLogLargestShare,
  kLogCount,
  kLogSince,
  kVoteShare,
  kVoteNearness,
  kCandidateFeatures  // the number of features
};

using CandidateFeatures = std::array<double, kCandidateFeatures>;

/// For people, by feature.
inline constexpr std::array<const char*, kCandidateFeatures> kCandidateFeatureNames = {
    "constant",
    "tree: log probability",
    "tree: log-odds",
    "tree: probability",
    "tree: log probability, compared with the best",
    "tree: log rank",
    "memory: log cosine",
    "memory: cosine",
    "memory: log cosine, compared with the best",
    "memory: standard deviations from the best cosine",
    "memory: log rank by cosine",
    "memory: log coverage",
    "memory: log coverage, compared with the best",
    "memory: log mean share",
    "memory: log mean share, compared with the best",
    "memory: log largest share",
    "log number of examples",
    "log number of examples since its last one",
    "recent examples: share of votes",
    "recent examples: nearness",
};

/// The prior: weights of a model that trusts the tree, and somewhat more the label memory, which is good from a label's
/// first example on.
CandidateFeatures trusting_weights();

/// Computes the features of each candidate, some by comparison with the first n_first candidates only, so that their
/// features do not depend on later candidates. The candidates of the tree come first, by descending probability.
/// `is_signed` means that the row has negative values, so that cosines of unrelated labels vary around 0.
void describe(std::span<const Candidate> candidates, std::size_t n_first, bool is_signed,
              std::vector<CandidateFeatures>& described);

}  // namespace oplt

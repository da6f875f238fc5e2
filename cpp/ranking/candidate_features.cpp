// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/candidate_features.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/math.hpp"

namespace oplt {

namespace {

// Lower bounds before taking logarithms: differences between smaller values are noise.
constexpr double kLeastProbability = 1e-9;
constexpr double kLeastSimilarity = 1e-3;

// For rows with negative values, as standardised features have. Their cosines near 0 differ by chance; and compared
// with the tree, the nearest label is less informative the more examples the labels have had.
constexpr double kLeastSignedCosine = 0.1;
constexpr double kFewExamples = 4.0;
constexpr double kLeastShare = 1e-6;
constexpr double kLeastLargestShare = 1e-4;
constexpr double kLeastDoubt = 1e-6;  // 1 - probability

double log_at_least(double least, double x) { return log_double(std::max(least, x)); }

/// The logarithms that are compared between candidates.
struct Logs {
  double probability;
  double cosine;
  double coverage;
  double mean_share;
};

Logs logs_of(const Candidate& candidate, double least_cosine) {
  return {log_at_least(kLeastProbability, candidate.probability),
          log_at_least(least_cosine, candidate.similarity.cosine),
          log_at_least(kLeastSimilarity, candidate.similarity.coverage),
          log_at_least(kLeastShare, candidate.similarity.mean_share)};
}

/// The maximum of each member.
Logs best_of(std::span<const Logs> logs) {
  Logs best = logs[0];
  for (const Logs& other : logs) {
    best = {std::max(best.probability, other.probability), std::max(best.cosine, other.cosine),
            std::max(best.coverage, other.coverage), std::max(best.mean_share, other.mean_share)};
  }
  return best;
}

/// The distribution of the cosines of the first candidates.
class Cosines {
 public:
  explicit Cosines(std::span<const Candidate> first) {
    double sum = 0.0;
    double squares = 0.0;
    for (const Candidate& candidate : first) {
      const double cosine = candidate.similarity.cosine;
      descending_.push_back(candidate.similarity.cosine);
      sum += cosine;
      squares += cosine * cosine;
    }
    std::sort(descending_.begin(), descending_.end(), std::greater<>());
    const auto n = static_cast<double>(first.size());
    spread_ = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  }

  /// The number of larger cosines.
  std::size_t rank(Real cosine) const {
    const auto place = std::lower_bound(descending_.begin(), descending_.end(), cosine, std::greater<>());
    return static_cast<std::size_t>(place - descending_.begin());
  }

  /// Difference from the largest cosine, in standard deviations.
  double deviations(Real cosine) const {
    constexpr double kLeastSpread = 1e-3;
    return (static_cast<double>(cosine) - descending_.front()) / (spread_ + kLeastSpread);
  }

 private:
  std::vector<Real> descending_;
  double spread_;
};

double log_of_rank(std::size_t rank) { return log_double(1.0 + static_cast<double>(rank)); }

}  // namespace

CandidateFeatures trusting_weights() {
  CandidateFeatures weights{};
  weights[kConstant] = -1;
  weights[kLogProbability] = 1;
  weights[kCosineGap] = 3;
  return weights;
}

/// The divisors scale the features so that learnt weights are of the order of 1.
void describe(std::span<const Candidate> candidates, std::size_t n_first, bool is_signed,
              std::vector<CandidateFeatures>& described) {
  described.assign(candidates.size(), {});
  if (candidates.empty()) {
    return;
  }
  std::vector<Logs> all_logs(candidates.size());
  std::transform(candidates.begin(), candidates.end(), all_logs.begin(), [&](const Candidate& candidate) {
    return logs_of(candidate, is_signed ? kLeastSignedCosine : kLeastSimilarity);
  });
  const Logs best = best_of(std::span<const Logs>(all_logs).first(n_first));
  const Cosines cosines(candidates.first(n_first));
  std::uint32_t most_examples = 0;
  for (const Candidate& candidate : candidates.first(n_first)) {
    most_examples = std::max(most_examples, candidate.count);
  }
  const double gap_scale = is_signed ? kFewExamples / (kFewExamples + most_examples) : 1.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [label, probability, similarity, count, n_since, votes] = candidates[i];
    const Logs& logs = all_logs[i];
    CandidateFeatures& x = described[i];
    x[kConstant] = 1.0;
    x[kLogProbability] = logs.probability / 4;
    x[kLogOdds] = (logs.probability - log_at_least(kLeastDoubt, 1.0 - probability)) / 4;
    x[kProbability] = probability;
    x[kProbabilityGap] = (logs.probability - best.probability) / 4;
    x[kTreeRank] = log_of_rank(i) / 2;
    x[kLogCosine] = logs.cosine;
    x[kCosine] = 4.0 * similarity.cosine;
    x[kCosineGap] = (logs.cosine - best.cosine) * gap_scale;
    x[kCosineDeviations] = cosines.deviations(similarity.cosine) / 2;
    x[kCosineRank] = log_of_rank(cosines.rank(similarity.cosine)) / 2;
    x[kLogCoverage] = logs.coverage;
    x[kCoverageGap] = logs.coverage - best.coverage;
    x[kLogMeanShare] = logs.mean_share / 4;
    x[kMeanShareGap] = (logs.mean_share - best.mean_share) / 2;
    x[kLogLargestShare] = log_at_least(kLeastLargestShare, similarity.largest_share) / 4;
    x[kLogCount] = log_at_least(1.0, count) / 4;
    x[kLogSince] = log_double(1.0 + static_cast<double>(n_since)) / 4;
    x[kVoteShare] = votes.share;
    x[kVoteNearness] = 2.0 * votes.nearness;
  }
}

}  // namespace oplt

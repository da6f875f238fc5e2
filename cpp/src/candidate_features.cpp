// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/candidate_features.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oplt/math.hpp"

namespace oplt {

namespace {

// Below, logarithms would say more than is known.
constexpr double kLeastProbability = 1e-9;
constexpr double kLeastSimilarity = 1e-3;
constexpr double kLeastShare = 1e-6;

double log_at_least(double least, double x) { return log_double(std::max(least, x)); }

/// The logarithms that are compared between candidates.
struct Logs {
  double probability;
  double cosine;
  double coverage;
  double mean_share;
};

Logs logs_of(const Candidate& candidate) {
  return {log_at_least(kLeastProbability, candidate.probability),
          log_at_least(kLeastSimilarity, candidate.similarity.cosine),
          log_at_least(kLeastSimilarity, candidate.similarity.coverage),
          log_at_least(kLeastShare, candidate.similarity.mean_share)};
}

/// The largest of each.
Logs best_of(std::span<const Logs> logs) {
  Logs best = logs[0];
  for (const Logs& other : logs) {
    best = {std::max(best.probability, other.probability), std::max(best.cosine, other.cosine),
            std::max(best.coverage, other.coverage), std::max(best.mean_share, other.mean_share)};
  }
  return best;
}

/// How the cosines of all candidates lie.
struct Cosines {
  std::vector<std::size_t> ranks;
  double best;
  double spread;  // standard deviation

  explicit Cosines(std::span<const Candidate> candidates) : ranks(candidates.size()) {
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Real cosine_a = candidates[a].similarity.cosine;
      const Real cosine_b = candidates[b].similarity.cosine;
      return cosine_a != cosine_b ? cosine_a > cosine_b : a < b;
    });
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      ranks[order[rank]] = rank;
      const double cosine = candidates[order[rank]].similarity.cosine;
      sum += cosine;
      squares += cosine * cosine;
    }
    const auto n = static_cast<double>(order.size());
    best = candidates[order[0]].similarity.cosine;
    spread = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  }
};

double log_of_rank(std::size_t rank) { return log_double(1.0 + static_cast<double>(rank)); }

}  // namespace

CandidateFeatures trusting_weights() {
  CandidateFeatures weights{};
  weights[0] = -1;
  weights[1] = 1;
  weights[7] = 3;
  return weights;
}

/// Divisors are such that weights are of the order of 1.
void describe(std::span<const Candidate> candidates, std::vector<CandidateFeatures>& described) {
  described.clear();
  if (candidates.empty()) {
    return;
  }
  std::vector<Logs> all_logs(candidates.size());
  std::transform(candidates.begin(), candidates.end(), all_logs.begin(), logs_of);
  const Logs best = best_of(all_logs);
  const Cosines cosines(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const Logs& logs = all_logs[i];
    const double p = candidate.probability;
    const double cosine = candidate.similarity.cosine;
    described.push_back({
        1.0,
        logs.probability / 4,
        (logs.probability - log_at_least(1e-6, 1.0 - p)) / 4,
        logs.cosine,
        4 * cosine,
        log_at_least(1.0, candidate.count) / 4,
        (logs.probability - best.probability) / 4,
        logs.cosine - best.cosine,
        p,
        (cosine - cosines.best) / (cosines.spread + 1e-3) / 2,
        log_of_rank(i) / 2,
        log_of_rank(cosines.ranks[i]) / 2,
        logs.coverage,
        logs.coverage - best.coverage,
        logs.mean_share / 4,
        (logs.mean_share - best.mean_share) / 2,
        log_at_least(1e-4, candidate.similarity.largest_share) / 4,
        log_double(1.0 + static_cast<double>(candidate.n_since)) / 4,
    });
  }
}

}  // namespace oplt

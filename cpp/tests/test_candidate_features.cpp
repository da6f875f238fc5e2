// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "check.hpp"
#include "ranking/candidate_features.hpp"

using namespace oplt;

namespace {

/// Two labels, neither of which is better in all respects.
std::vector<Candidate> two_candidates() {
  return {{0, 0.5F, {0.1F, 0.2F, 0.3F, 0.4F}, 8, 100}, {1, 0.1F, {0.6F, 0.9F, 0.01F, 0.02F}, 1, 3}};
}

std::vector<CandidateFeatures> described(const std::vector<Candidate>& candidates, std::size_t n_first) {
  std::vector<CandidateFeatures> result(7);  // old content is discarded
  describe(candidates, n_first, false, result);
  return result;
}

std::vector<CandidateFeatures> described(const std::vector<Candidate>& candidates) {
  return described(candidates, candidates.size());
}

double score(const CandidateFeatures& features) {
  const CandidateFeatures weights = trusting_weights();
  double sum = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    sum += weights[i] * features[i];
  }
  return sum;
}

}  // namespace

TEST("gaps are 0 for the best candidate of each measure and negative for others") {
  const auto features = described(two_candidates());
  CHECK_EQ(features.size(), 2U);
  for (const std::size_t gap : {kProbabilityGap, kMeanShareGap}) {  // by probability and by share, the first is best
    CHECK_EQ(features[0][gap], 0.0);
    CHECK(features[1][gap] < 0);
  }
  for (const std::size_t gap : {kCosineGap, kCosineDeviations, kCoverageGap}) {  // by cosine and coverage, the second
    CHECK(features[0][gap] < 0);
    CHECK_EQ(features[1][gap], 0.0);
  }
  CHECK_EQ(features[0][kTreeRank], 0.0);  // ranks
  CHECK_EQ(features[1][kCosineRank], 0.0);
  CHECK(features[1][kTreeRank] > 0 && features[0][kCosineRank] > 0);
  CHECK(features[0][kLogSince] > features[1][kLogSince]);  // the first was last seen long ago
}

TEST("further candidates are compared with the first ones, whose features do not depend on them") {
  auto candidates = two_candidates();
  const auto alone = described(candidates);
  candidates.push_back({2, 0.9F, {0.8F, 1.0F, 0.5F, 0.4F}, 8, 100});
  const auto features = described(candidates, 2);
  CHECK_EQ(features[0], alone[0]);
  CHECK_EQ(features[1], alone[1]);
  CHECK(features[2][kProbabilityGap] > 0 && features[2][kCosineGap] > 0);  // better than the best of the first
  CHECK_EQ(features[2][kCosineRank], 0.0);
  CHECK(described(candidates)[0] != alone[0]);
}

TEST("features are finite even if measures are 0 or 1") {
  for (const Real p : {Real{0}, Real{1}}) {
    for (const auto& features : described({{0, p, {p, p, p, p}, 0, 0}, {1, p, {-p, p, p, p}, 4'000'000'000U, ~0ULL}})) {
      CHECK(
          std::all_of(features.begin(), features.end(), [](double x) { return std::isfinite(x) && std::abs(x) < 25; }));
    }
  }
  CHECK(described({}).empty());
}

TEST("by the prior, a label that tree and memory consider more probable has a higher score") {
  auto candidates = two_candidates();
  CHECK(score(described(candidates)[1]) > score(described(candidates)[0]));  // the memory is trusted more
  candidates[1].similarity = candidates[0].similarity;
  CHECK(score(described(candidates)[0]) > score(described(candidates)[1]));
}

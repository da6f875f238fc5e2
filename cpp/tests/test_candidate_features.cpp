// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "oplt/candidate_features.hpp"
#include "oplt/math.hpp"

using namespace oplt;

namespace {

/// Two labels of which neither is better in everything.
std::vector<Candidate> two_candidates() {
  return {{0, 0.5F, {0.1F, 0.2F, 0.3F, 0.4F}, 8, 100}, {1, 0.1F, {0.6F, 0.9F, 0.01F, 0.02F}, 1, 3}};
}

std::vector<CandidateFeatures> described(const std::vector<Candidate>& candidates) {
  std::vector<CandidateFeatures> result(7);  // what was there goes
  describe(candidates, result);
  return result;
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
  for (const std::size_t gap : {6U, 15U}) {  // by probability and by share, the first is best
    CHECK_EQ(features[0][gap], 0.0);
    CHECK(features[1][gap] < 0);
  }
  for (const std::size_t gap : {7U, 9U, 13U}) {  // by cosine and coverage, the second
    CHECK(features[0][gap] < 0);
    CHECK_EQ(features[1][gap], 0.0);
  }
  CHECK_EQ(features[0][10], 0.0);  // ranks
  CHECK_EQ(features[1][11], 0.0);
  CHECK(features[1][10] > 0 && features[0][11] > 0);
  CHECK(features[0][17] > features[1][17]);  // the first was last seen long ago
}

TEST("whatever is 0 or 1 has finite features") {
  for (const Real p : {Real{0}, Real{1}}) {
    for (const auto& features : described({{0, p, {p, p, p, p}, 0, 0}, {1, p, {-p, p, p, p}, 4'000'000'000U, ~0ULL}})) {
      CHECK(
          std::all_of(features.begin(), features.end(), [](double x) { return std::isfinite(x) && std::abs(x) < 25; }));
    }
  }
  CHECK(described({}).empty());
}

TEST("before anything was observed, a label that tree and memory hold for more probable is") {
  auto candidates = two_candidates();
  CHECK(score(described(candidates)[1]) > score(described(candidates)[0]));  // the memory is trusted more
  candidates[1].similarity = candidates[0].similarity;
  CHECK(score(described(candidates)[0]) > score(described(candidates)[1]));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "check.hpp"
#include "tree/label_vectors.hpp"

using namespace oplt;

namespace {

std::map<FeatureId, Real> as_map(RowView row) {
  std::map<FeatureId, Real> result;
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(result.emplace(row.features[i], row.values[i]).second);
  }
  return result;
}

}  // namespace

TEST("a sparse sum adds, lists its features, and is cleared") {
  const std::vector<FeatureId> one{4, 1};
  const std::vector<FeatureId> other{1, 2};
  const std::vector<Real> values{2, 3};
  SparseSum sum(5);
  for (int round = 0; round < 2; ++round) {
    sum.add({one, values});
    sum.add({other, values});
    CHECK_EQ(std::vector(sum.features().begin(), sum.features().end()), (std::vector<FeatureId>{4, 1, 2}));
    CHECK_EQ(sum[4], 2.0);
    CHECK_EQ(sum[1], 5.0);
    CHECK_EQ(sum[2], 3.0);
    CHECK_EQ(sum[0], 0.0);
    sum.clear();
    CHECK(sum.features().empty());
    CHECK_EQ(sum[1], 0.0);
  }
}

TEST("a label's vector is the sum of its unit examples, itself of norm 1") {
  // Rows (3, 4), (0, 2), none; labels {7, 9, 9}, {9}, {5}.
  const std::vector<std::int64_t> x_bounds{0, 2, 3, 3};
  const std::vector<std::int32_t> features{10, 20, 20};
  const std::vector<Real> values{3, 4, 2};
  const std::vector<std::int64_t> y_bounds{0, 3, 4, 5};
  const std::vector<std::int32_t> names{9, 7, 9, 9, 5};
  Vocabulary labels;
  const LabelVectors vectors({{x_bounds}, {.names = {}, .numbers = features}, values},
                             {{y_bounds}, {.names = {}, .numbers = names}}, labels);
  CHECK_EQ(vectors.n_labels(), 3U);
  CHECK_EQ(vectors.n_features(), 2U);
  const auto seven = as_map(vectors[labels.find({.text = {}, .number = 7})]);
  CHECK_EQ(seven, (std::map<FeatureId, Real>{{0, 0.6F}, {1, 0.8F}}));
  const auto nine = as_map(vectors[labels.find({.text = {}, .number = 9})]);  // (0.6, 1.8), which has norm sqrt(3.6)
  CHECK(std::abs(nine.at(0) - 0.6 / std::sqrt(3.6)) < 1e-6);
  CHECK(std::abs(nine.at(1) - 1.8 / std::sqrt(3.6)) < 1e-6);
  CHECK_EQ(vectors[labels.find({.text = {}, .number = 5})].size(), 0U);
}

TEST("an exception from poll ends the work, both on rows and on sums") {
  const std::size_t n_rows = 3;
  const std::size_t row_size = WorkMeter::kCheckEvery;  // so that each row counts as enough work for a poll
  const std::vector<std::int64_t> x_bounds{0, row_size, 2 * row_size, 3 * row_size};
  std::vector<std::int32_t> features;
  for (std::size_t i = 0; i < n_rows * row_size; ++i) {
    features.push_back(static_cast<std::int32_t>(i % row_size));
  }
  const std::vector<Real> values(features.size(), 1);
  const std::vector<std::int64_t> y_bounds{0, 1, 2, 3};
  const std::vector<std::int32_t> names{1, 2, 3};
  for (const int last : {1, 5}) {
    int polls = 0;
    const auto poll = [&] {
      if (++polls == last) {
        throw InvalidInput("stop");
      }
    };
    Vocabulary labels;
    CHECK_THROWS_WITH(InvalidInput, "stop",
                      LabelVectors({{x_bounds}, {.names = {}, .numbers = features}, values},
                                   {{y_bounds}, {.names = {}, .numbers = names}}, labels, poll));
    CHECK_EQ(polls, last);
  }
}

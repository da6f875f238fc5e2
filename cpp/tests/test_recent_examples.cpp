// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "check.hpp"
#include "helpers.hpp"
#include "ranking/recent_examples.hpp"

using namespace oplt;

namespace {

constexpr std::uint32_t kFeaturesKept = 64;

/// A memory and recent examples that learn from the same stream, as in a ranker.
struct Both {
  LabelMemory memory{kFeaturesKept};
  RecentExamples recent;

  void learn(const test::StreamExample& example) {
    std::vector<LabelId> labels = example.labels;
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    memory.learn(example.row(), labels, 1);
    recent.learn(example.row(), labels, memory);
  }

  RecentExamples::Nearest nearest(const test::StreamExample& example, const std::vector<LabelId>& labels) const {
    RecentExamples::Nearest nearest;
    recent.find_nearest(example.row(), labels, memory, nearest);
    return nearest;
  }
};

struct SavedCell {
  FeatureId feature;
  Real value;
};

RecentExamples opened(const std::vector<std::byte>& file) {
  return RecentExamples::load(test::read_arrays(file), "thing");
}

test::StreamExample point(Real x, Real y, std::vector<LabelId> labels) {
  return {{0, 1, kBiasFeature}, {x, y, 1}, std::move(labels), 1};
}

}  // namespace

TEST("the nearest examples vote for their labels") {
  Both both;
  both.learn(point(1, 0, {0}));
  both.learn(point(0.9F, 0.1F, {0, 1}));
  both.learn(point(0, 1, {2}));
  both.learn(point(-1, 0, {3}));  // further away than any direction in common
  const auto nearest = both.nearest(point(1, 0.01F, {}), {0, 1, 2, 3});
  const Votes of_0 = both.recent.votes(0, nearest);
  const Votes of_1 = both.recent.votes(1, nearest);
  const Votes of_2 = both.recent.votes(2, nearest);
  const Votes of_3 = both.recent.votes(3, nearest);
  CHECK_EQ(of_0.nearness, 1);
  CHECK(of_0.nearness > of_1.nearness && of_1.nearness > of_2.nearness && of_2.nearness > 0);
  CHECK_EQ(of_3.nearness, 0);
  CHECK(of_0.share > of_1.share && of_1.share > of_2.share && of_2.share > 0);
  CHECK(std::abs(of_0.share + of_2.share - 1) < 1e-6F);
  CHECK_EQ(of_3.share, 0);
}

TEST("only examples of the given labels are compared with the row") {
  Both both;
  both.learn(point(1, 0, {0}));
  both.learn(point(0.5F, 0.5F, {1}));
  const auto nearest = both.nearest(point(1, 0, {}), {1});
  CHECK_EQ(both.recent.votes(0, nearest).share, 0);
  CHECK_EQ(both.recent.votes(1, nearest).nearness, 1);
  CHECK(both.nearest(point(1, 0, {}), {7}).size() == 0);
}

TEST("a label keeps its latest examples, and an example is kept as long as a label keeps it") {
  Both both;
  both.learn(point(0, 1, {0, 1}));  // the oldest of label 0, the only one of label 1
  for (std::size_t i = 0; i < RecentExamples::kMostOfLabel; ++i) {
    both.learn(point(1, 0, {0}));
  }
  CHECK_EQ(both.recent.size(), RecentExamples::kMostOfLabel + 1);
  CHECK_EQ(both.recent.votes(0, both.nearest(point(0, 1, {}), {1})).nearness, 1);  // it still has label 0
  CHECK(both.nearest(point(0, 1, {}), {0}).size() == 0);
  for (std::size_t i = 0; i < RecentExamples::kMostOfLabel; ++i) {
    both.learn(point(0.5F, 0.5F, {1}));
  }
  CHECK_EQ(both.recent.size(), 2 * RecentExamples::kMostOfLabel);
}

/// An example of one label of ten with a few of n features.
test::StreamExample with_features_of(std::uint32_t n, Random& random) {
  test::StreamExample example{{}, {}, {random.below(10)}, 1};
  std::set<FeatureId> features;
  while (features.size() < 20) {
    features.insert(random.below(n));
  }
  example.features.assign(features.begin(), features.end());
  example.values.assign(features.size(), 1);
  return example;
}

TEST("the more features, the less votes count; with many features, examples are forgotten") {
  const auto votes_among = [](std::uint32_t n_features) {
    Both both;
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
      both.learn(with_features_of(n_features, random));
    }
    const test::StreamExample like_one = with_features_of(n_features, random);
    both.learn(like_one);
    both.recent.check(both.memory);
    return both.recent.votes(like_one.labels[0], both.nearest(like_one, like_one.labels)).nearness;
  };
  CHECK_EQ(votes_among(500), 1);
  CHECK(votes_among(1'500) > 0.2F && votes_among(1'500) < 0.8F);
  CHECK_EQ(votes_among(3'000), 0);
}

TEST("rare features beside a few frequent ones do not count as many") {
  Both both;
  for (FeatureId i = 0; i < 5000; ++i) {
    both.learn({{0, 1, 2 + i, kBiasFeature}, {1, 1, 0.3F, 1}, {i % 10}, 1});
  }
  CHECK_EQ(both.recent.size(), 10 * RecentExamples::kMostOfLabel);
}

TEST("long examples keep their heaviest features, and extreme values are no problem") {
  Both both;
  test::StreamExample wide{{}, {}, {0}, 1};
  for (FeatureId feature = 0; feature < 200; ++feature) {
    wide.features.push_back(feature);
    wide.values.push_back(feature == 150 ? 1e30F : 1e-3F);
  }
  both.learn(wide);
  const auto of_heavy = both.nearest({{150}, {1e38F}, {}, 1}, {0});
  CHECK(std::abs(both.recent.votes(0, of_heavy).share - 1) < 1e-6F);
  const auto of_light = both.nearest({{199}, {1e-38F}, {}, 1}, {0});
  CHECK(of_light.size() == 0);
  both.learn({{3}, {0}, {0}, 1});  // a row of norm 0
  CHECK(both.nearest({{3}, {0}, {}, 1}, {0}).size() == 0);
}

TEST("loaded examples go on as if never saved") {
  Both both;
  const auto stream = test::random_stream(5, 400);
  for (std::size_t i = 0; i < 300; ++i) {
    both.learn(stream[i]);
  }
  Both other = both;
  other.recent = opened(test::saved_bytes(both.recent));
  other.recent.check(other.memory);
  for (std::size_t i = 300; i < stream.size(); ++i) {
    both.learn(stream[i]);
    other.learn(stream[i]);
  }
  CHECK(test::saved_bytes(both.recent) == test::saved_bytes(other.recent));
  both.recent.check(both.memory);
}

TEST("damaged examples are refused") {
  Both both;
  both.learn(point(1, 0, {0}));
  both.learn(point(0, 1, {0, 1}));
  for (std::size_t i = 1; i < RecentExamples::kMostOfLabel; ++i) {
    both.learn(point(1, 1, {0}));  // finally, the first slot is free
  }
  const auto file = test::saved_bytes(both.recent);
  const auto refuses = [&](std::string_view name, std::size_t i, auto value, const char* why) {
    const RecentExamples damaged = opened(test::with_value(file, name, i, value));
    CHECK_THROWS_WITH(FormatError, why, damaged.check(both.memory));
  };
  refuses("thing/cells/values", 1, SavedCell{99, 1.0F}, "unknown feature");
  refuses("thing/cells/values", 1, SavedCell{1, std::nanf("")}, "not a number");
  refuses("thing/cells/values", 1, SavedCell{1, 2.0F}, "too large");
  refuses("thing/labels/values", 0, LabelId{1}, "out of order");
  refuses("thing/labels/values", 1, LabelId{9}, "unknown");
  refuses("thing/latest/values", 5, std::uint32_t{5000}, "another label");
  refuses("thing/latest/values", 5, std::uint32_t{0}, "another label");  // a free slot
  refuses("thing/latest/values", 5, std::uint32_t{6}, "wrong number of labels");
  refuses("thing/trust", 0, 2.0, "between 0 and 1");
  refuses("thing/trust", 0, std::nan(""), "between 0 and 1");
  refuses("thing/trust", 0, 0.0, "do not count");
  refuses("thing/n_users", 1, std::uint32_t{7}, "wrong number of labels");
  refuses("thing/free", 0, std::uint32_t{1}, "not free");
  refuses("thing/free", 0, std::uint32_t{5000}, "not free");
  const auto no_free = opened(test::with_array<std::uint32_t>(file, "thing/free", {}));
  CHECK_THROWS_WITH(FormatError, "no labels", no_free.check(both.memory));
  const LabelMemory unrelated(kFeaturesKept);
  CHECK_THROWS(FormatError, opened(file).check(unrelated));
}

TEST("whatever passes the check does no harm") {
  Both both;
  for (const test::StreamExample& example : test::random_stream(5, 40)) {
    both.learn(example);
  }
  const int n_used = test::n_harmless(test::saved_bytes(both.recent), 2000, [&](const std::vector<std::byte>& file) {
    Both other = both;
    other.recent = opened(file);
    other.recent.check(other.memory);
    for (const test::StreamExample& example : test::random_stream(6, 100)) {
      const auto nearest = other.nearest(example, {0, 1, 2, 3});
      const Votes votes = other.recent.votes(1, nearest);
      CHECK(votes.share >= 0 && votes.share <= 1.001F && votes.nearness >= 0 && votes.nearness <= 1);
      other.learn(example);
    }
    other.recent.check(other.memory);
  });
  CHECK(n_used > 20);
}

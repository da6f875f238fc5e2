// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "check.hpp"
#include "helpers.hpp"
#include "learners.hpp"
#include "ranking/label_ranker.hpp"

using namespace oplt;

namespace {

constexpr std::uint32_t kFeaturesKept = 64;

/// A forest of one tree and a ranker that learn from the same stream, as in a model.
struct Both {
  test::OnlineForest forest{test::make_params()};
  LabelRanker ranker{kFeaturesKept};

  void learn(const test::StreamExample& example) {
    if (LabelRanker::observes(forest->n_examples())) {
      ranker.observe(*forest, nullptr, example.view());
    }
    forest.learn(example);
    const Example next = example.view();
    ranker.remember({&next, 1});
  }

  std::vector<ScoredLabel> rank(const test::StreamExample& example, std::size_t k, Real threshold = 0) const {
    SearchParams params;
    params.top_k = k;
    params.threshold = threshold;
    LabelRanker::Scratch scratch;
    const RowView x = example.row();
    return ranker.rank(*forest, {&x, 1}, params, scratch)[0];
  }
};

std::vector<test::StreamExample> sorted_labels(std::vector<test::StreamExample> stream) {
  for (test::StreamExample& example : stream) {
    std::sort(example.labels.begin(), example.labels.end());
    example.labels.erase(std::unique(example.labels.begin(), example.labels.end()), example.labels.end());
  }
  return stream;
}

}  // namespace

TEST("a ranking has the requested labels, most probable first") {
  Both both;
  CHECK(both.rank(test::random_stream(1, 1)[0], 5).empty());
  for (const test::StreamExample& example : sorted_labels(test::random_stream(1, 500))) {
    both.learn(example);
  }
  for (const test::StreamExample& example : test::random_stream(2, 50)) {
    const auto five = both.rank(example, 5);
    CHECK_EQ(five.size(), 5U);
    CHECK(std::is_sorted(five.begin(), five.end(),
                         [](const auto& a, const auto& b) { return a.probability > b.probability; }));
    CHECK(five.front().probability <= 1 && five.back().probability >= 0);
    const auto three = both.rank(example, 3);
    CHECK(std::equal(three.begin(), three.end(), five.begin()));
    for (const ScoredLabel& found : both.rank(example, 0, 0.2F)) {
      CHECK(found.probability >= 0.2F);
    }
  }
}

TEST("the best ten labels do not depend on k") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(1, 1500))) {
    both.learn(example);
  }
  std::size_t n_more = 0;
  for (const test::StreamExample& example : test::random_stream(2, 50)) {
    const auto ten = both.rank(example, 10);
    for (const std::size_t k : {1U, 5U, 11U, 50U, 0U}) {
      const auto found = both.rank(example, k);
      CHECK(std::equal(ten.begin(), ten.begin() + static_cast<std::ptrdiff_t>(std::min(ten.size(), k > 0 ? k : 10)),
                       found.begin()));
      CHECK(std::is_sorted(found.begin(), found.end(),
                           [](const auto& a, const auto& b) { return a.probability > b.probability; }));
      n_more += found.size() > 40 ? 1 : 0;
    }
  }
  CHECK(n_more > 50);
}

TEST("if each example has one label, probabilities sum to about 1") {
  Both both;
  Random random(1);
  const auto example_of = [](LabelId label) {  // similar to those of another label
    return test::StreamExample{{label / 2, 100, kBiasFeature}, {1, 0.5F, 1}, {label}, 1};
  };
  for (LabelId i = 0; i < 2000; ++i) {
    both.learn(example_of(i < 40 ? i : random.below(40)));
  }
  double sum = 0;
  for (LabelId label = 0; label < 40; ++label) {
    const auto found = both.rank(example_of(label), 10);
    CHECK(found[0].label / 2 == label / 2 && found[1].label / 2 == label / 2);
    CHECK(found[1].probability > 0.3F && found[2].probability < 0.1F);
    for (const ScoredLabel& each : found) {
      sum += each.probability;
    }
  }
  CHECK(sum > 0.9 * 40 && sum < 1.1 * 40);
}

TEST("a label is found after a single example") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(4, 300))) {
    both.learn(example);
  }
  const LabelId newest = both.forest->first().n_labels();
  const test::StreamExample rare{{5000, 5001, kBiasFeature}, {0.8F, 0.6F, 1}, {newest}, 1};
  both.learn(rare);
  CHECK_EQ(both.rank(rare, 1)[0].label, newest);
}

TEST("the fraction of observed examples decreases from one in 2 to one in 64, and they come in runs") {
  const auto n_observed = [](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t n = 0;
    for (std::uint64_t number = begin; number < end; ++number) {
      n += LabelRanker::observes(number) ? 1 : 0;
    }
    return n;
  };
  CHECK_EQ(n_observed(0, 32), 32U);
  CHECK_EQ(n_observed(0, 1024), 512U);
  CHECK_EQ(n_observed(8192, 16384), 512U);
  for (std::uint64_t begin = 32768; begin < 1'000'000; begin += 2048) {
    CHECK_EQ(n_observed(begin, begin + 2048), 32U);
    CHECK_EQ(n_observed(begin, begin + 32), 32U);
  }
}

TEST("the weight of the base rates is not updated while it is at its bound") {
  constexpr std::size_t kRare = 2;  // the weights of the log-odds of the base rate, times the thinness and its square
  constexpr std::size_t kSquareRare = 5;
  Both both;
  auto file = test::with_value(test::saved_bytes(both.ranker), "thing/calibration/doubt", kRare, -5.0);
  file = test::with_value(file, "thing/calibration/doubt", kSquareRare, 0.0);
  both.ranker = LabelRanker::load(test::read_arrays(file), "thing", kFeaturesKept);
  for (const test::StreamExample& example : sorted_labels(test::random_stream(8, 500))) {
    both.learn(example);
  }
  const auto learnt = test::saved_bytes(both.ranker);
  const Buffer<double> doubt = test::read_arrays(learnt).get<double>("thing/calibration/doubt");
  CHECK_EQ(doubt[kRare], -5.0);
  CHECK_EQ(doubt[kSquareRare], 0.0);
  CHECK(doubt[0] != 0.0);  // the other weights are updated
}

TEST("rankings are sorted, whatever weights a file contains") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(6, 300))) {
    both.learn(example);
  }
  std::vector<std::byte> file = test::saved_bytes(both.ranker);
  for (std::size_t model = 0; model < 5; ++model) {  // the largest that pass the check
    const std::string name = "thing/models/" + std::to_string(model);
    file = test::with_value(file, name, kLogProbability, 1e9);
    file = test::with_value(file, name, kLogCosine, -1e9);
  }
  both.ranker = LabelRanker::load(test::read_arrays(file), "thing", kFeaturesKept);
  both.ranker.check({LabelMemory::kAll, LabelMemory::kAll, ~0ULL});
  for (const test::StreamExample& example : test::random_stream(7, 20)) {
    const auto found = both.rank(example, 30);
    CHECK_EQ(found.size(), 30U);
    CHECK(std::all_of(found.begin(), found.end(), [](const auto& label) { return label.probability <= 1; }));
  }
}

TEST("a loaded ranker continues identically; a copy does not change") {
  constexpr LabelMemory::Limits kNoLimits = {LabelMemory::kAll, LabelMemory::kAll, ~0ULL};
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(6, 300))) {
    both.learn(example);
  }
  both.ranker.check(kNoLimits);
  const auto file = test::saved_bytes(both.ranker);
  LabelRanker loaded = LabelRanker::load(test::read_arrays(file), "thing", kFeaturesKept);
  loaded.check(kNoLimits);
  CHECK(test::saved_bytes(loaded) == file);
  const LabelRanker copy = both.ranker;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(7, 60))) {
    const Example next = example.view();
    for (LabelRanker* const ranker : {&both.ranker, &loaded}) {
      ranker->observe(*both.forest, nullptr, next);
      ranker->remember({&next, 1});
    }
  }
  CHECK(test::saved_bytes(both.ranker) != file);
  CHECK(test::saved_bytes(loaded) == test::saved_bytes(both.ranker));
  CHECK(test::saved_bytes(copy) == file);
  CHECK_THROWS_WITH(
      FormatError, "logistic",
      LabelRanker::load(test::read_arrays(test::with_value(file, "thing/models/3", 0, 1e308)), "thing", kFeaturesKept)
          .check(kNoLimits));
}

TEST("a filter changes neither the probability nor the order of the labels that it allows") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(1, 1500))) {
    both.learn(example);
  }
  std::vector<LabelId> allowed;
  for (LabelId label = 0; label < both.forest->first().n_labels(); label += 3) {
    allowed.push_back(label);
  }
  const LabelBook book = test::numbered_labels(both.forest->first().n_labels());
  const LabelFilter only(book, allowed, {}, both.forest->trees);
  const LabelFilter others(book, std::nullopt, allowed, both.forest->trees);
  LabelRanker::Scratch scratch;
  for (const test::StreamExample& example : test::random_stream(2, 50)) {
    const auto ten = both.rank(example, 10);
    for (const LabelFilter* filter : {&only, &others}) {
      for (const std::size_t k : {1U, 5U, 10U}) {
        const SearchParams params{.top_k = k, .threshold = 0, .beam = 0, .filter = filter};
        const RowView x = example.row();
        const auto found = both.ranker.rank(*both.forest, {&x, 1}, params, scratch)[0];
        CHECK_EQ(found.size(), k);
        auto expected = ten;  // whatever follows them is at most as probable
        std::erase_if(expected, [&](const ScoredLabel& each) { return !filter->allows(each.label); });
        expected.resize(std::min(k, expected.size()), {0, 0});
        CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
        CHECK(std::ranges::all_of(found, [&](const ScoredLabel& each) { return filter->allows(each.label); }));
        CHECK(std::is_sorted(found.begin(), found.end(),
                             [](const auto& a, const auto& b) { return a.probability > b.probability; }));
      }
    }
  }
  const test::StreamExample unknown{{9999, kBiasFeature}, {1, 1}, {}, 1};  // answered by base rates
  const RowView x = unknown.row();
  const SearchParams three{.top_k = 3, .threshold = 0, .beam = 0, .filter = &only};
  const auto found = both.ranker.rank(*both.forest, {&x, 1}, three, scratch)[0];
  CHECK(found.size() == 3 && std::ranges::all_of(found, [&](const auto& each) { return only.allows(each.label); }));
}

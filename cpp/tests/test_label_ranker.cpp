// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "check.hpp"
#include "helpers.hpp"
#include "ranking/label_ranker.hpp"

using namespace oplt;

namespace {

constexpr std::uint32_t kFeaturesKept = 64;

/// A forest of one tree and a ranker that learn from the same stream, as Model lets them.
struct Both {
  Forest forest{test::make_params()};
  LabelRanker ranker{kFeaturesKept};

  void learn(const test::StreamExample& example) {
    const Example next{example.row(), example.labels, example.weight};
    if (LabelRanker::observes(forest.n_examples())) {
      ranker.observe(forest, next);
    }
    forest.learn(1, [&](std::size_t) { return next; }, 1);
    ranker.learn(next);
  }

  std::vector<ScoredLabel> rank(const test::StreamExample& example, std::size_t k, Real threshold = 0) const {
    PredictParams params;
    params.top_k = k;
    params.threshold = threshold;
    LabelRanker::Scratch scratch;
    return ranker.rank(forest, example.row(), params, scratch);
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

TEST("an answer holds what was asked for, the most probable first") {
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

TEST("the best ten are the same however many are asked for") {
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

TEST("where each example has one label, probabilities sum up to about 1") {
  Both both;
  Random random(1);
  const auto example_of = [](LabelId label) {  // looks like those of another label, too
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

TEST("a label is found again after one example") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(4, 300))) {
    both.learn(example);
  }
  const LabelId newest = both.forest.n_labels();
  const test::StreamExample rare{{5000, 5001, kBiasFeature}, {0.8F, 0.6F, 1}, {newest}, 1};
  both.learn(rare);
  CHECK_EQ(both.rank(rare, 1)[0].label, newest);
}

TEST("ever fewer examples are observed, and they come in runs") {
  std::size_t n_observed = 0;
  std::size_t n_runs = 0;
  for (std::uint64_t number = 0; number < 1'000'000; ++number) {
    n_observed += LabelRanker::observes(number) ? 1 : 0;
    n_runs += LabelRanker::observes(number) && (number == 0 || !LabelRanker::observes(number - 1)) ? 1 : 0;
  }
  CHECK(LabelRanker::observes(0));
  CHECK(n_observed > 5'000 && n_observed < 20'000);
  CHECK(n_runs * 30 < n_observed);
}

TEST("saved and loaded, it goes on alike") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(6, 300))) {
    both.learn(example);
  }
  const std::vector<std::byte> saved = test::saved_bytes(both.ranker);
  Reader in(saved);
  LabelRanker loaded = LabelRanker::load(kFeaturesKept, {LabelMemory::kAll, LabelMemory::kAll, ~0ULL}, in);
  in.expect_end();
  CHECK_EQ(test::saved_bytes(loaded), saved);
  for (const test::StreamExample& example : sorted_labels(test::random_stream(7, 60))) {
    const Example next{example.row(), example.labels, example.weight};
    both.ranker.observe(both.forest, next);
    loaded.observe(both.forest, next);
  }
  CHECK(test::saved_bytes(both.ranker) != saved);
  CHECK_EQ(test::saved_bytes(loaded), test::saved_bytes(both.ranker));
}

TEST("whatever weights a file holds, an answer is in order") {
  Both both;
  for (const test::StreamExample& example : sorted_labels(test::random_stream(6, 300))) {
    both.learn(example);
  }
  std::vector<std::byte> saved = test::saved_bytes(both.ranker);
  std::size_t place = test::saved_bytes(both.ranker.memory()).size() + sizeof(std::uint64_t);  // the first weight
  for (std::size_t model = 0; model < 5; ++model) {
    test::overwrite(saved, place + kLogProbability * sizeof(double), 1e308);  // scores are infinity less infinity
    test::overwrite(saved, place + kLogCosine * sizeof(double), -1e308);
    place += (kCandidateFeatures + 1) * (kCandidateFeatures * sizeof(double) + sizeof(std::uint64_t));
  }
  Reader in(saved);
  both.ranker = LabelRanker::load(kFeaturesKept, {LabelMemory::kAll, LabelMemory::kAll, ~0ULL}, in);
  for (const test::StreamExample& example : test::random_stream(7, 20)) {
    const auto found = both.rank(example, 30);
    CHECK_EQ(found.size(), 30U);
    CHECK(std::all_of(found.begin(), found.end(), [](const auto& label) { return label.probability <= 1; }));
  }
}

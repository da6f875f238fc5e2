// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "learners.hpp"
#include "ranking/tree_calibration.hpp"

using namespace oplt;

namespace {

/// A forest and its calibration, which learn from the same stream, as in a model.
struct Both {
  explicit Both(std::uint32_t n_trees = 1) : forest(params_of(n_trees)) {}

  void learn(const std::vector<test::StreamExample>& stream) {
    for (const test::StreamExample& example : stream) {
      if (TreeCalibration::observes(forest->n_examples())) {
        calibration.observe(*forest, nullptr, example.view());
      }
      forest.learn(example);
    }
  }

  std::vector<ScoredLabel> search(const test::StreamExample& example, const SearchParams& params) const {
    SearchScratch scratch;
    const RowView x = example.row();
    return calibration.search(*forest, {&x, 1}, params, scratch)[0];
  }

  static ModelParams params_of(std::uint32_t n_trees) {
    ModelParams params = test::make_params(Policy::kBestGreedy, 3, 6);
    params.forest.trees = n_trees;
    return params;
  }

  test::OnlineForest forest;
  TreeCalibration calibration;
};

/// The labels are drawn at random, given a feature: no classifier can be right more often than this.
std::vector<test::StreamExample> noisy_stream(std::uint64_t seed, std::size_t n) {
  Random random(seed);
  std::vector<test::StreamExample> stream;
  for (std::size_t i = 0; i < n; ++i) {
    const FeatureId feature = random.below(20);
    const LabelId label = i < 40 ? static_cast<LabelId>(i) : (random.below(10) < 6 ? feature : 20 + random.below(20));
    stream.push_back({{feature, kBiasFeature}, {1, 1}, {label}, 1});
  }
  return stream;
}

}  // namespace

TEST("the calibration keeps the order of the trees") {
  for (const std::uint32_t n_trees : {1U, 3U}) {
    Both both(n_trees);
    CHECK(both.search(test::random_stream(1, 1)[0], {.top_k = 5}).empty());
    both.learn(test::random_stream(1, 600));
    for (const test::StreamExample& example : test::random_stream(2, 50)) {
      for (const SearchParams& params : {SearchParams{.top_k = 1}, SearchParams{.top_k = 10}, SearchParams{},
                                         SearchParams{.top_k = 10, .threshold = 0, .beam = 4}}) {
        SearchScratch scratch;
        const auto expected = both.forest->search(example.row(), params, scratch);
        const auto found = both.search(example, params);
        CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                         [](const auto& a, const auto& b) { return a.label == b.label; }));
        CHECK(std::is_sorted(found.begin(), found.end(),
                             [](const auto& a, const auto& b) { return a.probability > b.probability; }));
        CHECK(found.front().probability <= 1 && found.back().probability >= 0);
      }
    }
  }
}

TEST("a threshold finds exactly the labels whose calibrated probability reaches it") {
  Both both;
  both.learn(test::random_stream(3, 600));
  for (const test::StreamExample& example : test::random_stream(4, 50)) {
    const auto all = both.search(example, {});
    CHECK_EQ(all.size(), both.forest->first().n_labels());
    for (const Real threshold :
         {all[0].probability, all[3].probability, all[40].probability, 1e-30F, 0.01F, 0.3F, 1.0F}) {
      auto expected = all;
      std::erase_if(expected, [&](const ScoredLabel& label) { return label.probability < threshold; });
      CHECK(both.search(example, {.top_k = 0, .threshold = threshold}) == expected);
      expected.resize(std::min<std::size_t>(3, expected.size()));
      CHECK(both.search(example, {.top_k = 3, .threshold = threshold}) == expected);
    }
  }
}

TEST("probabilities are as often right as they say") {
  Both both;
  both.learn(noisy_stream(5, 4000));
  double sum = 0;
  double n_right = 0;
  for (const test::StreamExample& example : noisy_stream(6, 1040)) {
    const ScoredLabel best = both.search(example, {.top_k = 1})[0];
    sum += static_cast<double>(best.probability);
    n_right += best.label == example.labels[0] ? 1 : 0;
  }
  CHECK(n_right > 500);
  CHECK(std::abs(sum - n_right) < 0.1 * 1040);  // the latest 32 observed examples count most
}

TEST("one in the square root of all examples is observed") {
  std::size_t n_observed = 0;
  for (std::uint64_t number = 0; number < 1'000'000; ++number) {
    n_observed += TreeCalibration::observes(number) ? 1 : 0;
  }
  CHECK(TreeCalibration::observes(0) && TreeCalibration::observes(1));
  CHECK(n_observed > 2'000 && n_observed < 4'000);
}

TEST("a loaded calibration continues identically, and one that is not possible is rejected") {
  Both both;
  both.learn(test::random_stream(7, 300));
  const auto file = test::saved_bytes(both.calibration);
  const auto open = [](const std::vector<std::byte>& bytes) {
    TreeCalibration loaded = TreeCalibration::load(test::read_arrays(bytes), "thing");
    loaded.check(300);
    return loaded;
  };
  Both other;
  other.learn(test::random_stream(7, 300));
  other.calibration = open(file);
  CHECK(test::saved_bytes(other.calibration) == file);
  for (Both* each : {&both, &other}) {
    each->learn(test::random_stream(8, 100));
  }
  CHECK(test::saved_bytes(other.calibration) == test::saved_bytes(both.calibration));
  CHECK_THROWS_WITH(FormatError, "more examples than the model",
                    open(test::with_value(file, "thing/n_observed", 0, std::uint64_t{301})));
  CHECK_THROWS_WITH(FormatError, "weight", open(test::with_value(file, "thing/model", 0, std::nan(""))));
}

TEST("probabilities are sorted, whatever weights a file contains") {
  Both both;
  both.learn(test::random_stream(9, 300));
  const auto file = test::saved_bytes(both.calibration);
  for (const double weight : {1e9, -1e9}) {  // the largest that pass the check
    for (std::size_t i = 0; i < 3; ++i) {
      both.calibration =
          TreeCalibration::load(test::read_arrays(test::with_value(file, "thing/model", i, weight)), "thing");
      both.calibration.check(300);
      for (const test::StreamExample& example : test::random_stream(10, 5)) {
        const auto found = both.search(example, {});
        CHECK(std::is_sorted(found.begin(), found.end(),
                             [](const auto& a, const auto& b) { return a.probability > b.probability; }));
        CHECK(found.front().probability <= 1 && found.back().probability >= 0);
        CHECK(both.search(example, {.top_k = 0, .threshold = 0.5F}).size() <= found.size());
      }
    }
  }
}

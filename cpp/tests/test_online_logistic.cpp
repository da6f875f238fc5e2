// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>

#include "base/random.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "ranking/online_logistic.hpp"

using namespace oplt;

namespace {

using Model = OnlineLogistic<3>;

constexpr double kKeep = 0.999;
constexpr Model::Features kTrue = {-1, 3, -2};

double unit(Random& random) { return (static_cast<double>(random.below(20'001)) - 10'000) / 10'000; }

/// Two highly correlated features, and the target.
std::pair<Model::Features, bool> draw(Random& random) {
  const double a = 2 * unit(random);
  const Model::Features x = {1, a, a + 0.3 * unit(random)};
  double score = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    score += kTrue[i] * x[i];
  }
  return {x, random.below(1'000'000) < 1'000'000 / (1 + std::exp(-score))};
}

void update(Model& model, Random& random, std::size_t n_steps) {
  for (std::size_t i = 0; i < 10 * n_steps; ++i) {
    const auto [x, positive] = draw(random);
    model.observe(x, positive);
    if (i % 10 == 9) {
      model.step(kKeep);
    }
  }
}

}  // namespace

TEST("the true weights are found, although the features are correlated") {
  Random random(1);
  Model model({0, 0, 0});
  update(model, random, 3000);
  for (std::size_t i = 0; i < kTrue.size(); ++i) {
    CHECK(std::abs(model.weights()[i] - kTrue[i]) < 0.35);
  }
}

TEST("a wrong prior is overcome") {
  Random random(2);
  Model model({2, -2, 2});
  update(model, random, 3000);
  for (std::size_t i = 0; i < kTrue.size(); ++i) {
    CHECK(std::abs(model.weights()[i] - kTrue[i]) < 0.35);
  }
}

TEST("a step without observations changes nothing") {
  Model model({1, 2, 3});
  model.step(kKeep);
  CHECK_EQ(model.weights(), (Model::Features{1, 2, 3}));
}

TEST("a loaded model continues identically") {
  Model model({1, 2, 3});
  Random random(3);
  update(model, random, 50);
  const auto file = test::saved_bytes(model);
  Model loaded = Model::load(test::read_arrays(file), "thing");
  loaded.check();
  CHECK(test::saved_bytes(loaded) == file);
  Random again = random;
  update(model, random, 50);
  update(loaded, again, 50);
  CHECK_EQ(model.weights(), loaded.weights());
}

TEST("an array that is not a logistic model is rejected, or does not pass the check") {
  Model model({1, 2, 3});
  Random random(3);
  update(model, random, 50);
  const auto file = test::saved_bytes(model);
  const auto open = [](const std::vector<std::byte>& bytes) { return Model::load(test::read_arrays(bytes), "thing"); };
  CHECK_THROWS_WITH(FormatError, "11 values instead of 12",
                    open(test::with_array<double>(file, "thing", std::vector<double>(11))));
  for (const double value : {1e300, -1e300, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_WITH(FormatError, "weight", open(test::with_value(file, "thing", 2, value)).check());
    CHECK_THROWS_WITH(FormatError, "curvature", open(test::with_value(file, "thing", 3, value)).check());
    CHECK_THROWS_WITH(FormatError, "curvature", open(test::with_value(file, "thing", 4, value)).check());
  }
  for (const double value : {0.0, -1.0, 0.1}) {
    CHECK_THROWS_WITH(FormatError, "identity", open(test::with_value(file, "thing", 11, value)).check());
  }
  CHECK_THROWS_WITH(FormatError, "identity", open(test::with_value(file, "thing", 9, 1e6)).check());
}

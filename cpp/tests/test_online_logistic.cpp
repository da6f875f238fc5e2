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

/// Two features that differ by little, and the truth about them.
std::pair<Model::Features, bool> draw(Random& random) {
  const double a = 2 * unit(random);
  const Model::Features x = {1, a, a + 0.3 * unit(random)};
  double score = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    score += kTrue[i] * x[i];
  }
  return {x, random.below(1'000'000) < 1'000'000 / (1 + std::exp(-score))};
}

void teach(Model& model, Random& random, std::size_t n_steps) {
  for (std::size_t i = 0; i < 10 * n_steps; ++i) {
    const auto [x, positive] = draw(random);
    model.observe(x, positive);
    if (i % 10 == 9) {
      model.step();
    }
  }
}

}  // namespace

TEST("the weights behind a stream are found, although its features are alike") {
  Random random(1);
  Model model({0, 0, 0}, kKeep);
  teach(model, random, 3000);
  for (std::size_t i = 0; i < kTrue.size(); ++i) {
    CHECK(std::abs(model.weights()[i] - kTrue[i]) < 0.35);
  }
}

TEST("what was believed first and is wrong is given up") {
  Random random(2);
  Model model({2, -2, 2}, kKeep);
  teach(model, random, 3000);
  for (std::size_t i = 0; i < kTrue.size(); ++i) {
    CHECK(std::abs(model.weights()[i] - kTrue[i]) < 0.35);
  }
}

TEST("nothing observed, nothing changed; saved and loaded, it goes on alike") {
  Model model({1, 2, 3}, kKeep);
  model.step();
  CHECK_EQ(model.weights(), (Model::Features{1, 2, 3}));
  Random random(3);
  teach(model, random, 50);
  const std::vector<std::byte> saved = test::saved_bytes(model);
  Reader in(saved);
  Model loaded = Model::load(in, kKeep);
  Random again = random;
  teach(model, random, 50);
  teach(loaded, again, 50);
  CHECK_EQ(model.weights(), loaded.weights());
}

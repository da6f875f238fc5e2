// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "ranking/score_calibration.hpp"

using namespace oplt;

namespace {

using Judged = ScoreCalibration::Judged;

constexpr std::size_t kCandidates = 10;
constexpr double kBaseRate = 0.01;

double probability(double logit) { return 1 / (1 + std::exp(-logit)); }

/// A row with candidates 0 to 9 and random scores, best first.
struct Row {
  explicit Row(Random& random, double thinness = 0, double range = 4) {
    for (std::size_t i = 0; i < kCandidates; ++i) {
      scores.push_back(range * (random.below(2'000) / 1'000.0 - 1));
    }
    std::sort(scores.rbegin(), scores.rend());
    context = {.together = log_of_sum(scores), .thinness = thinness};
  }

  std::vector<Judged> judged(const ScoreCalibration& calibration) const {
    std::vector<Judged> all;
    for (LabelId label = 0; label < kCandidates; ++label) {
      all.push_back(calibration.judged(label, scores[label], kBaseRate, context));
    }
    return all;
  }

  std::vector<double> scores;
  ScoreCalibration::Context context;
};

}  // namespace

TEST("the sum of exponential scores does not overflow") {
  CHECK_EQ(log_of_sum({}), 0);
  CHECK(std::abs(log_of_sum(std::vector{0.0, 0.0}) - std::log(2)) < 1e-6);
  CHECK(std::abs(log_of_sum(std::vector{1000.0, 1000.0}) - 1000 - std::log(2)) < 1e-6);
}

// Either the labels of a row exclude each other, and one is drawn by its share, or each is drawn by its own score.
TEST("probabilities become right, whether rows have one label or several") {
  for (const bool has_one : {true, false}) {
    Random random(3);
    ScoreCalibration calibration;
    double error = 0;
    constexpr int kRows = 3000;
    for (int n = 0; n < kRows; ++n) {
      const Row row(random);
      std::vector<LabelId> labels;
      double left = random.below(1'000'000) / 1e6;
      const auto judged = row.judged(calibration);
      for (LabelId label = 0; label < kCandidates; ++label) {
        const double share = std::exp(row.scores[label] - row.context.together);
        const double own = has_one ? share : probability(row.scores[label]);
        if (n >= kRows / 2) {
          error += std::abs(probability(judged[label].logit) - own) / kCandidates;
        }
        if (has_one ? left >= 0 && left < share : random.below(1'000'000) / 1e6 < own) {
          labels.push_back(label);
        }
        left -= share;
      }
      calibration.learn(judged, labels, row.context);
    }
    CHECK(error / (kRows / 2.0) < 0.03);
  }
}

TEST("higher scores have higher probabilities, whatever was learnt") {
  Random random(4);
  ScoreCalibration calibration;
  for (int n = 0; n < 500; ++n) {
    const Row row(random, 0, 20);
    const auto judged = row.judged(calibration);
    for (std::size_t i = 1; i < kCandidates; ++i) {
      CHECK(std::abs(judged[i].logit) == 30 || judged[i - 1].logit > judged[i].logit ||
            row.scores[i - 1] == row.scores[i]);
    }
    calibration.learn(judged, std::vector<LabelId>{static_cast<LabelId>(kCandidates - 1)}, row.context);  // the worst
  }
}

TEST("the less is known about a row, the nearer its probabilities are to the base rates") {
  Random random(5);
  ScoreCalibration calibration;
  for (int n = 0; n < 1000; ++n) {
    const Row known(random);
    calibration.learn(known.judged(calibration), std::vector<LabelId>{0}, known.context);
    const Row thin(random, 0.9);
    const bool is_lucky = random.below(100) == 0;
    calibration.learn_doubt(thin.judged(calibration), is_lucky ? std::vector<LabelId>{0} : std::vector<LabelId>{},
                            thin.context);
  }
  Row row(random);
  CHECK(probability(row.judged(calibration)[0].logit) > 0.5);
  row.context.thinness = 0.9;
  CHECK(probability(row.judged(calibration)[0].logit) < 0.1);
}

TEST("a loaded calibration judges alike, and damage is refused") {
  Random random(6);
  ScoreCalibration calibration;
  for (int n = 0; n < 100; ++n) {
    const Row row(random, 0.5);
    calibration.learn(row.judged(calibration), std::vector<LabelId>{0}, row.context);
  }
  const auto file = test::saved_bytes(calibration);
  const ScoreCalibration loaded = ScoreCalibration::load(test::read_arrays(file), "thing");
  loaded.check();
  const Row row(random, 0.5);
  CHECK_EQ(loaded.judged(0, 1.0, kBaseRate, row.context).logit,
           calibration.judged(0, 1.0, kBaseRate, row.context).logit);
  for (const char* name : {"thing/usual", "thing/doubt"}) {
    const auto damaged = test::with_value(file, name, 0, std::nan(""));
    CHECK_THROWS(FormatError, ScoreCalibration::load(test::read_arrays(damaged), "thing").check());
  }
}

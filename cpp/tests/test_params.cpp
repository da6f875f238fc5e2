// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/params.hpp"
#include "check.hpp"
#include "helpers.hpp"

using oplt::BatchParams;
using oplt::InvalidParameter;
using oplt::Loss;
using oplt::loss_from_name;
using oplt::Policy;
using oplt::PredictParams;
using oplt::TrainParams;
using oplt::test::make_params;

namespace {

template <class Value, class Other>
TrainParams with(Value TrainParams::* member, Other value) {
  TrainParams params = make_params();
  params.*member = static_cast<Value>(value);
  return params;
}

}  // namespace

TEST("policies are found by name") {
  CHECK(oplt::policy_from_name("random") == Policy::kRandom);
  CHECK(oplt::policy_from_name("best-greedy") == Policy::kBestGreedy);
  CHECK(oplt::policy_from_name("best-greedy-printed") == Policy::kBestGreedyPrinted);
  CHECK(oplt::policy_from_name("complete") == Policy::kComplete);
  CHECK(oplt::policy_from_name("cpet") == Policy::kCpet);
  CHECK(oplt::policy_from_name("flat") == Policy::kFlat);
  CHECK(oplt::policy_from_name("fixed") == Policy::kFixed);
}

TEST("an unknown policy is told the names there are") {
  CHECK_THROWS_WITH(InvalidParameter, "'best-greedy-printed'", oplt::policy_from_name("greedy"));
  CHECK_THROWS_WITH(InvalidParameter, "got 'greedy'", oplt::policy_from_name("greedy"));
}

TEST("training settings at the ends of their ranges are accepted") {
  int n_accepted = 0;
  for (const TrainParams& params :
       {make_params(), with(&TrainParams::alpha, 0), with(&TrainParams::alpha, 1), with(&TrainParams::arity, 4),
        with(&TrainParams::learning_rate, 1e6), with(&TrainParams::adagrad_eps, 1e-30), with(&TrainParams::gate, 0)}) {
    params.validate();
    ++n_accepted;
  }
  CHECK_EQ(n_accepted, 7);
}

TEST("a training setting out of range is named with what was got") {
  CHECK_THROWS_WITH(InvalidParameter, "alpha", with(&TrainParams::alpha, -0.1).validate());
  CHECK_THROWS_WITH(InvalidParameter, "got 1.5", with(&TrainParams::alpha, 1.5).validate());
  CHECK_THROWS_WITH(InvalidParameter, "alpha", with(&TrainParams::alpha, NAN).validate());
  CHECK_THROWS_WITH(InvalidParameter, "arity must be at least 2, got 1", with(&TrainParams::arity, 1).validate());
  CHECK_THROWS_WITH(InvalidParameter, "max_leaves", with(&TrainParams::max_leaves, 1).validate());
  CHECK_THROWS_WITH(InvalidParameter, "chain", with(&TrainParams::arity, 5).validate());
  CHECK_THROWS_WITH(InvalidParameter, "learning_rate", with(&TrainParams::learning_rate, 0).validate());
  CHECK_THROWS_WITH(InvalidParameter, "learning_rate", with(&TrainParams::learning_rate, INFINITY).validate());
  CHECK_THROWS_WITH(InvalidParameter, "adagrad_eps", with(&TrainParams::adagrad_eps, 0).validate());
  CHECK_THROWS_WITH(InvalidParameter, "adagrad_eps", with(&TrainParams::adagrad_eps, NAN).validate());
  CHECK_THROWS_WITH(InvalidParameter, "gate", with(&TrainParams::gate, 0.5).validate());
  CHECK_THROWS_WITH(InvalidParameter, "gate", with(&TrainParams::gate, -0.1).validate());
}

TEST("what goes beyond the paper is refused where it would do nothing") {
  CHECK_THROWS_WITH(InvalidParameter, "trees must be at least 1, got 0", with(&TrainParams::trees, 0).validate());
  for (const Policy policy : {Policy::kComplete, Policy::kCpet, Policy::kFlat, Policy::kFixed}) {
    TrainParams params = make_params(policy);
    params.validate();
    params.trees = 2;
    CHECK_THROWS_WITH(InvalidParameter, "others make the same tree again, got 2", params.validate());
  }
  TrainParams fixed = make_params(Policy::kFixed);
  fixed.replay = 1;
  fixed.validate();
  fixed.warm_up = 5;
  CHECK_THROWS_WITH(InvalidParameter, "warm_up must be 0 unless the policy is one of best-greedy and random",
                    fixed.validate());
}

TEST("the trees of a forest have settings of their own, all of them valid and different") {
  for (const std::uint32_t arity : {2U, 3U, 4U}) {
    const TrainParams params = make_params(Policy::kBestGreedy, arity, 4);
    std::set<std::pair<std::uint32_t, std::uint32_t>> widths;
    for (std::uint32_t number = 0; number < 6; ++number) {
      const TrainParams own = params.of_tree(number);
      own.validate();
      CHECK_EQ(own.seed, params.seed + number);
      CHECK(widths.emplace(own.arity, own.max_leaves).second);
    }
    CHECK(widths.contains({arity, 4}));
  }
}

TEST("prediction settings out of range are refused") {
  CHECK_THROWS_WITH(InvalidParameter, "threshold", PredictParams{.threshold = 1.1F}.validate());
  CHECK_THROWS_WITH(InvalidParameter, "threshold", PredictParams{.threshold = NAN}.validate());
  CHECK_THROWS_WITH(InvalidParameter, "threads", PredictParams{.threads = 0}.validate());
}

TEST("losses have names") {
  CHECK(loss_from_name("logistic") == Loss::kLogistic);
  CHECK(loss_from_name("squared-hinge") == Loss::kSquaredHinge);
  CHECK_THROWS_WITH(InvalidParameter, "one of 'logistic', 'squared-hinge', got 'hinge'", loss_from_name("hinge"));
}

TEST("settings of training at once are checked, and leave valid ones to the model") {
  const BatchParams good{.loss = Loss::kSquaredHinge,
                         .cost = 1,
                         .tolerance = 0.1,
                         .max_iterations = 20,
                         .prune = 0.1F,
                         .normalize = true,
                         .seed = 0};
  good.validate();
  good.of_model().validate();
  CHECK(good.of_model().frozen && good.of_model().loss == Loss::kSquaredHinge && good.of_model().normalize);
  const auto changed = [&](auto member, double value) {
    BatchParams params = good;
    params.*member = static_cast<std::remove_reference_t<decltype(params.*member)>>(value);
    return params;
  };
  for (const double cost : {0.0, -1.0, 1e7, double{NAN}}) {
    CHECK_THROWS_WITH(InvalidParameter, "cost", changed(&BatchParams::cost, cost).validate());
  }
  for (const double tolerance : {0.0, 1e-10, 1.1, double{NAN}}) {
    CHECK_THROWS_WITH(InvalidParameter, "tolerance", changed(&BatchParams::tolerance, tolerance).validate());
  }
  CHECK_THROWS_WITH(InvalidParameter, "max_iterations", changed(&BatchParams::max_iterations, 0).validate());
  CHECK_THROWS_WITH(InvalidParameter, "prune", changed(&BatchParams::prune, -0.1).validate());
  CHECK_THROWS_WITH(InvalidParameter, "prune", changed(&BatchParams::prune, NAN).validate());
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "model/params.hpp"

using namespace oplt;
using oplt::test::make_params;

namespace {

AdaGradParams& adagrad_of(ForestParams& params) { return std::get<AdaGradParams>(params.learning); }

/// Valid settings that change() has changed.
template <class Change>
ModelParams with(Change change) {
  ModelParams params = make_params();
  change(params.forest);
  return params;
}

template <class Change>
void refused(const char* name, Change change) {
  CHECK_THROWS_WITH(InvalidParameter, name, validate(with(change)));
}

}  // namespace

TEST("policies are found by name") {
  CHECK(policy_from_name("random") == Policy::kRandom);
  CHECK(policy_from_name("best-greedy") == Policy::kBestGreedy);
  CHECK(policy_from_name("complete") == Policy::kComplete);
  CHECK(policy_from_name("cpet") == Policy::kCpet);
  CHECK(policy_from_name("flat") == Policy::kFlat);
  CHECK(policy_from_name("fixed") == Policy::kFixed);
}

TEST("an unknown policy is rejected") {
  CHECK_THROWS_WITH(InvalidParameter, "'fixed', got 'greedy'", policy_from_name("greedy"));
}

TEST("training settings at the ends of their ranges are accepted") {
  validate(make_params());
  validate(with([](ForestParams& params) { params.tree.alpha = 0; }));
  validate(with([](ForestParams& params) { params.tree.alpha = 1; }));
  validate(with([](ForestParams& params) { params.tree.arity = 4; }));
  validate(with([](ForestParams& params) { adagrad_of(params).learning_rate = 1e6F; }));
  validate(with([](ForestParams& params) { adagrad_of(params).eps = 1e-30F; }));
  validate(with([](ForestParams& params) { adagrad_of(params).gate = 0; }));
  validate(with([](ForestParams& params) { params.learning = ArowParams{.r = 1e-3F, .sparsity = 0}; }));
}

TEST("a training setting out of range is named") {
  for (const double alpha : {-0.1, 1.5, double{NAN}}) {
    refused("alpha is out of range", [&](ForestParams& params) { params.tree.alpha = alpha; });
  }
  refused("arity", [](ForestParams& params) { params.tree.arity = 1; });
  refused("arity", [](ForestParams& params) { params.tree.max_leaves = 1; });
  refused("arity", [](ForestParams& params) { params.tree.arity = 5; });
  for (const Real bad : {Real{0}, Real{-1}, Real{INFINITY}, Real{NAN}}) {
    refused("learning_rate", [&](ForestParams& params) { adagrad_of(params).learning_rate = bad; });
    refused("adagrad_eps", [&](ForestParams& params) { adagrad_of(params).eps = bad; });
  }
  for (const Real gate : {0.5F, -0.1F, Real{NAN}}) {
    refused("gate", [&](ForestParams& params) { adagrad_of(params).gate = gate; });
  }
  for (const Real r : {Real{0}, Real{-1}, Real{INFINITY}, Real{NAN}}) {
    refused("arow_r", [&](ForestParams& params) { params.learning = ArowParams{.r = r, .sparsity = 0}; });
  }
  for (const Real sparsity : {Real{-1}, Real{INFINITY}, Real{NAN}}) {
    refused("sparsity", [&](ForestParams& params) { params.learning = ArowParams{.r = 1, .sparsity = sparsity}; });
  }
}

TEST("options beyond the paper are rejected where they would have no effect") {
  refused("trees", [](ForestParams& params) { params.trees = 0; });
  for (const Policy policy : {Policy::kComplete, Policy::kCpet, Policy::kFlat, Policy::kFixed}) {
    ModelParams params = make_params(policy);
    validate(params);
    params.forest.trees = 2;
    CHECK_THROWS_WITH(InvalidParameter, "trees", validate(params));
  }
}

TEST("each tree of a forest has its own settings, all valid and different") {
  for (const std::uint32_t arity : {2U, 3U, 4U}) {
    const ModelParams params = make_params(Policy::kBestGreedy, arity, 4);
    std::set<std::pair<std::uint32_t, std::uint32_t>> widths;
    for (std::uint32_t number = 0; number < 6; ++number) {
      validate(test::of_tree(params, number));
      const TreeParams own = params.forest.of_tree(number);
      CHECK_EQ(own.seed, params.forest.tree.seed + number);
      CHECK(widths.emplace(own.arity, own.max_leaves).second);
    }
    CHECK(widths.contains({arity, 4}));
  }
}

TEST("prediction settings out of range are rejected") {
  CHECK_THROWS_WITH(InvalidParameter, "threshold", validate(SearchParams{.threshold = 1.1F}));
  CHECK_THROWS_WITH(InvalidParameter, "threshold", validate(SearchParams{.threshold = -0.1F}));
  CHECK_THROWS_WITH(InvalidParameter, "threshold", validate(SearchParams{.threshold = NAN}));
  validate(SearchParams{.threshold = 1});
}

TEST("losses have names") {
  CHECK(loss_from_name("logistic") == Loss::kLogistic);
  CHECK(loss_from_name("squared-hinge") == Loss::kSquaredHinge);
  CHECK_THROWS_WITH(InvalidParameter, "'squared-hinge', got 'hinge'", loss_from_name("hinge"));
}

TEST("settings of batch training are checked") {
  const BatchParams good{
      .loss = Loss::kSquaredHinge, .cost = 1, .tolerance = 0.1, .max_iterations = 20, .prune = 0.1F, .seed = 0};
  validate(good);
  const auto changed = [&](auto member, double value) {
    BatchParams params = good;
    params.*member = static_cast<std::remove_reference_t<decltype(params.*member)>>(value);
    return params;
  };
  for (const double cost : {0.0, -1.0, double{INFINITY}, double{NAN}}) {
    CHECK_THROWS_WITH(InvalidParameter, "cost", validate(changed(&BatchParams::cost, cost)));
  }
  for (const double tolerance : {0.0, 1.1, double{NAN}}) {
    CHECK_THROWS_WITH(InvalidParameter, "tolerance", validate(changed(&BatchParams::tolerance, tolerance)));
  }
  CHECK_THROWS_WITH(InvalidParameter, "max_iterations", validate(changed(&BatchParams::max_iterations, 0)));
  CHECK_THROWS_WITH(InvalidParameter, "prune", validate(changed(&BatchParams::prune, -0.1)));
  CHECK_THROWS_WITH(InvalidParameter, "prune", validate(changed(&BatchParams::prune, NAN)));
}

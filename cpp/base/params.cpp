// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/params.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace oplt {

namespace {

constexpr std::array<std::pair<std::string_view, Policy>, 7> kPolicyNames{{
    {"random", Policy::kRandom},
    {"best-greedy", Policy::kBestGreedy},
    {"best-greedy-printed", Policy::kBestGreedyPrinted},
    {"complete", Policy::kComplete},
    {"cpet", Policy::kCpet},
    {"flat", Policy::kFlat},
    {"fixed", Policy::kFixed},
}};

constexpr std::array<std::pair<std::string_view, Loss>, 2> kLossNames{{
    {"logistic", Loss::kLogistic},
    {"squared-hinge", Loss::kSquaredHinge},
}};

template <class Value, std::size_t n>
Value value_of(const std::array<std::pair<std::string_view, Value>, n>& names, std::string_view what,
               std::string_view name) {
  std::string known;
  for (const auto& [known_name, value] : names) {
    if (known_name == name) {
      return value;
    }
    known += (known.empty() ? "'" : ", '") + std::string(known_name) + "'";
  }
  throw InvalidParameter(std::string(what) + " must be one of " + known + ", got '" + std::string(name) + "'");
}

// The steps of a classifier stay finite only within such limits; nobody needs more.
constexpr Real kLargestRate = 1e6F;
constexpr double kLargestCost = 1e6;
constexpr double kLeastTolerance = 1e-9;  // below, rounding would keep a solver from ever getting there

template <class T>
void require(bool holds, std::string_view name, std::string_view rule, T got) {
  if (!holds) {
    std::ostringstream message;
    message << name << " must be " << rule << ", got " << got;
    throw InvalidParameter(message.str());
  }
}

/// Whether other widths and seeds make other trees.
bool varies(Policy policy) {
  return policy == Policy::kRandom || policy == Policy::kBestGreedy || policy == Policy::kBestGreedyPrinted;
}

}  // namespace

Policy policy_from_name(std::string_view name) { return value_of(kPolicyNames, "policy", name); }

Loss loss_from_name(std::string_view name) { return value_of(kLossNames, "loss", name); }

TrainParams BatchParams::of_model() const {
  return {.policy = Policy::kFixed,
          .alpha = 0,
          .arity = 2,
          .max_leaves = 2,
          .learning_rate = 1,
          .adagrad_eps = 1,
          .gate = 0,
          .bias = true,
          .normalize = normalize,
          .seed = 0,
          .loss = loss,
          .frozen = true};
}

// Trees of other widths differ more than those of other values of alpha, and bring more than random ones. One leaf more
// for each tree makes them differ even where the arity cannot be halved, and from the fourth on.
TrainParams TrainParams::of_tree(std::uint32_t number) const {
  const std::uint64_t leaves = std::uint64_t{max_leaves} * (number % 3 == 2 ? 2 : 1) + number;
  TrainParams params = *this;
  params.arity = number % 3 == 1 ? std::max(2U, (arity + 1) / 2) : arity;
  params.max_leaves = static_cast<std::uint32_t>(std::min<std::uint64_t>(leaves, kNone));
  params.seed += number;
  return params;
}

// Comparisons are written so that NaN fails them.
void TrainParams::validate() const {
  require(alpha >= 0.0 && alpha <= 1.0, "alpha", "between 0 and 1", alpha);
  require(arity >= 2, "arity", "at least 2", arity);
  require(max_leaves >= 2, "max_leaves", "at least 2", max_leaves);
  require(arity <= max_leaves, "arity",
          "at most max_leaves (" + std::to_string(max_leaves) + "), or the tree becomes a chain", arity);
  require(learning_rate > 0 && learning_rate <= kLargestRate, "learning_rate", "above 0 and at most 1e6",
          learning_rate);
  require(adagrad_eps > 0 && adagrad_eps <= kLargestRate, "adagrad_eps", "above 0 and at most 1e6", adagrad_eps);
  require(gate >= 0 && gate < 0.5F, "gate", "at least 0 and below 0.5, the first gradient of every classifier", gate);
  require(trees >= 1, "trees", "at least 1", trees);
  require(trees == 1 || varies(policy), "trees",
          "1 unless the policy is one of best-greedy and random, since others make the same tree again", trees);
  require(warm_up == 0 || varies(policy), "warm_up",
          "0 unless the policy is one of best-greedy and random, since others make trees of a form of their own",
          warm_up);
}

void BatchParams::validate() const {
  require(cost > 0 && cost <= kLargestCost, "cost", "above 0 and at most 1e6", cost);
  require(tolerance >= kLeastTolerance && tolerance <= 1, "tolerance", "at least 1e-9 and at most 1", tolerance);
  require(max_iterations >= 1, "max_iterations", "at least 1", max_iterations);
  require(prune >= 0 && prune <= 1, "prune", "between 0 and 1", prune);
}

void PredictParams::validate() const {
  require(threshold >= 0 && threshold <= 1, "threshold", "between 0 and 1", threshold);
  require(threads >= 1, "threads", "at least 1", threads);
}

}  // namespace oplt

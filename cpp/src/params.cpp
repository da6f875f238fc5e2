// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/params.hpp"

#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "oplt/error.hpp"

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

// The steps of a classifier stay finite only within such limits; nobody needs more.
constexpr Real kLargestRate = 1e6F;

template <class T>
void require(bool holds, std::string_view name, std::string_view rule, T got) {
  if (!holds) {
    std::ostringstream message;
    message << name << " must be " << rule << ", got " << got;
    throw InvalidParameter(message.str());
  }
}

}  // namespace

Policy policy_from_name(std::string_view name) {
  std::string known;
  for (const auto& [known_name, policy] : kPolicyNames) {
    if (known_name == name) {
      return policy;
    }
    known += (known.empty() ? "'" : ", '") + std::string(known_name) + "'";
  }
  throw InvalidParameter("policy must be one of " + known + ", got '" + std::string(name) + "'");
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
}

void PredictParams::validate() const {
  require(threshold >= 0 && threshold <= 1, "threshold", "between 0 and 1", threshold);
  require(threads >= 1, "threads", "at least 1", threads);
}

}  // namespace oplt

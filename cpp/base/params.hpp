// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/types.hpp"

namespace oplt {

/// Where a new label goes; see tree_policy.hpp.
enum class Policy : std::uint8_t { kRandom, kBestGreedy, kBestGreedyPrinted, kComplete, kCpet, kFlat, kFixed };

/// Whether new labels extend the tree. Where they do not, they are ignored.
constexpr bool grows(Policy policy) { return policy != Policy::kFixed; }

/// Throws InvalidParameter, listing the names there are, if there is no policy of this name.
Policy policy_from_name(std::string_view name);

/// What the classifiers minimise, and with it how a score becomes a probability (OnlinePlt::child_probabilities).
enum class Loss : std::uint8_t { kLogistic, kSquaredHinge };

/// Throws InvalidParameter, listing the names there are, if there is no loss of this name.
Loss loss_from_name(std::string_view name);

/// The defaults are in one place, src/oplt/params.py.
struct TrainParams {
  Policy policy;
  double alpha;              // best-greedy, cpet: 0 = follow the classifiers, 1 = balance the tree
  std::uint32_t arity;       // b: children of an internal node
  std::uint32_t max_leaves;  // b_max: children of a node that has only leaves
  Real learning_rate;
  Real adagrad_eps;
  Real gate;       // a classifier whose |gradient| is below takes no step
  bool bias;       // add a constant feature of value 1
  bool normalize;  // scale each row to L2 norm 1 (before the bias)
  std::uint64_t seed;
  std::uint32_t label_memory = 0;  // features that the label memory keeps of each label; 0 = there is none
  std::uint32_t trees = 1;         // over the same stream, each of another form (forest.hpp)
  std::uint32_t warm_up = 0;       // examples after which trees are built anew from them
  std::uint32_t replay = 0;        // past examples that are learnt again after each new one
  Loss loss = Loss::kLogistic;     // online steps are those of the logistic loss
  bool frozen = false;             // trained at once (batch_training.hpp): neither tree nor classifiers change any more

  void validate() const;

  /// Those of tree `number`, from 0, of a forest: the first one has these, and each one after it grows another tree.
  TrainParams of_tree(std::uint32_t number) const;
};

/// Training at once: each classifier minimises |w|²/2 + cost · (sum of weight · loss of its examples).
struct BatchParams {
  Loss loss;
  double cost;
  double tolerance;              // a classifier is good enough when its dual gradients are so near to optimal ones
  std::uint32_t max_iterations;  // passes over the examples of a node
  Real prune;                    // smaller weights are dropped
  bool normalize;                // scale each row to L2 norm 1; the constant feature is always added
  std::uint64_t seed;            // of the order of the steps

  void validate() const;

  /// What the trained model keeps. Its other settings, which only online learning needs, mean nothing.
  TrainParams of_model() const;
};

struct PredictParams {
  std::size_t top_k = 0;  // at most so many labels; 0 = no limit
  Real threshold = 0;     // only labels at least so probable
  std::size_t beam = 0;   // beam search of this width; 0 = exact search
  std::size_t threads = 1;

  void validate() const;
};

}  // namespace oplt

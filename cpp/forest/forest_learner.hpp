// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "base/helper_pool.hpp"
#include "base/types.hpp"
#include "forest/forest.hpp"
#include "forest/plt_learner.hpp"

namespace oplt {

/// How label trees are learnt online. The defaults are in one place, in Python.
struct ForestParams {
  TreeParams tree;
  LearningParams learning;
  std::uint32_t trees = 1;    // over the same stream, each of another form
  std::uint32_t warm_up = 0;  // examples after which trees are built anew from them
  bool rows_have_norm_1 = true;

  /// Settings of tree `number`, from 0: the first one has `tree`, and each one after it grows another tree.
  TreeParams of_tree(std::uint32_t number) const;
};

/// Learns the trees of a forest online.
///
/// With a warm-up, the first `params.warm_up` examples are kept. When they have been learnt, each tree is made anew
/// over the labels that there are (label_clustering.hpp), and learns them again; they are forgotten, and the stream
/// goes on. Each tree is proper by itself (PltLearner), with respect to all that it has learnt.
class ForestLearner {
 public:
  explicit ForestLearner(const ForestParams& params);

  /// Trees that know nothing, or a single one that is given, which needs params.trees == 1 and params.warm_up == 0.
  Forest start() const;
  Forest start(LabelTree tree) const;

  /// Throws FormatError unless these are trees that this learner could have made.
  void expect_learnable(const Forest& forest) const;

  /// Examples that may still be learnt before the end of the warm-up: batches must not go beyond it.
  std::uint64_t n_left_to_warm_up(const Forest& forest) const;

  /// For all else see PltLearner::learn().
  void learn(Forest& forest, std::span<const Example> batch, HelperPool& helpers);

 private:
  void learn_trees(Forest& forest, std::span<const Example> batch, HelperPool& helpers);
  void finish_warm_up(Forest& forest, HelperPool& helpers);

  ForestParams params_;
  std::deque<PltLearner> learners_;  // by tree
};

}  // namespace oplt

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

/// Parameters of the online training of label trees. The defaults are defined in Python.
struct ForestParams {
  TreeParams tree;
  LearningParams learning;
  std::uint32_t trees = 1;    // number of trees over the same stream, each with a different shape
  std::uint32_t warm_up = 0;  // after this many examples, the trees are rebuilt from them
  bool rows_have_norm_1 = true;

  /// Settings of tree `number`, counted from 0: the first tree has those of `tree`, each further one a different shape
  /// and seed.
  TreeParams of_tree(std::uint32_t number) const;
};

/// Trains the trees of a forest online.
///
/// With a warm-up, the first `params.warm_up` examples are kept. When they have been learnt, each tree is rebuilt by
/// clustering the labels seen so far (label_clustering.hpp) and trained on these examples again; then they are
/// discarded, and the stream continues. Each tree by itself is proper (PltLearner) with respect to all its training
/// examples.
class ForestLearner {
 public:
  explicit ForestLearner(const ForestParams& params);

  /// Untrained trees, or a single given tree, which requires params.trees == 1 and params.warm_up == 0.
  Forest start() const;
  Forest start(LabelTree tree) const;

  /// Throws FormatError unless this learner could have trained these trees.
  void expect_learnable(const Forest& forest) const;

  /// Number of examples left until the end of the warm-up: batches must not extend beyond it.
  std::uint64_t n_left_to_warm_up(const Forest& forest) const;

  /// See PltLearner::learn().
  void learn(Forest& forest, std::span<const Example> batch, HelperPool& helpers);

 private:
  void learn_trees(Forest& forest, std::span<const Example> batch, HelperPool& helpers);
  void finish_warm_up(Forest& forest, HelperPool& helpers);

  ForestParams params_;
  std::deque<PltLearner> learners_;  // by tree
};

}  // namespace oplt

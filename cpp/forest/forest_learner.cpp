// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/forest_learner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "tree/label_clustering.hpp"

namespace oplt {

// Varying the arity and max_leaves makes trees differ more than varying alpha, and improves precision more than random
// trees do. Adding the tree's number to max_leaves makes trees differ even if the arity cannot be halved, and from the
// fourth tree on.
TreeParams ForestParams::of_tree(std::uint32_t number) const {
  const std::uint64_t leaves = std::uint64_t{tree.max_leaves} * (number % 3 == 2 ? 2 : 1) + number;
  TreeParams params = tree;
  params.arity = number % 3 == 1 ? std::max(2U, (tree.arity + 1) / 2) : tree.arity;
  params.max_leaves = static_cast<std::uint32_t>(std::min<std::uint64_t>(leaves, kNone));
  params.seed += number;
  return params;
}

ForestLearner::ForestLearner(const ForestParams& params) : params_(params) {
  for (std::uint32_t i = 0; i < params_.trees; ++i) {
    learners_.emplace_back(params_.of_tree(i), params_.learning);
  }
}

Forest ForestLearner::start() const {
  Forest forest;
  for (std::uint32_t i = 0; i < params_.trees; ++i) {
    learners_[i].adopt(forest.trees.emplace_back(LabelTree(), params_.of_tree(i).seed));
  }
  return forest;
}

Forest ForestLearner::start(LabelTree tree) const {
  if (params_.trees > 1 || params_.warm_up > 0) {
    throw InvalidParameter("a model that starts from a given tree must have trees=1 and warm_up=0");
  }
  Forest forest;
  learners_[0].adopt(forest.trees.emplace_back(std::move(tree), params_.tree.seed));
  return forest;
}

void ForestLearner::expect_learnable(const Forest& forest) const {
  if (forest.trees.size() != learners_.size()) {
    throw FormatError("there are " + std::to_string(forest.trees.size()) +
                      " trees, but according to the settings there are " + std::to_string(learners_.size()));
  }
  for (std::size_t i = 0; i < learners_.size(); ++i) {
    learners_[i].expect_learnable(forest.trees[i]);
  }
  if (forest.warm_up->size() != (n_left_to_warm_up(forest) > 0 ? forest.n_examples() : 0)) {
    throw FormatError("the number of examples kept for the warm-up does not match the settings");
  }
}

std::uint64_t ForestLearner::n_left_to_warm_up(const Forest& forest) const {
  return params_.warm_up - std::min<std::uint64_t>(params_.warm_up, forest.n_examples());
}

void ForestLearner::learn(Forest& forest, std::span<const Example> batch, HelperPool& helpers) {
  const bool is_warm_up = n_left_to_warm_up(forest) > 0;
  learn_trees(forest, batch, helpers);
  if (!is_warm_up) {
    return;
  }
  for (const Example& example : batch) {
    forest.warm_up.write().add(example);
  }
  if (n_left_to_warm_up(forest) == 0) {
    finish_warm_up(forest, helpers);
  }
}

void ForestLearner::learn_trees(Forest& forest, std::span<const Example> batch, HelperPool& helpers) {
  if (forest.trees.size() == 1) {
    learners_.front().learn(forest.trees.front(), batch, helpers);
    return;
  }
  helpers.start_many(forest.trees.size(), [&](std::size_t i) {
    return [this, &forest, batch, &helpers, i](std::size_t worker) {
      learners_[i].learn(forest.trees[i], batch, helpers, worker);
    };
  });
  helpers.finish();
}

/// Must not be interrupted: part-way, the forest would have no usable trees.
void ForestLearner::finish_warm_up(Forest& forest, HelperPool& helpers) {
  helpers.finish();  // they may still use the learners, which are replaced here
  const Shared<KeptExamples> kept = std::exchange(forest.warm_up, {});
  std::vector<Example> examples;
  for (std::size_t i = 0; i < kept->size(); ++i) {
    examples.push_back((*kept)[i]);
  }
  const std::uint32_t n_known = forest.n_labels();
  for (std::uint32_t i = 0; i < params_.trees; ++i) {
    const TreeParams params = params_.of_tree(i);
    const TreeNodes nodes = cluster_labels(examples, n_known, params_.rows_have_norm_1,
                                           {params.arity, params.max_leaves}, params.seed, helpers.size() + 1);
    learners_[i] = PltLearner(params, params_.learning);
    forest.trees[i] = Plt(LabelTree(nodes.parents, nodes.labels), params.seed);
    learners_[i].adopt(forest.trees[i]);
  }
  learn_trees(forest, examples, helpers);
}

}  // namespace oplt

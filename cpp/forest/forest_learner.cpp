// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/forest_learner.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace oplt {

namespace {

constexpr std::uint64_t kParts = 1000;  // of a regrowth on request; it can be interrupted between two of them

}  // namespace

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
  if (params_.trees > 1 || params_.history > 0) {
    throw InvalidParameter("a model that starts from a given tree must have trees=1 and history=0");
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
}

void ForestLearner::close() {
  for (PltLearner& learner : learners_) {
    learner.close();
  }
}

bool ForestLearner::can_cut(const Forest& forest) const {
  return forest.trees.size() == 1 && learners_.front().can_cut(forest.first()) &&
         !next_change(forest, forest.n_examples());
}

void ForestLearner::learn(Forest& forest, std::span<const Example> batch, HelperPool& helpers) {
  learn_trees(forest.trees, learners_, batch, helpers);
}

std::optional<RegrowthWindow> ForestLearner::window_after(const Forest& forest, std::uint64_t n_examples) const {
  const RegrowthWindow window = RegrowthWindow::after(n_examples, forest.regrown_at, params_);
  const bool regrows = params_.tree.policy == Policy::kBestGreedy && window.end <= params_.history;
  return regrows ? std::optional(window) : std::nullopt;
}

std::optional<std::uint64_t> ForestLearner::next_change(const Forest& forest, std::uint64_t n_examples) const {
  const std::optional<RegrowthWindow> window = window_after(forest, n_examples);
  return window ? std::optional(window->end) : std::nullopt;
}

void ForestLearner::regrow_beside(Forest& forest, const History& history, const LabelBook& labels, std::size_t n,
                                  HelperPool& helpers) {
  for (std::size_t i = 0; i < n && !retired_.empty(); ++i) {
    if (!retired_.back().free_some()) {
      retired_.pop_back();
    }
  }
  const std::uint64_t n_examples = forest.n_examples();
  if (history.size() < n_examples) {
    regrowth_.reset();
    return;
  }
  const std::optional<RegrowthWindow> window = n_examples > 0 ? window_after(forest, n_examples - 1) : std::nullopt;
  if (!window || n_examples < window->begin) {
    return;
  }
  const std::uint64_t n_left = window->end - n_examples;
  try {
    if (!regrowth_ || regrowth_->n_examples() != window->begin) {
      regrowth_ = std::make_unique<Regrowth>(params_, window->begin, false);
    }
    regrowth_->advance(history, labels, n_left, helpers);
  } catch (const std::bad_alloc&) {
    if (n_left == 0) {
      throw;
    }
    drop_regrowth(helpers);  // the trees are as they should be, and the work can be done again
    return;
  }
  if (n_left == 0) {
    replace(forest, *regrowth_, window->begin);
  }
}

/// Helpers may still be working on its trees.
void ForestLearner::drop_regrowth(HelperPool& helpers) {
  try {
    helpers.finish();
  } catch (const std::bad_alloc&) {  // of a task that is no longer needed
  }
  regrowth_.reset();
}

void ForestLearner::regrow(Forest& forest, const Shared<History>& history, const Shared<LabelBook>& labels,
                           HelperPool& helpers, const std::function<void()>& pause) {
  const std::uint64_t n_examples = history->size();
  Regrowth regrowth(params_, n_examples, true);
  for (std::uint64_t n_left = kParts; !regrowth.advance(*history, *labels, n_left, helpers);
       n_left -= n_left > 0 ? 1 : 0) {
    pause();
  }
  if (forest.regrown_at <= n_examples) {  // otherwise trees of more examples have taken over during a pause
    replace(forest, regrowth, n_examples);
    retired_.clear();
  }
}

std::size_t ForestLearner::memory_of_regrowth() const {
  return (regrowth_ ? regrowth_->memory_bytes() : 0) + memory_of(retired_);
}

void ForestLearner::replace(Forest& forest, Regrowth& regrowth, std::uint64_t n_examples) {
  GrowingTrees grown = regrowth.take();
  retired_ = std::exchange(forest.trees, std::move(grown.trees));
  learners_ = std::move(grown.learners);
  forest.regrown_at = n_examples;
  regrowth_.reset();
}

}  // namespace oplt

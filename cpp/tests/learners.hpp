// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Trees and forests together with their learners, for tests that need no names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/helper_pool.hpp"
#include "encode/history.hpp"
#include "forest/forest_learner.hpp"
#include "forest/plt_learner.hpp"
#include "helpers.hpp"

namespace oplt::test {

inline std::vector<Example> views(std::span<const StreamExample> stream) {
  std::vector<Example> result;
  std::transform(stream.begin(), stream.end(), std::back_inserter(result),
                 [](const StreamExample& example) { return example.view(); });
  return result;
}

/// A tree and its learner.
class OnlineTree {
 public:
  explicit OnlineTree(const ModelParams& params, LabelTree start = LabelTree())
      : plt_(std::move(start), params.forest.tree.seed), learner_(params.forest.tree, params.forest.learning) {
    learner_.adopt(plt_);
  }

  /// Continues from a saved state.
  OnlineTree(const ModelParams& params, const std::vector<std::byte>& saved)
      : plt_(Plt::load(read_arrays(saved), "thing", link_of(params.forest.learning))),
        learner_(params.forest.tree, params.forest.learning) {
    plt_.check(kBiasFeature);
    learner_.expect_learnable(plt_);
  }

  const Plt& operator*() const { return plt_; }
  const Plt* operator->() const { return &plt_; }

  void learn(std::span<const StreamExample> stream, std::size_t threads = 1) {
    HelperPool helpers(threads - 1);
    learner_.learn(plt_, views(stream), helpers);
    helpers.finish();
  }
  void learn(const StreamExample& example) { learn({&example, 1}); }

 private:
  Plt plt_;
  PltLearner learner_;
};

/// A forest and its learner.
class OnlineForest {
 public:
  explicit OnlineForest(const ModelParams& params)
      : params_(given_rows(params)), learner_(params_), forest_(learner_.start()) {}

  /// Continues from a saved state.
  OnlineForest(const ModelParams& params, const std::vector<std::byte>& saved, std::uint32_t n_features,
               Shared<History> history = {})
      : params_(given_rows(params)),
        learner_(params_),
        history_(std::move(history)),
        forest_(Forest::load(read_arrays(saved), params.forest.trees, link_of(params.forest.learning))) {
    forest_.check(n_features);
    learner_.expect_learnable(forest_);
  }

  const Forest& operator*() const { return forest_; }
  const Forest* operator->() const { return &forest_; }

  const Shared<History>& history() const { return history_; }

  /// Learns in batches that do not extend beyond a change of the trees.
  void learn(std::span<const StreamExample> stream, std::size_t threads = 1) {
    HelperPool helpers(threads - 1);
    while (!stream.empty()) {
      const std::uint64_t n_learnt = forest_.n_examples();
      const std::uint64_t change = learner_.next_change(forest_, n_learnt).value_or(n_learnt + stream.size());
      const std::size_t n = std::min<std::size_t>(change - n_learnt, stream.size());
      std::vector<Example> examples;
      History::Piece piece;
      for (const StreamExample& example : stream.first(n)) {
        const std::size_t n_without_bias = example.features.size() - 1;
        piece.add({.ids = std::span(example.features).first(n_without_bias),
                   .values = std::span(example.values).first(n_without_bias)},
                  example.labels, example.weight);
        examples.push_back(example.view());
      }
      learner_.learn(forest_, examples, helpers);
      helpers.finish();
      history_.write().append(piece);
      learner_.regrow_beside(forest_, *history_, names_, n, helpers);
      stream = stream.subspan(n);
    }
  }
  void learn(const StreamExample& example) { learn({&example, 1}); }

  void regrow(std::size_t threads = 1, const std::function<void()>& pause = [] {}) {
    HelperPool helpers(threads - 1);
    learner_.regrow(forest_, history_, Shared(names_), helpers, pause);
  }

 private:
  /// The rows of random examples have a bias of 1 and are not scaled.
  static ForestParams given_rows(const ModelParams& params) {
    ForestParams forest = params.forest;
    forest.rows = {.bias = 1, .normalize = false};
    return forest;
  }

  ForestParams params_;
  ForestLearner learner_;
  Shared<History> history_;
  LabelBook names_;  // empty: without operations, the labels of an example are its names
  Forest forest_;
};

}  // namespace oplt::test

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Trees and forests together with their learners, for tests that need no names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/helper_pool.hpp"
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
  explicit OnlineForest(const ModelParams& params) : learner_(params.forest), forest_(learner_.start()) {}

  /// Continues from a saved state.
  OnlineForest(const ModelParams& params, const std::vector<std::byte>& saved, std::uint32_t n_features)
      : learner_(params.forest),
        forest_(Forest::load(read_arrays(saved), params.forest.trees, link_of(params.forest.learning))) {
    forest_.check(n_features, forest_.n_labels());
    learner_.expect_learnable(forest_);
  }

  const Forest& operator*() const { return forest_; }
  const Forest* operator->() const { return &forest_; }

  /// Learns in batches that do not extend beyond the end of a warm-up.
  void learn(std::span<const StreamExample> stream, std::size_t threads = 1) {
    HelperPool helpers(threads - 1);
    while (!stream.empty()) {
      const std::uint64_t to_warm_up = learner_.n_left_to_warm_up(forest_);
      const std::size_t n = to_warm_up > 0 ? std::min<std::size_t>(to_warm_up, stream.size()) : stream.size();
      learner_.learn(forest_, views(stream.first(n)), helpers);
      helpers.finish();
      stream = stream.subspan(n);
    }
  }
  void learn(const StreamExample& example) { learn({&example, 1}); }

 private:
  ForestLearner learner_;
  Forest forest_;
};

}  // namespace oplt::test

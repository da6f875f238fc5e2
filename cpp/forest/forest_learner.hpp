// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/types.hpp"
#include "encode/history.hpp"
#include "forest/forest.hpp"
#include "forest/forest_params.hpp"
#include "forest/plt_learner.hpp"
#include "forest/regrowth.hpp"

namespace oplt {

/// Trains the trees of a forest online, and regrows them from the history of examples. Each tree by itself is proper
/// (PltLearner) with respect to all its training examples.
class ForestLearner {
 public:
  explicit ForestLearner(const ForestParams& params);

  /// Untrained trees, or a single given tree, which requires params.trees == 1 and params.history == 0.
  Forest start() const;
  Forest start(LabelTree tree) const;

  /// Throws FormatError unless this learner could have trained these trees.
  void expect_learnable(const Forest& forest) const;

  /// See PltLearner::close().
  void close();

  /// Whether the forest is a single tree that can be cut (PltLearner::can_cut), and will not be replaced any more.
  bool can_cut(const Forest& forest) const;

  /// See PltLearner::learn().
  void learn(Forest& forest, std::span<const Example> batch, HelperPool& helpers);

  /// Number of examples after which, beyond `n_examples`, the forest is next replaced by a regrown one: batches must
  /// not extend beyond it. nullopt if it is not. The forest may have to learn the first `n_examples` examples yet.
  std::optional<std::uint64_t> next_change(const Forest& forest, std::uint64_t n_examples) const;

  /// To be called after each batch of `n` examples: does the part of a regrowth that is due, if any. `history` has all
  /// examples so far, or none if it has ended: then a regrowth in progress ends, too.
  void regrow_beside(Forest& forest, const History& history, const LabelBook& labels, std::size_t n,
                     HelperPool& helpers);

  /// Regrows the trees from the whole history, without labels that have ended. Calls `pause` regularly, during which
  /// the history and the forest may get further examples, and labels may change; an exception from it ends the work and
  /// leaves the forest as it was.
  void regrow(Forest& forest, const Shared<History>& history, const Shared<LabelBook>& labels, HelperPool& helpers,
              const std::function<void()>& pause);

  /// Bytes of a regrowth in progress beside the stream, and of replaced trees that are not freed yet. Visits all blocks
  /// of these trees.
  std::size_t memory_of_regrowth() const;

 private:
  std::optional<RegrowthWindow> window_after(const Forest& forest, std::uint64_t n_examples) const;
  void replace(Forest& forest, Regrowth& regrowth, std::uint64_t n_examples);
  void drop_regrowth(HelperPool& helpers);

  ForestParams params_;
  std::deque<PltLearner> learners_;     // by tree
  std::unique_ptr<Regrowth> regrowth_;  // in progress beside the stream; not saved, but done again
  std::vector<Plt> retired_;            // freed in small parts, because freeing a large tree takes long
};

}  // namespace oplt

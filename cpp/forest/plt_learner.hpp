// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "forest/deferred_steps.hpp"
#include "forest/plt.hpp"
#include "tree/tree_policy.hpp"

namespace oplt {

/// The number of examples that are best learnt together. The larger the batch, the more updates each block gets while
/// it is in the cache; batches beyond this size are not faster (measured), and readers wait longer for them.
inline constexpr std::size_t kLargestBatch = 2048;

/// Trains a probabilistic label tree online (OPLT, Algorithms 2-8 of the paper). The tree grows with the stream.
///
/// It is proper, bit for bit: after any stream, the classifiers are those that IPLT (Algorithm 1) would have trained on
/// the same stream with the final tree. The trained state is all in the Plt; a learner trains one tree and holds only
/// parameters and working memory.
class PltLearner {
 public:
  PltLearner(const TreeParams& tree, const LearningParams& learning)
      : policy_(tree), link_(link_of(learning)), steps_(learning) {}

  /// Prepares an untrained tree for this learner: adds an auxiliary classifier to each node that may be extended.
  void adopt(Plt& plt) const;

  /// Throws FormatError unless the tree has the auxiliary classifiers and accumulators that training needs.
  void expect_learnable(const Plt& plt) const;

  /// From the next batch on, no weights are started, as if this were part of the rule from that example on: the tree
  /// stays proper. Batches must not have new labels any more.
  void close() { steps_.close(); }

  /// OPLT.Train, Algorithm 3, on a batch of examples. All updates have been applied when it returns. The result depends
  /// neither on the helpers nor on how a stream is split into batches. If it throws, the tree is unusable. `worker` is
  /// the calling thread's index in the pool. The top of a cut tree passes the rest of the work on to its subtrees.
  void learn(Plt& plt, std::span<const Example> batch, HelperPool& helpers, std::size_t worker = 0) {
    learn(plt, batch, {}, helpers, worker);
  }

  /// The same for a subtree. By example: the first key for nodes of new labels (SubtreeExample).
  void learn_subtree(Plt& plt, std::span<const Example> batch, std::span<const NodeId> first_keys,
                     HelperPool& helpers) {
    learn(plt, batch, first_keys, helpers, 0);
  }

  /// Whether the tree can be cut: no further label will change the root's children, and what happens below one of them
  /// does not depend on what happens below the others.
  bool can_cut(const Plt& plt) const;

 private:
  void learn(Plt& plt, std::span<const Example> batch, std::span<const NodeId> first_keys, HelperPool& helpers,
             std::size_t worker);
  void extend_tree(Plt& plt, RowView x, std::span<const LabelId> labels, NodeId next_key);
  void extend(Plt& plt, LabelId label, Extension extension);
  void update_classifiers(const Plt& plt, const Example& example);
  void defer_root(const Example& example);
  void learn_top(Plt& plt, const Example& example, std::uint32_t row);
  void pass_on(Plt& plt);
  void extend_top(Plt& plt, RowView x, std::span<const LabelId> labels);
  ChildProbabilities child_probabilities(const Plt& plt, RowView x);
  void update(BlockId block, const Example& example, std::span<const std::uint32_t> positives);
  Blocks& blocks_of(Plt& plt) const { return plt.blocks_.write(); }

  /// A block that the policy has scored for the present example, and the scores.
  struct Scored {
    BlockId block = kNone;
    NodeScratch scratch;
  };

  TreePolicy policy_;
  Link link_;
  DeferredSteps steps_;
  std::deque<Scored> scored_;  // the first n_scored_ are in use; a deque, because the policy gets spans of them
  std::size_t n_scored_ = 0;
  std::vector<std::pair<NodeId, std::uint32_t>> on_;  // positive nodes of the example as (parent, position); of a top,
                                                      // its labels as (subtree, label)
  SpanPool<std::uint32_t> positives_;                 // of the batch: positions of the positive children
  std::vector<SubtreeExample> passed_on_;             // by the top of a cut tree, soon
  SpanPool<LabelId> passed_labels_;                   // their labels
};

/// Trains several trees on a batch, each by its own learner. For the learners see PltLearner::learn().
void learn_trees(std::vector<Plt>& trees, std::deque<PltLearner>& learners, std::span<const Example> batch,
                 HelperPool& helpers);

}  // namespace oplt

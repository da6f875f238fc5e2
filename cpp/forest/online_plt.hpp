// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/params.hpp"
#include "base/random.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "blocks/deferred_blocks.hpp"
#include "blocks/sibling_block.hpp"
#include "io/archive.hpp"
#include "tree/label_tree.hpp"
#include "tree/tree_policy.hpp"

namespace oplt {

/// Working memory of one predicting thread.
struct NodeScratch {
  BlockScratch block;
  std::vector<Real> probabilities;
};

/// An online probabilistic label tree (OPLT, Algorithms 2-8 of the paper): a tree of labels that grows with the stream,
/// and a logistic classifier in each node for "some label below is relevant, given that one below the parent is".
///
/// Proper, to the bit: after any stream, the classifiers are those that IPLT (Algorithm 1) would have learnt from the
/// same stream on the final tree. Const members may be called from many threads at once, learn() from one alone.
class OnlinePlt {
 public:
  /// Nothing is known ahead.
  explicit OnlinePlt(const TrainParams& params);

  /// A tree is given: learns as IPLT does, and extends the tree, if the policy grows, when labels come that it lacks.
  OnlinePlt(const TrainParams& params, LabelTree tree);

  /// Classifiers that were solved elsewhere, for frozen params: the block of the root's own classifier, then those of
  /// the internal nodes by ascending node, none with an auxiliary classifier.
  OnlinePlt(const TrainParams& params, LabelTree tree, std::vector<SiblingBlock> blocks, std::uint64_t n_examples);

  /// OPLT.Train, Algorithm 3, on n examples: example(0), example(1), …, each asked for when its turn has come. Their
  /// rows must live until learn() returns. Throws FrozenModel, changing nothing, if the model was trained at once.
  /// With more than one thread, another one calls `ahead` meanwhile, which may get examples ready. The result does not
  /// depend on `threads` nor on how a stream is cut.
  void learn(std::size_t n, const std::function<Example(std::size_t)>& example, std::size_t threads,
             const std::function<void()>& ahead = {});

  /// Throws FrozenModel if the model learns no more.
  void expect_unfrozen() const;

  /// Learns one example.
  void learn(RowView x, std::span<const LabelId> labels, Real weight);

  /// P(some label is relevant | x).
  Real root_probability(RowView x, NodeScratch& scratch) const;

  /// P(child | v, x) of the children of v in their order; valid until the next use of `scratch`.
  std::span<const Real> child_probabilities(NodeId v, RowView x, NodeScratch& scratch) const;

  const LabelTree& tree() const { return tree_; }
  const TrainParams& params() const { return params_; }
  NodeId n_nodes() const { return tree_.n_nodes(); }
  std::uint32_t n_labels() const { return tree_.n_labels(); }
  std::uint32_t depth() const { return tree_.depth(); }
  std::uint64_t n_examples() const { return n_examples_; }
  /// Steps of single classifiers, auxiliary ones included, since the model was made or loaded.
  std::uint64_t n_updates() const { return blocks_.n_updates(); }
  /// Weights that are not 0, or were not always.
  std::size_t n_cells() const { return blocks_.n_cells(); }
  /// Of these, the ones of the classifiers of v's children and of v's auxiliary one. Those of all nodes, and of the
  /// root's own classifier, add up to n_cells().
  std::size_t n_cells_of(NodeId v) const { return block_of_[v] == kNone ? 0 : blocks_[block_of_[v]].n_cells(); }
  std::size_t memory_bytes() const;

  /// The node's classifier, and its auxiliary one if it has one.
  std::vector<Cell> classifier(NodeId v) const;
  std::optional<std::vector<Cell>> auxiliary_classifier(NodeId v) const;

  void save(Writer& out) const;
  static OnlinePlt load(const TrainParams& params, Reader& in);

 private:
  std::span<const Real> to_probabilities(std::span<const Real> scores, NodeScratch& scratch) const;
  void extend_tree(RowView x, std::span<const LabelId> labels);
  void extend(LabelId label, Extension extension);
  void update_classifiers(const Example& example);

  TrainParams params_;
  LabelTree tree_;
  TreePolicy policy_;
  Random random_;
  DeferredBlocks blocks_;
  BlockId root_block_;             // the root's own classifier, which every example reaches
  std::vector<BlockId> block_of_;  // by node: its children's classifiers and its auxiliary one; kNone if it has neither
  std::uint64_t n_examples_ = 0;

  NodeScratch scratch_;                               // of learn()
  std::vector<std::pair<NodeId, std::uint32_t>> on_;  // positive nodes of the example as (parent, position)
  SpanPool<std::uint32_t> positives_;                 // of the batch: positions of the positive children
};

}  // namespace oplt

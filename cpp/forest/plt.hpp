// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/shared.hpp"
#include "base/types.hpp"
#include "blocks/block_file.hpp"
#include "blocks/sibling_block.hpp"
#include "forest/subtrees.hpp"
#include "io/array_file.hpp"
#include "tree/label_tree.hpp"

namespace oplt {

/// How the score of a classifier becomes a probability. It depends on the loss that the classifiers minimise.
enum class Link : std::uint8_t {
  kSigmoid,       // logistic loss
  kSteepSigmoid,  // AROW, whose scores are mostly between -1 and 1
  kSquaredHinge,  // as in Parabel
};

/// The link for classifiers that were trained by this rule.
Link link_of(const LearningParams& learning);

/// The factor that turns a score into log-odds; nullopt if the link has none.
std::optional<Real> slope_of(Link link);

/// Working memory of one predicting thread.
struct NodeScratch {
  BlockScratch block;
  std::vector<Real> probabilities;
};

/// A probabilistic label tree, trained online or in batch: a tree of labels, and in each node a linear classifier for
/// "some label below this node is relevant, given that one below its parent is".
///
/// A copy shares all parts with the original (copy on write); only a learner writes (PltLearner).
///
/// A tree can be *cut* below its root. Its *top* has the classifiers of the root and of the root's children; each child
/// is the root of a subtree, which is a Plt of its own and may be anywhere (Subtrees). The blocks of a tree never read
/// each other, and a subtree sees exactly the examples that have labels in it. So the parts together learn and predict,
/// bit for bit, what the whole tree would, and joined() makes it whole again.
class Plt {
 public:
  /// Untrained classifiers, for the children of all internal nodes.
  explicit Plt(LabelTree tree, std::uint64_t random_state = 0);

  /// Batch-trained classifiers. `blocks` has the block of the root's own classifier, then those of the internal nodes,
  /// ascending.
  Plt(LabelTree tree, Link link, std::vector<SiblingBlock> blocks, std::uint64_t n_examples);

  /// P(some label is relevant | x).
  Real root_probability(RowView x, NodeScratch& scratch) const;

  /// P(child | v, x) of the children of v in their order; valid until the next use of `scratch`.
  std::span<const Real> child_probabilities(NodeId v, RowView x, NodeScratch& scratch) const;

  /// The score of v's own classifier, from which its probability is computed, and the weights of the features of x in
  /// it, in the order of x. The score is the sum of weight · value in this order, to the bit.
  Real score(NodeId v, RowView x, NodeScratch& scratch) const;
  std::vector<Real> weights(NodeId v, RowView x) const;

  Link link() const { return link_; }

  const LabelTree& tree() const { return *tree_; }
  NodeId n_nodes() const { return tree_->n_nodes(); }
  std::uint32_t n_labels() const { return tree_->n_labels(); }
  std::uint32_t depth() const { return tree_->depth(); }
  std::uint64_t n_examples() const { return n_examples_; }
  /// Number of updates of single classifiers since the tree was created or loaded.
  std::uint64_t n_updates() const { return n_updates_; }
  std::size_t n_cells() const;
  /// Number of weights of the children of v and of its auxiliary classifier. n_cells() is the sum over all nodes, plus
  /// the weights of the root's own classifier.
  std::size_t n_cells_of(NodeId v) const { return has_block(v) ? block(v).n_cells() : 0; }
  std::size_t memory_bytes() const;
  /// For the memory budget (ModelState::budget_bytes). Visits all blocks, but no cells once count() has been called.
  std::size_t budget_bytes() const;
  /// Counts the cells of blocks that have been loaded.
  void count();

  bool has_block(NodeId v) const { return (*block_of_)[v] != kNone; }
  /// The classifiers of the children of v, and its auxiliary one.
  const SiblingBlock& block(NodeId v) const { return *(*blocks_)[(*block_of_)[v]]; }

  /// The node's classifier, and its auxiliary one if it has one.
  std::vector<Cell> classifier(NodeId v) const;
  std::optional<std::vector<Cell>> auxiliary_classifier(NodeId v) const;

  /// A copy for prediction only: no accumulators, no auxiliary classifiers, no weights below `prune` in absolute value.
  /// With `half`, weights are rounded to half precision.
  Plt for_prediction(Real prune, bool half = false) const;

  /// Cuts a whole tree whose root has children. Returns the subtrees, by position of their roots among the children of
  /// this tree's root; this tree becomes the top. In the tree of the top, all labels of a subtree are children of its
  /// root, unless that root is a leaf.
  std::vector<Plt> cut();
  /// The inverse: the whole tree of a top and all its subtrees, by position.
  static Plt joined(const Plt& top, std::span<const Plt* const> subtrees);

  bool is_top() const { return next_key_ > 0; }
  bool is_subtree() const { return !keys_->empty(); }
  /// Of a top: where its subtrees are. It can neither be trained nor searched before set_subtrees().
  Subtrees& subtrees() const;
  void set_subtrees(std::shared_ptr<Subtrees> subtrees) { subtrees_ = std::move(subtrees); }
  /// Of a subtree: by node, a number that tells the order in which all nodes of the whole tree were created.
  NodeId key(NodeId v) const { return (*keys_)[v]; }

  /// Frees some of the classifiers of a tree that is no longer used, unless others share them. Returns whether there
  /// are more.
  bool free_some();

  void save(ArrayWriter& out, const std::string& prefix) const;
  /// Throws FormatError unless each internal node has a matching block; check() checks the content of the blocks.
  static Plt load(const ArrayReader& in, const std::string& prefix, Link link);
  /// Throws FormatError unless the loaded tree is consistent with a model that has this number of features.
  void check(std::uint32_t n_features) const;

 private:
  friend class PltLearner;

  static constexpr BlockId kRootBlock = 0;  // the root's own classifier, which every example reaches

  std::span<const Real> to_probabilities(std::span<const Real> scores, NodeScratch& scratch) const;
  const SiblingBlock& root_block() const { return *(*blocks_)[kRootBlock]; }
  const SiblingBlock& block_with(NodeId v) const {
    return v == LabelTree::kRoot ? root_block() : block(tree_->node(v).parent);
  }
  std::vector<BlockId> blocks_by_node() const;
  void expect_fitting_blocks() const;

  Shared<LabelTree> tree_;
  Shared<Blocks> blocks_;
  Shared<Buffer<BlockId>> block_of_;  // by node: its children's classifiers and its auxiliary one; kNone if neither
  Link link_ = Link::kSigmoid;
  Random random_;  // for the policy
  std::uint64_t n_examples_ = 0;
  std::uint64_t n_updates_ = 0;
  Shared<Buffer<NodeId>> keys_;  // of a subtree: by node; empty otherwise
  NodeId next_key_ = 0;          // of a top: for the next node of the whole tree; 0 otherwise
  std::shared_ptr<Subtrees> subtrees_;
};

/// Sum of Plt::memory_bytes().
std::size_t memory_of(std::span<const Plt> trees);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/plt_learner.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace oplt {

namespace {

constexpr std::size_t kOfferEvery = 64;  // examples

// So many that a message costs little, and so few that shards need not wait for the whole batch.
constexpr std::size_t kPassedOnTogether = 256;
constexpr NodeId kKeysOfLabel = 2;  // an inserted node and a leaf

}  // namespace

void PltLearner::adopt(Plt& plt) const {
  plt.link_ = link_;
  Blocks& blocks = blocks_of(plt);
  Buffer<BlockId>& block_of = plt.block_of_.write();
  for (NodeId v = 0; v < plt.n_nodes(); ++v) {
    if (!policy_.may_choose(plt.tree(), v)) {
      continue;
    }
    if (block_of[v] == kNone) {
      block_of[v] = static_cast<BlockId>(blocks.size());
      blocks.emplace_back();
    }
    blocks[block_of[v]] = Shared(SiblingBlock(true, plt.tree().n_children(v)));
  }
}

void PltLearner::expect_learnable(const Plt& plt) const {
  for (const Shared<SiblingBlock>& block : *plt.blocks_) {
    if (!block->rows().has_accumulators()) {
      throw FormatError("the model was saved for prediction only and cannot be updated");
    }
  }
  const NodeId n_own = plt.is_top() ? 1 : plt.n_nodes();  // the nodes below the root of a top are in its subtrees
  for (NodeId v = 0; v < n_own; ++v) {
    const bool auxiliary = policy_.may_choose(plt.tree(), v);
    if ((plt.has_block(v) && plt.block(v).has_auxiliary()) != auxiliary || plt.has_block(v) < !plt.tree().is_leaf(v)) {
      throw FormatError("node " + std::to_string(v) + " of a tree " + (auxiliary ? "lacks an" : "has an unexpected") +
                        " auxiliary classifier");
    }
  }
}

bool PltLearner::can_cut(const Plt& plt) const {
  return !plt.is_top() && !plt.is_subtree() && policy_.walks_by_itself() && !plt.tree().is_leaf(LabelTree::kRoot) &&
         !policy_.may_choose(plt.tree(), LabelTree::kRoot);
}

void PltLearner::learn(Plt& plt, std::span<const Example> batch, std::span<const NodeId> first_keys,
                       HelperPool& helpers, std::size_t worker) {
  positives_.clear();
  passed_on_.clear();
  passed_labels_.clear();
  steps_.begin_batch(blocks_of(plt), helpers, worker);
  std::size_t n_until_offer = kOfferEvery;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    n_scored_ = 0;
    if (plt.is_top()) {
      learn_top(plt, batch[i], static_cast<std::uint32_t>(i));
      if (passed_on_.size() >= kPassedOnTogether) {
        pass_on(plt);
      }
    } else {
      extend_tree(plt, batch[i].x, batch[i].labels, first_keys.empty() ? kNone : first_keys[i]);
      update_classifiers(plt, batch[i]);
    }
    if (--n_until_offer == 0) {
      steps_.offer();
      n_until_offer = kOfferEvery;
    }
  }
  pass_on(plt);  // before the updates here, so that all work at the same time
  plt.n_updates_ += steps_.end_batch();
  plt.n_examples_ += batch.size();
}

ChildProbabilities PltLearner::child_probabilities(const Plt& plt, RowView x) {
  return [this, &plt, x](NodeId v) {
    const BlockId block = (*plt.block_of_)[v];
    std::size_t i = 0;
    while (i < n_scored_ && scored_[i].block != block && scored_[i].block != kNone) {
      ++i;
    }
    n_scored_ = std::max(n_scored_, i + 1);
    scored_.resize(std::max(scored_.size(), n_scored_));
    Scored& scored = scored_[i];
    scored.block = block;
    steps_.ready(scored.block);
    return plt.child_probabilities(v, x, scored.scratch);
  };
}

/// Updates a block on an example: immediately if the policy has just scored the block (scoring is half of the work),
/// otherwise deferred.
void PltLearner::update(BlockId block, const Example& example, std::span<const std::uint32_t> positives) {
  for (std::size_t i = 0; i < n_scored_; ++i) {
    if (scored_[i].block == block) {
      scored_[i].block = kNone;
      steps_.take_now(block, example.x, positives, example.weight, scored_[i].scratch.block);
      return;
    }
  }
  steps_.defer(block, example.x, positives, example.weight);
}

/// UpdateTree, Algorithm 4. In a subtree, new nodes get keys from `next_key` on: two for each label, because only the
/// subtree knows whether the label needs one node or two.
void PltLearner::extend_tree(Plt& plt, RowView x, std::span<const LabelId> labels, NodeId next_key) {
  if (!policy_.grows()) {
    return;
  }
  const ChildProbabilities probabilities = child_probabilities(plt, x);
  Chosen chosen;  // new labels of one example stay together
  for (const LabelId label : labels) {
    if (plt.tree().leaf_of(label) != kNone) {
      continue;
    }
    if (plt.n_labels() == 0) {
      plt.tree_.write().label_root(label);
      continue;
    }
    const Extension extension = policy_.choose(plt.tree(), chosen, probabilities, plt.random_);
    extend(plt, label, extension);
    if (plt.is_subtree()) {
      Buffer<NodeId>& keys = plt.keys_.write();
      keys.own();
      keys.resize(plt.n_nodes() - 1, next_key);  // of the inserted node, if there is one
      keys.push_back(next_key + 1);              // of the leaf
      next_key += kKeysOfLabel;
    }
  }
}

/// InsertNode if wanted, then AddLeaf: Algorithms 5 and 6 on the tree and on its blocks.
void PltLearner::extend(Plt& plt, LabelId label, Extension extension) {
  LabelTree& tree = plt.tree_.write();
  Blocks& blocks = blocks_of(plt);
  Buffer<BlockId>& block_of = plt.block_of_.write();
  const auto add_block = [&](SiblingBlock block) {
    blocks.emplace_back(std::move(block));
    return static_cast<BlockId>(blocks.size() - 1);
  };
  const NodeId v = extension.node;
  const NodeId inserted = extension.insert ? tree.insert_node(v) : kNone;
  const NodeId leaf = tree.add_leaf(label, v);
  block_of.own();
  block_of.resize(tree.n_nodes(), kNone);

  const BlockId old = block_of[v];
  if (extension.insert) {
    SiblingBlock above = steps_.ready(old)->parent_block();
    if (!tree.is_leaf(inserted) || policy_.may_choose(tree, inserted)) {
      block_of[inserted] = old;  // the old block moves down unchanged
      block_of[v] = add_block(std::move(above));
    } else {
      steps_.ready(old) = Shared(std::move(above));
    }
  }
  SiblingBlock& block = steps_.ready(block_of[v]).write();
  for (std::size_t i = 0; i < n_scored_; ++i) {
    if (scored_[i].block == old || scored_[i].block == block_of[v]) {
      scored_[i].block = kNone;  // its columns change
    }
  }
  block.add_child();
  if (!policy_.may_choose(tree, v)) {
    block.drop_auxiliary();
  }
  if (policy_.may_choose(tree, leaf)) {
    block_of[leaf] = add_block(SiblingBlock(true, 0));
  }
}

/// UpdateClassifiers, Algorithm 7. The positive nodes of AssignToNodes, Algorithm 9, are those on the paths from the
/// labels to the root; the negative ones are their other children, which are columns of the same blocks.
void PltLearner::update_classifiers(const Plt& plt, const Example& example) {
  const LabelTree& tree = plt.tree();
  const Buffer<BlockId>& block_of = *plt.block_of_;
  on_.clear();
  for (const LabelId label : example.labels) {
    const NodeId leaf = tree.leaf_of(label);
    if (leaf == kNone) {  // of a tree that never grows
      continue;
    }
    if (block_of[leaf] != kNone) {
      steps_.defer(block_of[leaf], example.x, {}, example.weight);
    }
    for (NodeId v = leaf; v != LabelTree::kRoot; v = tree.node(v).parent) {
      on_.emplace_back(tree.node(v).parent, tree.node(v).position);
    }
  }
  std::sort(on_.begin(), on_.end());
  on_.erase(std::unique(on_.begin(), on_.end()), on_.end());

  const std::span<std::uint32_t> positions = positives_.allocate(on_.size());  // deferred updates refer to it
  for (std::size_t i = 0; i < on_.size();) {
    const NodeId parent = on_[i].first;
    const std::size_t begin = i;
    for (; i < on_.size() && on_[i].first == parent; ++i) {
      positions[i] = on_[i].second;
    }
    update(block_of[parent], example, positions.subspan(begin, i - begin));
  }
  if (!plt.is_subtree()) {  // the top has the classifier of its root
    defer_root(example);
  }
}

/// Every example reaches the root's own classifier.
void PltLearner::defer_root(const Example& example) {
  static constexpr std::uint32_t kOnlyChild = 0;
  const std::span<const std::uint32_t> root(&kOnlyChild, example.labels.empty() ? 0 : 1);
  steps_.defer(Plt::kRootBlock, example.x, root, example.weight);
}

/// The part of Algorithm 4 that concerns the top of a cut tree: new labels of one example stay together, so all of them
/// go to the subtree to which the policy takes the first one.
void PltLearner::extend_top(Plt& plt, RowView x, std::span<const LabelId> labels) {
  NodeId under = kNone;
  for (const LabelId label : labels) {
    if (!policy_.grows() || plt.tree().leaf_of(label) != kNone) {
      continue;
    }
    if (under == kNone) {
      under = policy_.step_down(plt.tree(), LabelTree::kRoot, child_probabilities(plt, x));
    }
    if (plt.next_key_ > kNone - 2 * kKeysOfLabel) {
      throw InvalidInput("the tree has more nodes than there are ids");
    }
    plt.next_key_ += kKeysOfLabel;
    LabelTree& tree = plt.tree_.write();
    if (tree.is_leaf(under)) {
      tree.insert_node(under);
    }
    tree.add_leaf(label, under);
  }
  Buffer<BlockId>& block_of = plt.block_of_.write();
  block_of.own();
  block_of.resize(plt.n_nodes(), kNone);
}

void PltLearner::pass_on(Plt& plt) {
  if (!passed_on_.empty()) {
    plt.subtrees().learn(passed_on_);
    passed_on_.clear();
  }
}

/// Algorithms 4 and 7 at the top of a cut tree, as extend_tree() and update_classifiers(): updates the classifiers of
/// the root and of its children, and passes the example on to the subtrees in which it has labels.
void PltLearner::learn_top(Plt& plt, const Example& example, std::uint32_t row) {
  const NodeId first_key = plt.next_key_;
  extend_top(plt, example.x, example.labels);
  const LabelTree& tree = plt.tree();
  on_.clear();
  for (const LabelId label : example.labels) {
    if (const NodeId leaf = tree.leaf_of(label); leaf != kNone) {
      const NodeId parent = tree.node(leaf).parent;
      on_.emplace_back(tree.node(parent == LabelTree::kRoot ? leaf : parent).position, label);
    }
  }
  std::sort(on_.begin(), on_.end());
  const std::span<std::uint32_t> positions = positives_.allocate(on_.size());
  const std::span<LabelId> all_labels = passed_labels_.allocate(on_.size());
  std::size_t n_positions = 0;
  for (std::size_t i = 0; i < on_.size();) {
    const std::uint32_t subtree = on_[i].first;
    const std::size_t begin = i;
    for (; i < on_.size() && on_[i].first == subtree; ++i) {
      all_labels[i] = on_[i].second;
    }
    const std::span<const LabelId> labels = all_labels.subspan(begin, i - begin);
    positions[n_positions++] = subtree;
    passed_on_.push_back({subtree, row, {example.x, labels, example.weight}, first_key});
  }
  if (n_positions > 0) {
    update((*plt.block_of_)[LabelTree::kRoot], example, positions.first(n_positions));
  }
  defer_root(example);
}

void learn_trees(std::vector<Plt>& trees, std::deque<PltLearner>& learners, std::span<const Example> batch,
                 HelperPool& helpers) {
  if (trees.size() == 1) {
    learners.front().learn(trees.front(), batch, helpers);
    return;
  }
  helpers.start_many(trees.size(), [&](std::size_t i) {
    return [&learner = learners[i], &tree = trees[i], batch, &helpers](std::size_t worker) {
      learner.learn(tree, batch, helpers, worker);
    };
  });
  helpers.finish();
}

}  // namespace oplt

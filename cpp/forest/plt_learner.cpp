// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/plt_learner.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace oplt {

namespace {

constexpr std::size_t kOfferEvery = 64;  // examples

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
  for (NodeId v = 0; v < plt.n_nodes(); ++v) {
    const bool auxiliary = policy_.may_choose(plt.tree(), v);
    if ((plt.has_block(v) && plt.block(v).has_auxiliary()) != auxiliary || plt.has_block(v) < !plt.tree().is_leaf(v)) {
      throw FormatError("node " + std::to_string(v) + " of a tree " + (auxiliary ? "lacks an" : "has an unexpected") +
                        " auxiliary classifier");
    }
  }
}

void PltLearner::learn(Plt& plt, std::span<const Example> batch, HelperPool& helpers, std::size_t worker) {
  positives_.clear();
  steps_.begin_batch(blocks_of(plt), helpers, worker);
  std::size_t n_until_offer = kOfferEvery;
  for (const Example& example : batch) {
    extend_tree(plt, example.x, example.labels);
    update_classifiers(plt, example);
    if (--n_until_offer == 0) {
      steps_.offer();
      n_until_offer = kOfferEvery;
    }
  }
  plt.n_updates_ += steps_.end_batch();
  plt.n_examples_ += batch.size();
}

/// UpdateTree, Algorithm 4.
void PltLearner::extend_tree(Plt& plt, RowView x, std::span<const LabelId> labels) {
  if (!policy_.grows()) {
    return;
  }
  const ChildProbabilities probabilities = [&](NodeId v) {
    steps_.ready((*plt.block_of_)[v]);
    return plt.child_probabilities(v, x, scratch_);
  };
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

  if (extension.insert) {
    const BlockId old = block_of[v];
    SiblingBlock above = steps_.ready(old)->parent_block();
    if (!tree.is_leaf(inserted) || policy_.may_choose(tree, inserted)) {
      block_of[inserted] = old;  // the old block moves down unchanged
      block_of[v] = add_block(std::move(above));
    } else {
      steps_.ready(old) = Shared(std::move(above));
    }
  }
  SiblingBlock& block = steps_.ready(block_of[v]).write();
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
    steps_.defer(block_of[parent], example.x, positions.subspan(begin, i - begin), example.weight);
  }
  static constexpr std::uint32_t kOnlyChild = 0;
  const std::span<const std::uint32_t> root(&kOnlyChild, example.labels.empty() ? 0 : 1);
  steps_.defer(Plt::kRootBlock, example.x, root, example.weight);
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

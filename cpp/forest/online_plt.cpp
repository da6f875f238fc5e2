// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/online_plt.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

#include "base/error.hpp"
#include "base/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kOfferEvery = 64;  // examples

}  // namespace

OnlinePlt::OnlinePlt(const TrainParams& params) : OnlinePlt(params, LabelTree()) {}

OnlinePlt::OnlinePlt(const TrainParams& params, LabelTree tree)
    : params_(params),
      tree_(std::move(tree)),
      policy_(params),
      random_(params.seed),
      blocks_(params),
      root_block_(blocks_.add({false, 1})) {
  params_.validate();
  for (NodeId v = 0; v < tree_.n_nodes(); ++v) {
    const bool auxiliary = !params_.frozen && policy_.may_choose(tree_, v);
    const bool needs_block = auxiliary || !tree_.is_leaf(v);
    block_of_.push_back(needs_block ? blocks_.add({auxiliary, tree_.n_children(v)}) : kNone);
  }
}

OnlinePlt::OnlinePlt(const TrainParams& params, LabelTree tree, std::vector<SiblingBlock> blocks,
                     std::uint64_t n_examples)
    : OnlinePlt(params, std::move(tree)) {
  assert(params_.frozen);
  n_examples_ = n_examples;
  auto next = blocks.begin();
  blocks_.ready(root_block_) = std::move(*next++);
  for (const BlockId block : block_of_) {
    if (block != kNone) {
      blocks_.ready(block) = std::move(*next++);
    }
  }
  assert(next == blocks.end());
}

void OnlinePlt::expect_unfrozen() const {
  if (params_.frozen) {
    throw FrozenModel(
        "this model was trained at once and learns no more: train another one on all examples, or start one that goes "
        "on with OnlinePLT.from_tree(model.tree)");
  }
}

void OnlinePlt::learn(std::size_t n, const std::function<Example(std::size_t)>& example, std::size_t threads,
                      const std::function<void()>& ahead) {
  expect_unfrozen();
  blocks_.begin_batch(std::min(threads, n), ahead);
  std::exception_ptr failure;
  try {
    for (std::size_t i = 0; i < n; ++i) {
      const Example next = example(i);
      extend_tree(next.x, next.labels);
      update_classifiers(next);
      ++n_examples_;
      if ((i + 1) % kOfferEvery == 0) {
        blocks_.offer();
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    blocks_.end_batch();
  } catch (...) {
    failure = failure ? failure : std::current_exception();
  }
  positives_.clear();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void OnlinePlt::learn(RowView x, std::span<const LabelId> labels, Real weight) {
  learn(1, [&](std::size_t) { return Example{x, labels, weight}; }, 1);
}

/// UpdateTree, Algorithm 4.
void OnlinePlt::extend_tree(RowView x, std::span<const LabelId> labels) {
  if (!grows(params_.policy)) {
    return;
  }
  const ChildProbabilities probabilities = [&](NodeId v) {
    blocks_.ready(block_of_[v]);
    return child_probabilities(v, x, scratch_);
  };
  NodeId chosen = kNone;  // new labels of one example stay together
  for (const LabelId label : labels) {
    if (tree_.leaf_of(label) != kNone) {
      continue;
    }
    if (tree_.n_labels() == 0) {
      tree_.label_root(label);
      continue;
    }
    const Extension extension = policy_.choose(tree_, chosen, probabilities, random_);
    extend(label, extension);
    chosen = extension.node;
  }
}

/// InsertNode if wanted, then AddLeaf: Algorithms 5 and 6 on the tree and on its blocks.
void OnlinePlt::extend(LabelId label, Extension extension) {
  const NodeId v = extension.node;
  const NodeId inserted = extension.insert ? tree_.insert_node(v) : kNone;
  const NodeId leaf = tree_.add_leaf(label, v);
  block_of_.resize(tree_.n_nodes(), kNone);

  if (extension.insert) {
    const BlockId old = block_of_[v];
    SiblingBlock above = blocks_.ready(old).parent_block();
    if (!tree_.is_leaf(inserted) || policy_.may_choose(tree_, inserted)) {
      block_of_[inserted] = old;  // the old block moves down as it is
      block_of_[v] = blocks_.add(std::move(above));
    } else {
      blocks_.ready(old) = std::move(above);
    }
  }
  SiblingBlock& block = blocks_.ready(block_of_[v]);
  block.add_child();
  if (!policy_.may_choose(tree_, v)) {
    block.drop_auxiliary();
  }
  if (policy_.may_choose(tree_, leaf)) {
    block_of_[leaf] = blocks_.add({true, 0});
  }
}

/// UpdateClassifiers, Algorithm 7. The positive nodes of AssignToNodes, Algorithm 9, are those on the ways from the
/// labels to the root; the negative ones are their other children, which are columns of the same blocks.
void OnlinePlt::update_classifiers(const Example& example) {
  on_.clear();
  for (const LabelId label : example.labels) {
    const NodeId leaf = tree_.leaf_of(label);
    if (block_of_[leaf] != kNone) {
      blocks_.defer(block_of_[leaf], example.x, {}, example.weight);
    }
    for (NodeId v = leaf; v != LabelTree::kRoot; v = tree_.node(v).parent) {
      on_.emplace_back(tree_.node(v).parent, tree_.node(v).position);
    }
  }
  std::sort(on_.begin(), on_.end());
  on_.erase(std::unique(on_.begin(), on_.end()), on_.end());

  const std::span<std::uint32_t> positions = positives_.allocate(on_.size());  // the steps keep parts of it
  for (std::size_t i = 0; i < on_.size();) {
    const NodeId parent = on_[i].first;
    const std::size_t begin = i;
    for (; i < on_.size() && on_[i].first == parent; ++i) {
      positions[i] = on_[i].second;
    }
    blocks_.defer(block_of_[parent], example.x, positions.subspan(begin, i - begin), example.weight);
  }
  static constexpr std::uint32_t kOnlyChild = 0;
  const std::span<const std::uint32_t> root(&kOnlyChild, example.labels.empty() ? 0 : 1);
  blocks_.defer(root_block_, example.x, root, example.weight);
}

Real OnlinePlt::root_probability(RowView x, NodeScratch& scratch) const {
  return to_probabilities(blocks_[root_block_].child_scores(x, scratch.block), scratch)[0];
}

std::span<const Real> OnlinePlt::child_probabilities(NodeId v, RowView x, NodeScratch& scratch) const {
  return to_probabilities(blocks_[block_of_[v]].child_scores(x, scratch.block), scratch);
}

std::span<const Real> OnlinePlt::to_probabilities(std::span<const Real> scores, NodeScratch& scratch) const {
  scratch.probabilities.resize(scores.size());
  if (params_.loss == Loss::kLogistic) {
    std::transform(scores.begin(), scores.end(), scratch.probabilities.begin(), sigmoid);
  } else {
    std::transform(scores.begin(), scores.end(), scratch.probabilities.begin(), squared_hinge_probability);
  }
  return scratch.probabilities;
}

std::size_t OnlinePlt::memory_bytes() const {
  return blocks_.memory_bytes() + tree_.memory_bytes() + block_of_.capacity() * sizeof(BlockId);
}

std::vector<Cell> OnlinePlt::classifier(NodeId v) const {
  if (v == LabelTree::kRoot) {
    return blocks_[root_block_].child_cells(0);
  }
  return blocks_[block_of_[tree_.node(v).parent]].child_cells(tree_.node(v).position);
}

std::optional<std::vector<Cell>> OnlinePlt::auxiliary_classifier(NodeId v) const {
  if (block_of_[v] == kNone || !blocks_[block_of_[v]].has_auxiliary()) {
    return std::nullopt;
  }
  return blocks_[block_of_[v]].auxiliary_cells();
}

void OnlinePlt::save(Writer& out) const {
  out.put(n_examples_);
  out.put(random_.state());
  tree_.save(out);
  blocks_[root_block_].save(out);
  for (NodeId v = 0; v < tree_.n_nodes(); ++v) {
    if (block_of_[v] != kNone) {  // which nodes have a block follows from the tree
      blocks_[block_of_[v]].save(out);
    }
  }
}

OnlinePlt OnlinePlt::load(const TrainParams& params, Reader& in) {
  const auto n_examples = in.get<std::uint64_t>();
  const auto random_state = in.get<std::uint64_t>();
  OnlinePlt model(params, LabelTree::load(in));
  model.n_examples_ = n_examples;
  model.random_ = Random(random_state);
  const auto load_block = [&](BlockId id) {
    SiblingBlock& block = model.blocks_.ready(id);
    SiblingBlock loaded = SiblingBlock::load(in);
    if (loaded.has_auxiliary() != block.has_auxiliary() || loaded.n_children() != block.n_children()) {
      throw FormatError("a sibling block does not fit its node");
    }
    block = std::move(loaded);
  };
  load_block(model.root_block_);
  for (const BlockId block : model.block_of_) {
    if (block != kNone) {
      load_block(block);
    }
  }
  return model;
}

}  // namespace oplt

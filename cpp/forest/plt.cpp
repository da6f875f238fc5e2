// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/plt.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.hpp"
#include "base/math.hpp"

namespace oplt {

namespace {

// The steeper, the fewer nodes a search visits; but 4 and 5 lose precision on noisy labels (measured).
constexpr Real kSteepness = 3;

}  // namespace

Link link_of(const LearningParams& learning) {
  return std::holds_alternative<ArowParams>(learning) ? Link::kSteepSigmoid : Link::kSigmoid;
}

std::optional<Real> slope_of(Link link) {
  switch (link) {
    case Link::kSigmoid:
      return Real{1};
    case Link::kSteepSigmoid:
      return kSteepness;
    case Link::kSquaredHinge:
      break;
  }
  return std::nullopt;
}

Plt::Plt(LabelTree tree, std::uint64_t random_state) : tree_(std::move(tree)), random_(random_state) {
  Blocks& blocks = blocks_.write();
  Buffer<BlockId>& block_of = block_of_.write();
  blocks.emplace_back(SiblingBlock(false, 1));
  for (NodeId v = 0; v < tree_->n_nodes(); ++v) {
    if (tree_->is_leaf(v)) {
      block_of.push_back(kNone);
    } else {
      block_of.push_back(static_cast<BlockId>(blocks.size()));
      blocks.emplace_back(SiblingBlock(false, tree_->n_children(v)));
    }
  }
}

Plt::Plt(LabelTree tree, Link link, std::vector<SiblingBlock> solved, std::uint64_t n_examples) : Plt(std::move(tree)) {
  link_ = link;
  n_examples_ = n_examples;
  Blocks& blocks = blocks_.write();
  assert(blocks.size() == solved.size());
  for (std::size_t i = 0; i < solved.size(); ++i) {
    blocks[i] = Shared(std::move(solved[i]));
  }
}

Real Plt::root_probability(RowView x, NodeScratch& scratch) const {
  return to_probabilities(root_block().child_scores(x, scratch.block), scratch)[0];
}

std::span<const Real> Plt::child_probabilities(NodeId v, RowView x, NodeScratch& scratch) const {
  return to_probabilities(block(v).child_scores(x, scratch.block), scratch);
}

// The root is the only child of its own block, at position 0, as in the tree.
Real Plt::score(NodeId v, RowView x, NodeScratch& scratch) const {
  return block_with(v).child_scores(x, scratch.block)[tree_->node(v).position];
}

std::vector<Real> Plt::weights(NodeId v, RowView x) const {
  return block_with(v).child_weights(tree_->node(v).position, x);
}

std::span<const Real> Plt::to_probabilities(std::span<const Real> scores, NodeScratch& scratch) const {
  std::vector<Real>& probabilities = scratch.probabilities;
  probabilities.resize(scores.size());
  if (const std::optional<Real> slope = slope_of(link_)) {
    std::transform(scores.begin(), scores.end(), probabilities.begin(), [&](Real score) { return *slope * score; });
    scratch.block.kernels->sigmoids(probabilities.data(), probabilities.size());
  } else {
    std::transform(scores.begin(), scores.end(), probabilities.begin(), squared_hinge_probability);
  }
  return probabilities;
}

/// The block of the root's own classifier, then those of the nodes, ascending.
std::vector<BlockId> Plt::blocks_by_node() const {
  std::vector<BlockId> order{kRootBlock};
  std::copy_if(block_of_->begin(), block_of_->end(), std::back_inserter(order), [](BlockId id) { return id != kNone; });
  return order;
}

std::size_t Plt::n_cells() const {
  std::size_t n = 0;
  for (const BlockId id : blocks_by_node()) {
    n += (*blocks_)[id]->n_cells();
  }
  return n;
}

std::size_t Plt::memory_bytes() const {
  std::size_t bytes = tree_->memory_bytes() + block_of_->memory_bytes();
  for (const Shared<SiblingBlock>& block : *blocks_) {
    bytes += sizeof(SiblingBlock) + block->memory_bytes();
  }
  return bytes;
}

std::size_t Plt::budget_bytes() const {
  std::size_t bytes = tree_->content_bytes() + block_of_->content_bytes();
  for (const Shared<SiblingBlock>& block : *blocks_) {
    bytes += block->budget_bytes();
  }
  return bytes;
}

void Plt::count() {
  for (Shared<SiblingBlock>& block : blocks_.write()) {
    if (!block->is_counted()) {
      block.write().count();
    }
  }
}

std::size_t memory_of(std::span<const Plt> trees) {
  std::size_t bytes = 0;
  for (const Plt& tree : trees) {
    bytes += tree.memory_bytes();
  }
  return bytes;
}

std::vector<Cell> Plt::classifier(NodeId v) const {
  if (v == LabelTree::kRoot) {
    return root_block().child_cells(0);
  }
  return block(tree_->node(v).parent).child_cells(tree_->node(v).position);
}

std::optional<std::vector<Cell>> Plt::auxiliary_classifier(NodeId v) const {
  if (!has_block(v) || !block(v).has_auxiliary()) {
    return std::nullopt;
  }
  return block(v).auxiliary_cells();
}

Plt Plt::for_prediction(Real prune, bool half) const {
  Plt result(*this);
  Blocks& blocks = result.blocks_.write();
  blocks.clear();
  Buffer<BlockId>& block_of = result.block_of_.write();
  blocks.emplace_back(root_block().for_prediction(prune, half));
  for (NodeId v = 0; v < n_nodes(); ++v) {
    block_of[v] = tree_->is_leaf(v) ? kNone : static_cast<BlockId>(blocks.size());
    if (!tree_->is_leaf(v)) {
      blocks.emplace_back(block(v).for_prediction(prune, half));
    }
  }
  return result;
}

bool Plt::free_some() {
  constexpr std::size_t kSome = 4;
  if (!blocks_.is_unshared()) {
    return false;
  }
  Blocks& blocks = blocks_.write();
  for (std::size_t i = 0; i < kSome && !blocks.empty(); ++i) {
    blocks.pop_back();
  }
  return !blocks.empty();
}

void Plt::save(ArrayWriter& out, const std::string& prefix) const {
  tree_->save(out, prefix + "/tree");
  save_blocks(*blocks_, blocks_by_node(), out, prefix);
  out.begin<BlockId>(prefix + "/block_of");
  BlockId next = kRootBlock;
  for (const BlockId id : *block_of_) {  // renumbered, in the order in which the blocks were saved
    const BlockId saved = id == kNone ? kNone : ++next;
    out.append(std::span(&saved, 1));
  }
  out.put_one(prefix + "/n_examples", n_examples_);
  out.put_one(prefix + "/random", random_.state());
  if (is_top()) {
    out.put_one(prefix + "/next_key", next_key_);
  }
  if (is_subtree()) {
    out.put(prefix + "/keys", *keys_);
  }
}

Plt Plt::load(const ArrayReader& in, const std::string& prefix, Link link) {
  Plt plt{LabelTree()};
  plt.tree_ = Shared(LabelTree::load(in, prefix + "/tree"));
  plt.blocks_ = Shared(load_blocks(in, prefix));
  plt.block_of_ = Shared(in.get<BlockId>(prefix + "/block_of"));
  plt.link_ = link;
  plt.n_examples_ = in.get_one<std::uint64_t>(prefix + "/n_examples");
  plt.random_ = Random(in.get_one<std::uint64_t>(prefix + "/random"));
  if (in.has(prefix + "/next_key")) {
    plt.next_key_ = in.get_one<NodeId>(prefix + "/next_key");
    expect_format(plt.is_top() && !plt.tree_->is_leaf(LabelTree::kRoot), "the top of a cut tree has no children");
  }
  if (in.has(prefix + "/keys")) {
    plt.keys_ = Shared(in.get<NodeId>(prefix + "/keys"));
    expect_format(plt.keys_->size() == plt.n_nodes(), "not all nodes of a subtree have keys");
  }
  plt.expect_fitting_blocks();
  return plt;
}

void Plt::expect_fitting_blocks() const {
  const auto expect = [](bool holds) {
    if (!holds) {
      throw FormatError("the sibling blocks of a tree do not match its nodes");
    }
  };
  expect(block_of_->size() == n_nodes() && !blocks_->empty());
  expect(!root_block().has_auxiliary() && root_block().n_children() == 1);
  for (NodeId v = 0; v < n_nodes(); ++v) {
    const bool is_elsewhere = is_top() && v != LabelTree::kRoot;
    expect(has_block(v) ? (*block_of_)[v] < blocks_->size() && !is_elsewhere : tree_->is_leaf(v) || is_elsewhere);
    expect(!has_block(v) || block(v).n_children() == tree_->n_children(v));
  }
}

void Plt::check(std::uint32_t n_features) const {
  tree_->check();
  std::vector<BlockId> order = blocks_by_node();
  std::sort(order.begin(), order.end());
  if (order.size() != blocks_->size() || std::adjacent_find(order.begin(), order.end()) != order.end()) {
    throw FormatError("a sibling block belongs to no node, or to more than one");
  }
  for (const Shared<SiblingBlock>& block : *blocks_) {
    block->check(n_features);
  }
}

}  // namespace oplt

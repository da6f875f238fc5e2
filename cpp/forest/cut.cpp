// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// How a tree is cut below its root, and joined again.
#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "forest/plt.hpp"

namespace oplt {

namespace {

/// The nodes of a subtree, ascending after its root.
std::vector<NodeId> nodes_below(const LabelTree& tree, NodeId root) {
  std::vector<NodeId> nodes{root};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes.insert(nodes.end(), tree.children(nodes[i]).begin(), tree.children(nodes[i]).end());
  }
  std::sort(nodes.begin() + 1, nodes.end());
  return nodes;
}

/// The tree of these nodes, numbered in their order.
LabelTree tree_of(const LabelTree& tree, std::span<const NodeId> nodes) {
  std::vector<NodeId> number(tree.n_nodes(), kNone);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    number[nodes[i]] = static_cast<NodeId>(i);
  }
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  for (const NodeId v : nodes) {
    parents.push_back(parents.empty() ? kNone : number[tree.node(v).parent]);
    labels.push_back(tree.node(v).label);
  }
  return {parents, labels};
}

/// The root, its children, and below each of these that is not a leaf, all labels of its subtree.
LabelTree flattened(const LabelTree& tree) {
  const std::span<const NodeId> children = tree.children(LabelTree::kRoot);
  std::vector<NodeId> parents{kNone};
  std::vector<LabelId> labels{kNone};
  for (const NodeId child : children) {
    parents.push_back(LabelTree::kRoot);
    labels.push_back(tree.node(child).label);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    for (const NodeId v : nodes_below(tree, children[i])) {
      if (v != children[i] && tree.is_leaf(v)) {
        parents.push_back(static_cast<NodeId>(i + 1));
        labels.push_back(tree.node(v).label);
      }
    }
  }
  return {parents, labels};
}

/// A node of a subtree.
struct NodeOfSubtree {
  NodeId key;
  std::uint32_t subtree;
  NodeId node;
};

/// The nodes of all subtrees in the order in which they were created.
std::vector<NodeOfSubtree> by_creation(std::span<const Plt* const> subtrees) {
  std::vector<NodeOfSubtree> nodes;
  for (std::uint32_t i = 0; i < subtrees.size(); ++i) {
    for (NodeId v = 0; v < subtrees[i]->n_nodes(); ++v) {
      nodes.push_back({subtrees[i]->key(v), i, v});
    }
  }
  std::ranges::sort(nodes, {}, &NodeOfSubtree::key);
  return nodes;
}

void expect_parts(const Plt& top, std::span<const Plt* const> subtrees) {
  const LabelTree& tree = top.tree();
  expect_format(top.is_top() && subtrees.size() == tree.n_children(LabelTree::kRoot),
                "the subtrees do not match the top of the tree");
  for (std::size_t i = 0; i < subtrees.size(); ++i) {
    const NodeId child = tree.children(LabelTree::kRoot)[i];
    expect_format(subtrees[i]->is_subtree() && subtrees[i]->n_labels() == tree.node(child).n_leaves,
                  "a subtree does not have the labels that the top of the tree knows");
  }
}

}  // namespace

Subtrees& Plt::subtrees() const {
  if (subtrees_ == nullptr) {
    throw InvalidInput("the subtrees of a cut tree are elsewhere, and nobody has said where");
  }
  return *subtrees_;
}

std::vector<Plt> Plt::cut() {
  assert(!is_top() && !is_subtree() && !tree_->is_leaf(LabelTree::kRoot));
  std::vector<Plt> subtrees;
  for (const NodeId child : tree_->children(LabelTree::kRoot)) {
    const std::vector<NodeId> nodes = nodes_below(*tree_, child);
    Plt& subtree = subtrees.emplace_back(LabelTree());
    subtree.tree_ = Shared(tree_of(*tree_, nodes));
    Buffer<BlockId>& block_of = subtree.block_of_.write();
    Buffer<NodeId>& keys = subtree.keys_.write();
    block_of.resize(0);
    for (const NodeId v : nodes) {
      keys.push_back(v);
      block_of.push_back(has_block(v) ? static_cast<BlockId>(subtree.blocks_->size()) : kNone);
      if (has_block(v)) {
        subtree.blocks_.write().push_back((*blocks_)[(*block_of_)[v]]);
      }
    }
    subtree.link_ = link_;
    subtree.n_examples_ = n_examples_;
  }
  Blocks blocks{(*blocks_)[kRootBlock], (*blocks_)[(*block_of_)[LabelTree::kRoot]]};
  next_key_ = n_nodes();
  tree_ = Shared(flattened(*tree_));
  blocks_ = Shared(std::move(blocks));
  Buffer<BlockId> block_of;
  block_of.resize(n_nodes(), kNone);
  block_of[LabelTree::kRoot] = kRootBlock + 1;
  block_of_ = Shared(std::move(block_of));
  return subtrees;
}

Plt Plt::joined(const Plt& top, std::span<const Plt* const> subtrees) {
  expect_parts(top, subtrees);
  const std::vector<NodeOfSubtree> order = by_creation(subtrees);
  std::vector<std::vector<NodeId>> number(subtrees.size());  // in the whole tree, by subtree and node
  for (std::size_t i = 0; i < subtrees.size(); ++i) {
    number[i].resize(subtrees[i]->n_nodes());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    number[order[i].subtree][order[i].node] = static_cast<NodeId>(i + 1);
  }
  Plt whole(top);
  whole.next_key_ = 0;
  whole.subtrees_ = nullptr;
  Blocks& blocks = whole.blocks_.write();
  Buffer<BlockId>& block_of = whole.block_of_.write();
  block_of.own();
  block_of.resize(1);
  std::vector<NodeId> parents{kNone};
  std::vector<LabelId> labels{kNone};
  for (const auto& [key, subtree, v] : order) {
    const Plt& part = *subtrees[subtree];
    const LabelTree::Node& node = part.tree().node(v);
    parents.push_back(node.parent == kNone ? LabelTree::kRoot : number[subtree][node.parent]);
    labels.push_back(node.label);
    block_of.push_back(part.has_block(v) ? static_cast<BlockId>(blocks.size()) : kNone);
    if (part.has_block(v)) {
      blocks.push_back((*part.blocks_)[(*part.block_of_)[v]]);
    }
  }
  for (const Plt* part : subtrees) {
    whole.n_updates_ += part->n_updates_;
  }
  whole.tree_ = Shared(LabelTree(parents, labels));
  return whole;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/buffer.hpp"
#include "base/lists.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// A rooted tree whose leaves are labels. Nodes are numbered in order of creation and linked by number; node 0 is the
/// root. Before the first label, the root is the only node and has no label.
class LabelTree {
 public:
  struct Node {
    NodeId parent = kNone;
    LabelId label = kNone;       // kNone for an internal node
    std::uint32_t position = 0;  // among its parent's children
    std::uint32_t n_leaves = 0;  // in its subtree, including itself
    std::uint32_t n_leaf_children = 0;
    std::uint32_t n_children = 0;

    friend bool operator==(const Node&, const Node&) = default;
  };

  static constexpr NodeId kRoot = 0;

  LabelTree();

  /// The tree in which node i has the given parent (kNone for node 0 only) and label (kNone for internal nodes).
  /// Throws InvalidInput unless this is a tree whose leaves have distinct labels; a single root may have none.
  LabelTree(std::span<const NodeId> parents, std::span<const LabelId> labels);

  NodeId n_nodes() const { return static_cast<NodeId>(nodes_.size()); }
  std::uint32_t n_labels() const { return nodes_[kRoot].n_leaves; }
  const Node& node(NodeId v) const { return nodes_[v]; }
  bool is_leaf(NodeId v) const { return nodes_[v].n_children == 0; }
  bool has_only_leaves(NodeId v) const { return nodes_[v].n_leaf_children == nodes_[v].n_children; }
  std::uint32_t n_children(NodeId v) const { return nodes_[v].n_children; }

  /// In order of arrival, which is ascending. Valid until the tree changes.
  std::span<const NodeId> children(NodeId v) const { return children_[v]; }

  /// One more than the largest label.
  LabelId label_bound() const { return static_cast<LabelId>(leaf_of_.size()); }
  /// The label's leaf, or kNone.
  NodeId leaf_of(LabelId label) const { return label < leaf_of_.size() ? leaf_of_[label] : kNone; }

  std::size_t memory_bytes() const;
  std::size_t content_bytes() const {
    return nodes_.content_bytes() + children_.content_bytes() + leaf_of_.content_bytes();
  }

  /// Number of edges on the longest path from the root to a leaf.
  std::uint32_t depth() const;

  /// Adds the first label: the root becomes its leaf (Algorithm 4).
  void label_root(LabelId label);

  /// InsertNode, Algorithm 5: v's label or children move to a new node, which becomes v's only child.
  NodeId insert_node(NodeId v);

  /// AddLeaf, Algorithm 6: adds a leaf for the label under v.
  NodeId add_leaf(LabelId label, NodeId v);

  /// Loaded arrays stay in the file until the tree changes; only their sizes have been checked.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelTree load(const ArrayReader& in, const std::string& prefix);

  /// Checks all content. Throws FormatError unless this is a tree whose leaves have distinct labels.
  void check() const;

 private:
  NodeId add_node();
  void own();
  void set_leaf(LabelId label, NodeId v);
  void link(NodeId child, NodeId parent);
  void count_leaves();

  Buffer<Node> nodes_;
  Lists<NodeId> children_;  // by node
  Buffer<NodeId> leaf_of_;  // by label
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "tree/label_tree.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace oplt {

LabelTree::LabelTree() { add_node(); }

LabelTree::LabelTree(std::span<const NodeId> parents, std::span<const LabelId> labels) {
  if (parents.empty() || parents.size() != labels.size()) {
    throw InvalidInput("parents and labels of a tree must have one entry per node; got " +
                       std::to_string(parents.size()) + " parents and " + std::to_string(labels.size()) + " labels");
  }
  nodes_.resize(parents.size());
  children_.resize(parents.size());
  const auto name = [](NodeId v) { return "node " + std::to_string(v); };
  for (NodeId v = 0; v < parents.size(); ++v) {
    if ((parents[v] == kNone) != (v == kRoot)) {
      throw InvalidInput("node 0, and no other, is the root: " + name(v) + " must " +
                         (v == kRoot ? "not have" : "have") + " a parent");
    }
    if (v != kRoot && parents[v] >= parents.size()) {
      throw InvalidInput(name(v) + " has parent " + std::to_string(parents[v]) + ", but there are only " +
                         std::to_string(parents.size()) + " nodes");
    }
    if (v != kRoot) {
      link(v, parents[v]);
    }
  }
  for (NodeId v = 0; v < parents.size(); ++v) {
    const bool lone_root = parents.size() == 1;
    if (is_leaf(v) && labels[v] == kNone && !lone_root) {
      throw InvalidInput(name(v) + " is a leaf without a label");
    }
    if (!is_leaf(v) && labels[v] != kNone) {
      throw InvalidInput(name(v) + " has both children and a label; only leaves have labels");
    }
    if (labels[v] != kNone) {
      if (leaf_of(labels[v]) != kNone) {
        throw InvalidInput(name(leaf_of(labels[v])) + " and " + name(v) + " have the same label");
      }
      set_leaf(labels[v], v);
    }
  }
  count_leaves();
}

void LabelTree::own() {
  nodes_.own();
  leaf_of_.own();
}

NodeId LabelTree::add_node() {
  nodes_.push_back({});
  children_.resize(nodes_.size());
  return n_nodes() - 1;
}

void LabelTree::set_leaf(LabelId label, NodeId v) {
  if (label >= leaf_of_.size()) {
    leaf_of_.resize(std::size_t{label} + 1, kNone);
  }
  leaf_of_[label] = v;
  nodes_[v].label = label;
}

void LabelTree::link(NodeId child, NodeId parent) {
  nodes_[child].parent = parent;
  nodes_[child].position = nodes_[parent].n_children++;
  children_.push_back(parent, child);
}

/// Computes the counts of a tree built from arrays; throws if a node cannot be reached from the root.
void LabelTree::count_leaves() {
  std::vector<NodeId> order{kRoot};  // parents before children
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children(order[i]).begin(), children(order[i]).end());
  }
  if (order.size() != nodes_.size()) {
    throw InvalidInput("the parents form a cycle: only " + std::to_string(order.size()) + " of " +
                       std::to_string(nodes_.size()) + " nodes are below the root");
  }
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    Node& node = nodes_[*v];
    node.n_leaves += node.label == kNone ? 0 : 1;
    if (node.parent != kNone) {
      nodes_[node.parent].n_leaves += node.n_leaves;
      nodes_[node.parent].n_leaf_children += node.label == kNone ? 0 : 1;
    }
  }
}

std::size_t LabelTree::memory_bytes() const {
  return nodes_.memory_bytes() + children_.memory_bytes() + leaf_of_.memory_bytes();
}

std::uint32_t LabelTree::depth() const {
  std::uint32_t deepest = 0;
  std::vector<std::pair<NodeId, std::uint32_t>> stack{{kRoot, 0}};
  while (!stack.empty()) {
    const auto [v, depth] = stack.back();
    stack.pop_back();
    deepest = std::max(deepest, depth);
    for (const NodeId child : children(v)) {
      stack.emplace_back(child, depth + 1);
    }
  }
  return deepest;
}

void LabelTree::label_root(LabelId label) {
  own();
  set_leaf(label, kRoot);
  nodes_[kRoot].n_leaves = 1;
}

NodeId LabelTree::insert_node(NodeId v) {
  own();
  const NodeId inserted = add_node();
  Node& above = nodes_[v];
  Node& below = nodes_[inserted];
  below.n_leaves = above.n_leaves;
  below.n_leaf_children = above.n_leaf_children;
  below.n_children = above.n_children;
  const std::vector<NodeId> moved(children(v).begin(), children(v).end());
  children_.assign(inserted, moved);
  children_.assign(v, {});
  for (const NodeId child : moved) {
    nodes_[child].parent = inserted;
  }
  above.n_leaf_children = 0;
  above.n_children = 0;
  if (above.label != kNone) {
    set_leaf(above.label, inserted);
    above.label = kNone;
    above.n_leaf_children = 1;
    if (above.parent != kNone) {
      --nodes_[above.parent].n_leaf_children;
    }
  }
  link(inserted, v);
  return inserted;
}

NodeId LabelTree::add_leaf(LabelId label, NodeId v) {
  own();
  const NodeId leaf = add_node();
  link(leaf, v);
  set_leaf(label, leaf);
  ++nodes_[v].n_leaf_children;
  for (NodeId u = leaf; u != kNone; u = nodes_[u].parent) {
    ++nodes_[u].n_leaves;
  }
  return leaf;
}

void LabelTree::save(ArrayWriter& out, const std::string& prefix) const {
  out.put(prefix + "/nodes", nodes_);
  out.put(prefix + "/leaf_of", leaf_of_);
  children_.save(out, prefix + "/children");
}

LabelTree LabelTree::load(const ArrayReader& in, const std::string& prefix) {
  LabelTree tree;
  tree.nodes_ = in.get<Node>(prefix + "/nodes");
  tree.leaf_of_ = in.get<NodeId>(prefix + "/leaf_of");
  tree.children_ = Lists<NodeId>::load(in, prefix + "/children");
  expect_format(!tree.nodes_.empty() && tree.nodes_.size() < kNone,
                "a tree has no root, or more nodes than there are ids");
  expect_format(tree.children_.size() == tree.nodes_.size() && tree.leaf_of_.size() < kNone,
                "the arrays of a tree differ in size");
  return tree;
}

/// Rebuilds the tree from parents and labels, which determine everything else, and compares.
void LabelTree::check() const {
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  for (const Node& node : nodes_) {
    // Without this limit, a damaged file could make the table of leaves arbitrarily large.
    expect_format(node.label == kNone || node.label < label_bound(), "the tree has a label beyond its table of leaves");
    parents.push_back(node.parent);
    labels.push_back(node.label);
  }
  try {
    const LabelTree expected(parents, labels);
    bool fits = std::ranges::equal(nodes_, expected.nodes_) && std::ranges::equal(leaf_of_, expected.leaf_of_);
    for (NodeId v = 0; v < n_nodes() && fits; ++v) {
      fits = std::ranges::equal(children(v), expected.children(v));
    }
    expect_format(fits, "the children, positions or leaves of a tree do not match its parents");
  } catch (const InvalidInput& error) {
    throw FormatError(std::string("the saved tree is not valid: ") + error.what());
  }
}

}  // namespace oplt

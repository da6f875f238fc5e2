// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "tree/label_tree.hpp"

using namespace oplt;
using oplt::test::saved_bytes;
using Children = std::vector<NodeId>;

namespace {

/// Everything that a node stores follows from the parents and labels.
void check_consistent(const LabelTree& tree) {
  std::vector<LabelTree::Node> expected(tree.n_nodes());
  std::uint32_t n_labels = 0;
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    const NodeId parent = tree.node(v).parent;
    CHECK_EQ(parent == kNone, v == LabelTree::kRoot);
    if (parent != kNone) {
      expected[v].position = static_cast<std::uint32_t>(expected[parent].children.size());
      expected[parent].children.push_back(v);
    }
    if (tree.node(v).label != kNone) {
      ++n_labels;
      CHECK_EQ(tree.leaf_of(tree.node(v).label), v);
      expected[parent == kNone ? v : parent].n_leaf_children += parent == kNone ? 0 : 1;
      for (NodeId u = v; u != kNone; u = tree.node(u).parent) {
        ++expected[u].n_leaves;
      }
    }
  }
  CHECK_EQ(tree.n_labels(), n_labels);
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    const LabelTree::Node& node = tree.node(v);
    CHECK_EQ(node.children, expected[v].children);
    CHECK_EQ(node.position, expected[v].position);
    CHECK_EQ(node.n_leaves, expected[v].n_leaves);
    CHECK_EQ(node.n_leaf_children, expected[v].n_leaf_children);
    CHECK_EQ(tree.n_children(v), node.children.size());
    CHECK_EQ(tree.is_leaf(v), node.children.empty());
    CHECK(tree.is_leaf(v) == (node.label != kNone) || tree.n_nodes() == 1);
    CHECK_EQ(tree.has_only_leaves(v), std::all_of(node.children.begin(), node.children.end(),
                                                  [&](NodeId child) { return tree.is_leaf(child); }));
  }
}

LabelTree labelled_root() {
  LabelTree tree;
  tree.label_root(0);
  return tree;
}

/// Root 0 with the leaves 1 and 2.
LabelTree two_leaves() {
  LabelTree tree = labelled_root();
  tree.insert_node(0);
  tree.add_leaf(1, 0);
  return tree;
}

LabelTree make(const std::vector<NodeId>& parents, const std::vector<LabelId>& labels) { return {parents, labels}; }

LabelTree load(std::span<const std::byte> bytes) {
  Reader in(bytes);
  LabelTree tree = LabelTree::load(in);
  in.expect_end();
  return tree;
}

}  // namespace

TEST("a new tree is a root without a label") {
  const LabelTree tree;
  CHECK_EQ(tree.n_nodes(), 1U);
  CHECK_EQ(tree.n_labels(), 0U);
  CHECK_EQ(tree.depth(), 0U);
  CHECK_EQ(tree.leaf_of(0), kNone);
  check_consistent(tree);
}

TEST("the first label makes the root its leaf") {
  LabelTree tree;
  tree.label_root(3);
  CHECK_EQ(tree.n_nodes(), 1U);
  CHECK_EQ(tree.n_labels(), 1U);
  CHECK_EQ(tree.leaf_of(3), LabelTree::kRoot);
  CHECK_EQ(tree.leaf_of(2), kNone);
  CHECK_EQ(tree.leaf_of(4), kNone);
  check_consistent(tree);
}

TEST("variant 1: a leaf under an internal node") {
  LabelTree tree = two_leaves();
  CHECK_EQ(tree.add_leaf(2, 0), 3U);
  CHECK_EQ(tree.node(0).children, (Children{1, 2, 3}));
  CHECK_EQ(tree.n_labels(), 3U);
  check_consistent(tree);
}

TEST("variant 2: a leaf beside the children of an internal node, which move down") {
  LabelTree tree = two_leaves();
  CHECK_EQ(tree.insert_node(0), 3U);
  CHECK_EQ(tree.node(0).children, Children{3});
  CHECK_EQ(tree.node(3).children, (Children{1, 2}));
  check_consistent(tree);
  CHECK_EQ(tree.add_leaf(2, 0), 4U);
  CHECK_EQ(tree.node(0).children, (Children{3, 4}));
  CHECK_EQ(tree.depth(), 2U);
  check_consistent(tree);
}

TEST("variant 3: a leaf is split") {
  LabelTree tree = two_leaves();
  CHECK_EQ(tree.insert_node(2), 3U);
  CHECK_EQ(tree.leaf_of(1), 3U);
  CHECK_EQ(tree.node(2).label, kNone);
  tree.add_leaf(2, 2);
  CHECK_EQ(tree.node(2).children, (Children{3, 4}));
  CHECK_EQ(tree.node(0).n_leaf_children, 1U);
  check_consistent(tree);
}

TEST("everything stays right through random extensions") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    LabelTree tree = labelled_root();
    for (LabelId label = 1; label < 60; ++label) {
      const NodeId v = random.below(tree.n_nodes());
      if (tree.is_leaf(v) || random.below(2) == 0) {
        tree.insert_node(v);
        check_consistent(tree);
      }
      tree.add_leaf(label, v);
      check_consistent(tree);
    }
    CHECK_EQ(tree.n_labels(), 60U);
  }
}

TEST("depth is that of the deepest leaf") {
  CHECK_EQ(two_leaves().depth(), 1U);
  CHECK_EQ(make({kNone, 0, 1, 2, 0}, {kNone, kNone, kNone, 0, 1}).depth(), 3U);
  CHECK_EQ(make({kNone, 4, 0, 0, 3}, {kNone, 1, 0, kNone, kNone}).depth(), 3U);  // a parent after its child
}

TEST("a tree can be made at once, its labels in any order") {
  const LabelTree tree = make({kNone, 0, 0, 1, 1}, {kNone, kNone, 2, 0, 1});
  CHECK_EQ(tree.leaf_of(2), 2U);
  CHECK_EQ(tree.leaf_of(0), 3U);
  check_consistent(tree);
  check_consistent(make({kNone}, {kNone}));
  CHECK_EQ(make({kNone}, {kNone}).n_labels(), 0U);
  check_consistent(make({kNone}, {5}));
  CHECK_EQ(make({kNone}, {5}).n_labels(), 1U);
}

TEST("what is not a tree of labels is refused") {
  CHECK_THROWS_WITH(InvalidInput, "0 parents", make({}, {}));
  CHECK_THROWS_WITH(InvalidInput, "2 parents and 1 labels", make({kNone, 0}, {kNone}));
  CHECK_THROWS_WITH(InvalidInput, "cycle", make({kNone, 0, 3, 2, 3}, {kNone, 0, kNone, kNone, 1}));
  CHECK_THROWS_WITH(InvalidInput, "cycle", make({kNone, 0, 2, 2}, {kNone, 0, kNone, 1}));
  CHECK_THROWS_WITH(InvalidInput, "node 2 is a leaf without a label", make({kNone, 0, 0}, {kNone, 0, kNone}));
  CHECK_THROWS_WITH(InvalidInput, "node 1 and node 2 have the same label", make({kNone, 0, 0}, {kNone, 0, 0}));
  CHECK_THROWS_WITH(InvalidInput, "node 0 has both", make({kNone, 0, 0}, {2, 0, 1}));
  CHECK_THROWS_WITH(InvalidInput, "node 2 has parent 3", make({kNone, 0, 3}, {kNone, 0, 1}));
  CHECK_THROWS_WITH(InvalidInput, "node 2 must have a parent", make({kNone, 0, kNone}, {kNone, 0, 1}));
  CHECK_THROWS_WITH(InvalidInput, "node 0 must not have a parent", make({1, 0}, {kNone, 0}));
}

TEST("a loaded tree equals the saved one") {
  Random random(2);
  for (const LabelTree& tree : {LabelTree(), labelled_root(), two_leaves(), test::random_tree(random, 50)}) {
    const LabelTree loaded = load(saved_bytes(tree));
    CHECK(saved_bytes(loaded) == saved_bytes(tree));
    CHECK_EQ(loaded.n_labels(), tree.n_labels());
    check_consistent(loaded);
  }
}

TEST("saved bytes that are no tree throw") {
  struct Parts {
    void save(Writer& out) const {
      out.put_array(std::span<const NodeId>(parents));
      out.put_array(std::span<const LabelId>(labels));
    }
    std::vector<NodeId> parents;
    std::vector<LabelId> labels;
  };
  CHECK_THROWS_WITH(FormatError, "cycle", load(saved_bytes(Parts{{kNone, 0, 2}, {kNone, 0, kNone}})));
  CHECK_THROWS_WITH(FormatError, "beyond", load(saved_bytes(Parts{{kNone, 0, 0}, {kNone, 0, kNone - 1}})));
  CHECK_THROWS(FormatError, load(saved_bytes(Parts{{}, {}})));
  const auto bytes = saved_bytes(two_leaves());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS(FormatError, load(std::span(bytes).first(n)));
  }
}

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

Children children(const LabelTree& tree, NodeId v) { return {tree.children(v).begin(), tree.children(v).end()}; }

/// Checks that everything stored in the nodes matches the parents and labels.
void check_consistent(const LabelTree& tree) {
  std::vector<LabelTree::Node> expected(tree.n_nodes());
  std::vector<Children> all_children(tree.n_nodes());
  std::uint32_t n_labels = 0;
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    const NodeId parent = tree.node(v).parent;
    CHECK_EQ(parent == kNone, v == LabelTree::kRoot);
    if (parent != kNone) {
      expected[v].position = static_cast<std::uint32_t>(all_children[parent].size());
      all_children[parent].push_back(v);
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
    CHECK_EQ(children(tree, v), all_children[v]);
    CHECK_EQ(node.position, expected[v].position);
    CHECK_EQ(node.n_leaves, expected[v].n_leaves);
    CHECK_EQ(node.n_leaf_children, expected[v].n_leaf_children);
    CHECK_EQ(tree.n_children(v), all_children[v].size());
    CHECK_EQ(tree.is_leaf(v), all_children[v].empty());
    CHECK(tree.is_leaf(v) == (node.label != kNone) || tree.n_nodes() == 1);
    CHECK_EQ(tree.has_only_leaves(v),
             std::ranges::all_of(all_children[v], [&](NodeId child) { return tree.is_leaf(child); }));
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

LabelTree load(const std::vector<std::byte>& bytes) {
  LabelTree tree = LabelTree::load(test::read_arrays(bytes), "thing");
  tree.check();
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
  CHECK_EQ(children(tree, 0), (Children{1, 2, 3}));
  CHECK_EQ(tree.n_labels(), 3U);
  check_consistent(tree);
}

TEST("variant 2: a leaf beside the children of an internal node, which move down") {
  LabelTree tree = two_leaves();
  CHECK_EQ(tree.insert_node(0), 3U);
  CHECK_EQ(children(tree, 0), Children{3});
  CHECK_EQ(children(tree, 3), (Children{1, 2}));
  check_consistent(tree);
  CHECK_EQ(tree.add_leaf(2, 0), 4U);
  CHECK_EQ(children(tree, 0), (Children{3, 4}));
  CHECK_EQ(tree.depth(), 2U);
  check_consistent(tree);
}

TEST("variant 3: a leaf is split") {
  LabelTree tree = two_leaves();
  CHECK_EQ(tree.insert_node(2), 3U);
  CHECK_EQ(tree.leaf_of(1), 3U);
  CHECK_EQ(tree.node(2).label, kNone);
  tree.add_leaf(2, 2);
  CHECK_EQ(children(tree, 2), (Children{3, 4}));
  CHECK_EQ(tree.node(0).n_leaf_children, 1U);
  check_consistent(tree);
}

TEST("the tree stays consistent through random extensions") {
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

TEST("a tree can be built from arrays, with labels in any order") {
  const LabelTree tree = make({kNone, 0, 0, 1, 1}, {kNone, kNone, 2, 0, 1});
  CHECK_EQ(tree.leaf_of(2), 2U);
  CHECK_EQ(tree.leaf_of(0), 3U);
  check_consistent(tree);
  check_consistent(make({kNone}, {kNone}));
  CHECK_EQ(make({kNone}, {kNone}).n_labels(), 0U);
  check_consistent(make({kNone}, {5}));
  CHECK_EQ(make({kNone}, {5}).n_labels(), 1U);
}

TEST("arrays that are not a tree of labels are rejected") {
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

TEST("a tree is used in place in a file, and can be extended") {
  Random random(3);
  for (LabelTree tree : {LabelTree(), labelled_root(), two_leaves(), test::random_tree(random, 1000)}) {
    const auto file = test::saved_bytes(tree);
    LabelTree loaded = LabelTree::load(test::read_arrays(file), "thing");
    check_consistent(loaded);
    loaded.check();
    CHECK(test::saved_bytes(loaded) == file);
    CHECK(test::saved_bytes(test::rebuilt(tree)) == file);
    const LabelTree untouched = loaded;
    for (LabelTree* const growing : {&tree, &loaded}) {
      if (growing->n_labels() == 0) {
        growing->label_root(0);
      }
      for (LabelId label = growing->n_labels(); label < 700; ++label) {
        const NodeId v = label * 7919 % growing->n_nodes();
        growing->add_leaf(label,
                          growing->is_leaf(v) || label % 2 == 0 ? growing->node(growing->insert_node(v)).parent : v);
      }
    }
    check_consistent(loaded);
    loaded.check();
    CHECK(test::saved_bytes(loaded) == test::saved_bytes(tree));
    CHECK(test::saved_bytes(untouched) == file);
  }
}

TEST("arrays of the wrong sizes are rejected when a tree is loaded") {
  const auto file = test::saved_bytes(two_leaves());
  const auto open = [](const std::vector<std::byte>& bytes) { LabelTree::load(test::read_arrays(bytes), "thing"); };
  CHECK_THROWS_WITH(FormatError, "no root", open(test::with_array<LabelTree::Node>(file, "thing/nodes", {})));
  CHECK_THROWS_WITH(FormatError, "differ in size",
                    open(test::with_array<LabelTree::Node>(file, "thing/nodes", std::vector<LabelTree::Node>(2))));
}

TEST("content that is not a tree does not pass the check") {
  const auto file = test::saved_bytes(make({kNone, 0, 0, 2, 2}, {kNone, 0, kNone, 1, 2}));
  load(file);
  const auto nodes = test::read_arrays(file).get<LabelTree::Node>("thing/nodes");
  const auto refuses = [&](NodeId v, auto change, const char* text) {
    LabelTree::Node changed = nodes[v];
    change(changed);
    CHECK_THROWS_WITH(FormatError, text, load(test::with_value(file, "thing/nodes", v, changed)));
  };
  refuses(2, [](auto& node) { node.parent = 2; }, "cycle");
  refuses(2, [](auto& node) { node.parent = 5; }, "only 5 nodes");
  refuses(2, [](auto& node) { node.parent = kNone; }, "must have a parent");
  refuses(1, [](auto& node) { node.label = kNone; }, "without a label");
  refuses(1, [](auto& node) { node.label = 1; }, "the same label");
  refuses(1, [](auto& node) { node.label = 5; }, "beyond");
  refuses(3, [](auto& node) { node.position = 7; }, "match its parents");
  refuses(0, [](auto& node) { node.n_leaves = 4; }, "match its parents");
  refuses(0, [](auto& node) { node.n_leaf_children = 2; }, "match its parents");
  refuses(0, [](auto& node) { node.n_children = 3; }, "match its parents");
  refuses(4, [](auto& node) { node.n_children = 1; }, "match its parents");
  CHECK_THROWS_WITH(FormatError, "match its parents", load(test::with_value(file, "thing/leaf_of", 0, NodeId{9})));
  CHECK_THROWS_WITH(FormatError, "match its parents",
                    load(test::with_array<NodeId>(file, "thing/leaf_of", Children{1, 3, 4, kNone})));
  CHECK_THROWS_WITH(FormatError, "match its parents",
                    load(test::with_value(file, "thing/children/values", 0, NodeId{9})));
}

TEST("whatever passes the check of a tree does no harm") {
  Random random(4);
  const auto file = saved_bytes(test::random_tree(random, 60));
  CHECK(test::n_harmless(file, 3000, [](const std::vector<std::byte>& bytes) {
          LabelTree tree = LabelTree::load(test::read_arrays(bytes), "thing");
          tree.check();
          check_consistent(tree);
          tree.add_leaf(tree.n_labels(), tree.node(tree.insert_node(7)).parent);
          check_consistent(tree);
        }) > 50);
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/random.hpp"
#include "base/span_pool.hpp"
#include "check.hpp"
#include "encode/row_builder.hpp"
#include "tree/label_clustering.hpp"
#include "tree/label_tree.hpp"

using namespace oplt;

namespace {

constexpr BalancedShape kShapes[] = {{2, 2}, {2, 3}, {2, 100}, {3, 3}, {5, 8}, {16, 20}, {31, 31}};

/// Examples of numbered features and labels.
struct Examples {
  std::vector<std::int64_t> x_bounds{0};
  std::vector<std::int32_t> features;
  std::vector<Real> values;
  std::vector<std::int64_t> y_bounds{0};
  std::vector<std::int32_t> labels;

  void add(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
    features.insert(features.end(), x.begin(), x.end());
    values.resize(features.size(), 1);
    labels.insert(labels.end(), y.begin(), y.end());
    x_bounds.push_back(static_cast<std::int64_t>(features.size()));
    y_bounds.push_back(static_cast<std::int64_t>(labels.size()));
  }

  std::size_t size() const { return x_bounds.size() - 1; }
  NamedRows x() const { return {{x_bounds}, {.names = {}, .numbers = features}, values}; }
  NamedLabels y() const { return {{y_bounds}, {.names = {}, .numbers = labels}}; }

  NamedTree clustered(BalancedShape shape, std::uint64_t seed = 1, std::size_t threads = 1) const {
    return cluster_labels(x(), y(), shape, seed, threads);
  }
};

/// Labels of topics: topic = label mod n_topics. A label's examples have three of their topic's ten features, and two
/// of the hundred that all share.
Examples topics(std::int32_t n_topics, std::int32_t n_labels, std::uint64_t seed) {
  Random random(seed);
  Examples examples;
  for (std::int32_t i = 0; i < 4 * n_labels; ++i) {
    const std::int32_t label = i % n_labels;
    std::set<std::int32_t> x;
    while (x.size() < 3) {
      x.insert(100 + 10 * (label % n_topics) + static_cast<std::int32_t>(random.below(10)));
    }
    while (x.size() < 5) {
      x.insert(static_cast<std::int32_t>(random.below(100)));
    }
    examples.add({x.begin(), x.end()}, {label});
  }
  return examples;
}

/// Checks the properties of all balanced trees.
void check_balanced(const TreeNodes& nodes, std::uint32_t n_labels, BalancedShape shape) {
  const LabelTree tree(nodes.parents, nodes.labels);  // throws if it is not a tree, or if a label occurs twice
  CHECK_EQ(tree.n_labels(), n_labels);
  for (LabelId label = 0; label < n_labels; ++label) {
    CHECK(tree.leaf_of(label) != kNone);
  }
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    const LabelTree::Node& node = tree.node(v);
    const bool divided = node.n_leaves > shape.max_leaves;
    CHECK_EQ(tree.n_children(v), divided ? shape.arity : node.n_leaves == 1 ? 0 : node.n_leaves);
    std::uint32_t least = node.n_leaves;
    std::uint32_t most = 0;
    for (const NodeId child : tree.children(v)) {
      least = std::min(least, tree.node(child).n_leaves);
      most = std::max(most, tree.node(child).n_leaves);
    }
    CHECK(tree.is_leaf(v) || most - least <= 1);
  }
}

std::uint64_t digest(const TreeNodes& nodes) {
  std::uint64_t hash = 0;
  for (std::size_t v = 0; v < nodes.parents.size(); ++v) {
    hash = Random(hash ^ nodes.parents[v]).next();
    hash = Random(hash ^ nodes.labels[v]).next();
  }
  return hash;
}

bool same(const TreeNodes& a, const TreeNodes& b) { return a.parents == b.parents && a.labels == b.labels; }

}  // namespace

TEST("trees are balanced and hold each label once") {
  for (const BalancedShape shape : kShapes) {
    for (const std::int32_t n_labels : {1, 2, 3, 7, 31, 32, 33, 100, 257}) {
      const NamedTree tree = topics(5, n_labels, 1).clustered(shape);
      CHECK_EQ(tree.labels.size(), static_cast<std::uint32_t>(n_labels));
      check_balanced(tree.nodes, tree.labels.size(), shape);
      check_balanced(shuffled_tree(tree.labels.size(), shape, 3), tree.labels.size(), shape);
    }
  }
}

TEST("without labels the root is the only node") {
  Examples examples;
  examples.add({1, 2}, {});
  for (const TreeNodes& nodes : {examples.clustered({2, 2}).nodes, shuffled_tree(0, {2, 2}, 1)}) {
    CHECK_EQ(nodes.parents, std::vector<NodeId>{kNone});
    CHECK_EQ(nodes.labels, std::vector<LabelId>{kNone});
  }
}

TEST("labels of a topic are clustered together") {
  for (const BalancedShape shape : {BalancedShape{2, 20}, BalancedShape{4, 20}, BalancedShape{8, 20}}) {
    int n_pairs = 0;
    int n_alike = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const NamedTree made = topics(8, 160, seed).clustered(shape, seed);
      const LabelTree tree(made.nodes.parents, made.nodes.labels);
      for (LabelId one = 0; one < 160; ++one) {
        for (LabelId other = 0; other < one; ++other) {
          if (tree.node(tree.leaf_of(one)).parent == tree.node(tree.leaf_of(other)).parent) {
            ++n_pairs;
            n_alike += made.labels.name(one).number % 8 == made.labels.name(other).number % 8 ? 1 : 0;
          }
        }
      }
    }
    CHECK(4 * n_alike > 3 * n_pairs);  // in random order it would be 1 of 8
  }
}

TEST("neither the threads nor the order within an example change the tree") {
  Examples examples = topics(10, 300, 2);
  const TreeNodes expected = examples.clustered({3, 6}).nodes;
  for (const std::size_t threads : {2U, 3U, 16U}) {
    CHECK(same(examples.clustered({3, 6}, 1, threads).nodes, expected));
  }
  for (std::size_t i = 0; i + 1 < examples.x_bounds.size(); ++i) {
    std::reverse(examples.features.begin() + examples.x_bounds[i],
                 examples.features.begin() + examples.x_bounds[i + 1]);
  }
  CHECK(same(examples.clustered({3, 6}).nodes, expected));
}

TEST("a different seed gives a different tree") {
  const Examples examples = topics(10, 300, 2);
  CHECK(!same(examples.clustered({2, 6}, 1).nodes, examples.clustered({2, 6}, 2).nodes));
  CHECK(!same(shuffled_tree(300, {2, 6}, 1), shuffled_tree(300, {2, 6}, 2)));
}

TEST("trees are the same on every machine") {
  CHECK_EQ(digest(topics(10, 300, 2).clustered({2, 6}).nodes), 16556422539740478403U);
  CHECK_EQ(digest(topics(10, 300, 2).clustered({5, 9}).nodes), 7151002552564814385U);
  CHECK_EQ(digest(shuffled_tree(300, {3, 6}, 1)), 11909725295331847828U);
}

TEST("encoded examples give the same tree as named examples, whatever the steps and helpers are") {
  Examples examples = topics(10, 300, 2);
  for (std::size_t i = 0; i < examples.values.size(); ++i) {
    examples.values[i] = static_cast<Real>(i % 7 + 1) / 3;
  }
  const TreeNodes expected = examples.clustered({3, 6}, 7).nodes;
  for (const std::size_t step : {1U, 100U, 1'000'000U}) {
    Vocabulary features;
    Vocabulary labels;
    std::vector<std::uint32_t> ids;
    std::vector<LabelId> label_ids;
    LabelSums sums(examples.size());
    for (std::size_t i = 0; i < examples.size(); ++i) {
      features.add_row(examples.x().names, examples.x().bounds.begin(i), examples.x().bounds.end(i), ids);
      labels.add_row(examples.y().names, examples.y().bounds.begin(i), examples.y().bounds.end(i), label_ids);
      std::sort(label_ids.begin(), label_ids.end());
      label_ids.erase(std::unique(label_ids.begin(), label_ids.end()), label_ids.end());
      sums.add(ids, examples.x().bounds.row(examples.x().values, i), label_ids);
    }
    LabelVectors vectors;
    while (!sums.advance(vectors, step)) {
    }
    HelperPool alone(0);
    HelperPool three(3);
    for (const bool in_turn : {false, true}) {
      LabelClustering by_some(vectors, {3, 6}, 7);
      for (int i = 0; !by_some.advance(step, in_turn && i % 3 != 0 ? three : alone); ++i) {
      }
      CHECK(same(by_some.take(), expected));
    }
  }
}

TEST("no labels make a tree of one node, also in steps") {
  LabelVectors vectors;
  CHECK(LabelSums(0).advance(vectors, 1));
  LabelClustering clustering(vectors, {2, 2}, 1);
  HelperPool alone(0);
  CHECK(clustering.advance(1, alone));
  CHECK_EQ(clustering.take().parents.size(), 1U);
}

TEST("labels with equal or empty vectors are divided evenly") {
  Examples alike;
  Examples empty;
  for (std::int32_t label = 0; label < 50; ++label) {
    alike.add({1, 2, 3}, {label});
    empty.add({}, {label});
  }
  check_balanced(alike.clustered({3, 4}).nodes, 50, {3, 4});
  check_balanced(empty.clustered({3, 4}).nodes, 50, {3, 4});
}

TEST("an exception from poll ends the work") {
  const Examples examples = topics(3, 100, 1);
  int calls = 0;
  const auto poll = [&] {
    if (++calls == 3) {
      throw std::runtime_error("enough");
    }
  };
  CHECK_THROWS_WITH(std::runtime_error, "enough", cluster_labels(examples.x(), examples.y(), {2, 2}, 1, 2, poll));
  CHECK_EQ(calls, 3);
}

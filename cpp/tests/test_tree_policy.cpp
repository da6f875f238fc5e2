// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "check.hpp"
#include "helpers.hpp"
#include "tree/tree_policy.hpp"

using namespace oplt;

namespace {

constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {{2, 2}, {2, 5}, {3, 3}, {4, 10}, {16, 32}};

TreeParams make_params(Policy policy, std::uint32_t arity = 2, std::uint32_t max_leaves = 4) {
  return test::make_params(policy, arity, max_leaves).forest.tree;
}

/// A tree that grows by a policy, with random probabilities instead of classifiers.
class Growth {
 public:
  Growth(const TreeParams& params, LabelTree tree, std::uint64_t seed)
      : policy_(params), tree_(std::move(tree)), next_label_(tree_.n_labels()), random_(seed) {
    if (next_label_ == 0) {
      tree_.label_root(next_label_++);
    }
  }

  /// Adds the labels of one example, and checks the guarantees of may_choose().
  void add_labels(std::uint32_t n) {
    Chosen chosen;
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<bool> could_choose;
      for (NodeId v = 0; v < tree_.n_nodes(); ++v) {
        could_choose.push_back(policy_.may_choose(tree_, v));
      }
      const Extension extension =
          policy_.choose(tree_, chosen, [&](NodeId v) { return random_probabilities(v); }, random_);
      CHECK(could_choose[extension.node]);
      CHECK(extension.insert || !tree_.is_leaf(extension.node));
      if (extension.insert) {
        tree_.insert_node(extension.node);
      }
      tree_.add_leaf(next_label_++, extension.node);
      for (NodeId v = 0; v < could_choose.size(); ++v) {
        CHECK(could_choose[v] || !policy_.may_choose(tree_, v));  // once false, it stays false
      }
    }
  }

  const LabelTree& tree() const { return tree_; }

 private:
  std::span<const Real> random_probabilities(NodeId v) {
    probabilities_.clear();
    for (std::uint32_t i = 0; i < tree_.n_children(v); ++i) {
      probabilities_.push_back(static_cast<Real>(random_.below(1000)) / 1000);
    }
    return probabilities_;
  }

  TreePolicy policy_;
  LabelTree tree_;
  LabelId next_label_;
  Random random_;
  std::vector<Real> probabilities_;
};

LabelTree grown(const TreeParams& params, std::uint32_t n_examples, std::uint64_t seed) {
  Growth growth(params, LabelTree(), seed);
  Random random(seed + 100);
  for (std::uint32_t i = 0; i < n_examples; ++i) {
    growth.add_labels(1 + random.below(3) * random.below(3));
  }
  return growth.tree();
}

/// A root with two internal nodes, 1 with n_first leaves and 2 with n_second.
LabelTree two_groups(std::uint32_t n_first, std::uint32_t n_second) {
  std::vector<NodeId> parents{kNone, 0, 0};
  std::vector<LabelId> labels{kNone, kNone, kNone};
  for (LabelId label = 0; label < n_first + n_second; ++label) {
    parents.push_back(label < n_first ? 1 : 2);
    labels.push_back(label);
  }
  return {parents, labels};
}

Extension choose(const TreeParams& params, const LabelTree& tree, const std::vector<Real>& of_root_children) {
  TreePolicy policy(params);
  Random random(1);
  Chosen chosen;
  return policy.choose(tree, chosen, [&](NodeId) { return std::span<const Real>(of_root_children); }, random);
}

TreeParams greedy(double alpha) {
  TreeParams params = make_params(Policy::kBestGreedy, 2, 100);
  params.alpha = alpha;
  return params;
}

}  // namespace

TEST("only nodes for which may_choose() holds are chosen, and once false, it stays false") {
  for (const Policy policy : test::kGrowingPolicies) {
    for (const auto& [arity, max_leaves] : kShapes) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        CHECK(grown(make_params(policy, arity, max_leaves), 60, seed).n_labels() > 60);  // checks as it grows
      }
    }
  }
}

TEST("the same holds for a given tree of any shape") {
  for (const Policy policy : test::kGrowingPolicies) {
    for (const auto& [arity, max_leaves] : kShapes) {
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        Random random(seed);
        Growth growth(make_params(policy, arity, max_leaves), test::random_tree(random, 2 + random.below(20)), seed);
        const std::uint32_t n_before = growth.tree().n_labels();
        for (int i = 0; i < 20; ++i) {
          growth.add_labels(3);
        }
        CHECK_EQ(growth.tree().n_labels(), n_before + 60);
      }
    }
  }
}

TEST("complete: the children of node i are b i + 1 ... b i + b") {
  for (const std::uint32_t arity : {2U, 3U, 16U}) {
    const LabelTree tree = grown(make_params(Policy::kComplete, arity, arity), 100, 1);
    for (NodeId v = 1; v < tree.n_nodes(); ++v) {
      CHECK_EQ(tree.node(v).parent, (v - 1) / arity);
    }
  }
}

TEST("complete: continues in a loaded tree") {
  const TreeParams params = make_params(Policy::kComplete, 3, 3);
  const LabelTree tree = grown(params, 20, 1);
  CHECK_EQ(choose(params, tree, {}).node, (tree.n_nodes() - 1) / 3);
}

TEST("flat: one level") {
  const LabelTree tree = grown(make_params(Policy::kFlat), 50, 1);
  CHECK_EQ(tree.depth(), 1U);
  CHECK_EQ(tree.n_children(LabelTree::kRoot), tree.n_labels());
}

TEST("cpet: a binary tree") {
  const LabelTree tree = grown(make_params(Policy::kCpet), 100, 1);
  CHECK_EQ(tree.n_nodes(), 2 * tree.n_labels() - 1);
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    CHECK(tree.is_leaf(v) || tree.n_children(v) == 2);
  }
}

TEST("random and best-greedy keep within arity and max_leaves") {
  for (const Policy policy : {Policy::kRandom, Policy::kBestGreedy}) {
    for (const auto& [arity, max_leaves] : kShapes) {
      const LabelTree tree = grown(make_params(policy, arity, max_leaves), 200, 1);
      for (NodeId v = 0; v < tree.n_nodes(); ++v) {
        CHECK(tree.n_children(v) <= (tree.has_only_leaves(v) ? max_leaves : arity));
        CHECK(tree.n_children(v) != 1);
      }
      CHECK(tree.depth() > 1);
    }
  }
}

TEST("random: reaches all children, and depends only on the generator") {
  const TreeParams params = make_params(Policy::kRandom, 2, 100);
  const LabelTree tree = two_groups(5, 5);
  TreePolicy policy(params);
  Random random(1);
  std::map<NodeId, int> times;
  for (int i = 0; i < 1000; ++i) {
    Chosen chosen;
    ++times[policy.choose(tree, chosen, {}, random).node];
  }
  CHECK_EQ(times.size(), 2U);
  CHECK(times[1] > 400 && times[2] > 400);
}

TEST("best-greedy: alpha 0 follows the classifiers, alpha 1 the balance") {
  CHECK_EQ(choose(greedy(0), two_groups(9, 3), {0.9F, 0.1F}).node, 1U);
  CHECK_EQ(choose(greedy(0), two_groups(3, 9), {0.1F, 0.9F}).node, 2U);
  CHECK_EQ(choose(greedy(1), two_groups(9, 3), {0.9F, 0.1F}).node, 2U);
  CHECK_EQ(choose(greedy(1), two_groups(3, 9), {0.1F, 0.9F}).node, 1U);
}

TEST("best-greedy: the lower node id wins a tie") {
  for (const double alpha : {0.0, 0.5, 1.0}) {
    CHECK_EQ(choose(greedy(alpha), two_groups(4, 4), {0.5F, 0.5F}).node, 1U);
  }
}

TEST("best-greedy: the balance is that of the authors' code, not that of the paper") {
  // For alpha = 0.5, node 1 leads by 0.5 in fit. Node 2 leads in balance by log(20 / 4) / 2 = 0.80 with the ratio of
  // the authors' code, but only by (1/4 - 1/20) log(24 / 2) / 2 = 0.25 with the formula in the paper.
  CHECK_EQ(choose(greedy(0.5), two_groups(20, 4), {1.0F, 0.0F}).node, 2U);
}

TEST("a full node of leaves is pushed down, one with room takes the leaf") {
  TreeParams params = greedy(0);
  params.max_leaves = 4;
  const Extension full = choose(params, two_groups(4, 3), {0.9F, 0.1F});
  CHECK_EQ(full.node, 1U);
  CHECK(full.insert);
  const Extension room = choose(params, two_groups(4, 3), {0.1F, 0.9F});
  CHECK_EQ(room.node, 2U);
  CHECK(!room.insert);
}

TEST("the only leaf beside internal nodes is split instead of its parent") {
  const std::vector<NodeId> parents{kNone, 0, 0, 1, 1};
  const std::vector<LabelId> labels{kNone, kNone, 0, 1, 2};
  const LabelTree tree(parents, labels);
  const Extension extension = choose(make_params(Policy::kBestGreedy, 3, 4), tree, {0.9F, 0.1F});
  CHECK_EQ(extension.node, 2U);
  CHECK(extension.insert);
}

TEST("the new labels of one example stay together") {
  Growth growth(greedy(0.75), two_groups(5, 5), 1);
  growth.add_labels(6);
  const NodeId home = growth.tree().node(growth.tree().leaf_of(10)).parent;
  for (LabelId label = 11; label < 16; ++label) {
    CHECK_EQ(growth.tree().node(growth.tree().leaf_of(label)).parent, home);
  }
}

TEST("many new labels of one example keep the tree shallow, whatever alpha is, and stay below one node") {
  for (const Policy policy : {Policy::kRandom, Policy::kBestGreedy, Policy::kCpet}) {
    for (const auto& [arity, max_leaves] : kShapes) {
      for (const double alpha : {0.0, 0.75, 1.0}) {
        TreeParams params = make_params(policy, arity, max_leaves);
        params.alpha = alpha;
        Growth growth(params, two_groups(max_leaves, max_leaves), 1);
        growth.add_labels(600);
        const LabelTree& tree = growth.tree();
        const double levels = std::log(600.0) / std::log(policy == Policy::kCpet ? 2.0 : arity);
        CHECK(tree.depth() <= 3 + (policy == Policy::kRandom ? 2 : 1) * levels);
        for (NodeId v = 0; v < tree.n_nodes() && policy != Policy::kCpet; ++v) {
          CHECK(tree.n_children(v) <= (tree.has_only_leaves(v) ? max_leaves : arity));
        }
      }
    }
  }
}

TEST("by balance alone, the labels of one example fill a tree of full nodes") {
  for (const auto& [arity, max_leaves] : kShapes) {
    Growth growth(make_params(Policy::kBestGreedy, arity, max_leaves), LabelTree(), 1);
    growth.add_labels(arity * arity * max_leaves - 1);
    CHECK_EQ(growth.tree().depth(), 3U);
  }
}

TEST("without spread_new_labels, the labels of one example make a chain, as in the paper") {
  TreeParams params = make_params(Policy::kBestGreedy, 2, 4);
  params.spread_new_labels = false;
  Growth growth(params, LabelTree(), 1);
  growth.add_labels(399);
  CHECK_EQ(growth.tree().depth(), 100U);  // a node of 4 leaves at each level
}

TEST("fixed: no node may be chosen, whatever the tree") {
  const TreeParams params = make_params(Policy::kFixed);
  CHECK(!TreePolicy(params).grows());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const LabelTree tree = test::random_tree(random, 1 + random.below(20));
    for (NodeId v = 0; v < tree.n_nodes(); ++v) {
      CHECK(!TreePolicy(params).may_choose(tree, v));
    }
    CHECK_THROWS(std::logic_error, choose(params, tree, {}));
  }
}

TEST("all policies but fixed grow") {
  for (const Policy policy : test::kGrowingPolicies) {
    CHECK(TreePolicy(make_params(policy)).grows());
  }
}

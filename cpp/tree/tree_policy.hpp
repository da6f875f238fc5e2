// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/random.hpp"
#include "base/types.hpp"
#include "tree/label_tree.hpp"

namespace oplt {

/// Where a new label goes; see TreePolicy.
enum class Policy : std::uint8_t { kRandom, kBestGreedy, kComplete, kCpet, kFlat, kFixed };

/// Throws InvalidParameter, listing the valid names, if there is no policy of this name.
Policy policy_from_name(std::string_view name);

/// Parameters of the growth of a tree. The defaults are defined in Python.
struct TreeParams {
  Policy policy;
  double alpha;              // best-greedy, cpet: 0 = follow the classifiers, 1 = balance the tree
  std::uint32_t arity;       // b: maximum number of children of an internal node
  std::uint32_t max_leaves;  // b_max: the same for a node that has only leaves
  bool spread_new_labels;    // random, best-greedy, cpet: see TreePolicy; false: the paper's rule
  std::uint64_t seed;
};

/// Where a new label goes (the paper's A_policy): under `node`, after InsertNode(node) if `insert`.
struct Extension {
  NodeId node;
  bool insert;
};

/// The nodes chosen for the first and the last new label of an example; kNone before its first new label.
struct Chosen {
  NodeId first = kNone;
  NodeId last = kNone;
};

/// Probabilities of a node's children, given that the node is positive, for the example that has the new label.
using ChildProbabilities = std::function<std::span<const Real>(NodeId)>;

/// Chooses where new labels go. Policies depend only on the tree and on saved state, so that saving and loading a model
/// does not affect its growth.
///
/// - random, best-greedy (Algorithm 8): walk down to a node that has only leaves, or fewer than `arity` children; limit
///   internal nodes to `arity` children, nodes of leaves to `max_leaves`. Best-greedy walks to the child with the
///   highest (1 - alpha) P(child) + alpha balance(child). Further new labels of the same example stay together at
///   that node.
/// - complete: the complete `arity`-ary tree in order of arrival.
/// - cpet: walk to a leaf as best-greedy does and split it (Beygelzimer et al., 2009).
/// - flat: one-vs-rest, a tree of one level.
/// - fixed: the tree is never extended.
///
/// Once an example's new labels have filled their node, the next one walks down again, from the node of the first one.
/// This walk uses balance alone (random: random choices), because all of them have the same x: following its
/// probabilities would place them in a chain. Without `spread_new_labels`, the walk goes on from the full node, which
/// is pushed down: the paper's rule, by which the depth grows in proportion to the number of such labels.
class TreePolicy {
 public:
  explicit TreePolicy(const TreeParams& params) : params_(params) {}

  /// `chosen` is of the same example; the call updates it. Must not be called unless grows().
  Extension choose(const LabelTree& tree, Chosen& chosen, const ChildProbabilities& probabilities, Random& random);

  /// Whether new labels extend the tree; if not, they are ignored.
  bool grows() const { return params_.policy != Policy::kFixed; }

  /// The first step of a walk for a new label: the child of v to which it leads.
  NodeId step_down(const LabelTree& tree, NodeId v, const ChildProbabilities& probabilities) const;

  /// Whether a walk depends on nothing but the nodes that it visits and their children. If the tree never grows, there
  /// is none.
  bool walks_by_itself() const {
    return params_.policy == Policy::kBestGreedy || params_.policy == Policy::kCpet || params_.policy == Policy::kFixed;
  }

  /// Whether choose() could ever return this node, which then needs an auxiliary classifier. Once false, it stays
  /// false.
  bool may_choose(const LabelTree& tree, NodeId v) const;

 private:
  NodeId walk_again(const LabelTree& tree, Chosen chosen, const ChildProbabilities& probabilities,
                    Random& random) const;
  NodeId walk_down(const LabelTree& tree, NodeId from, const ChildProbabilities& probabilities, Random& random) const;
  bool stops_at(const LabelTree& tree, NodeId v) const;
  NodeId best_child(const LabelTree& tree, NodeId v, std::span<const Real> probabilities) const;
  double balance(const LabelTree& tree, NodeId parent, NodeId child) const;
  Extension next_in_complete_tree(const LabelTree& tree);

  TreeParams params_;
  NodeId first_open_ = 0;  // policy complete: all nodes before this one are full. A cache, recomputed after loading
};

}  // namespace oplt

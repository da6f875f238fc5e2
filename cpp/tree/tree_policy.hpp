// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>

#include "base/params.hpp"
#include "base/random.hpp"
#include "base/types.hpp"
#include "tree/label_tree.hpp"

namespace oplt {

/// Where a new label goes (the paper's A_policy): under `node`, after InsertNode(node) if `insert`.
struct Extension {
  NodeId node;
  bool insert;
};

/// Probabilities of a node's children, given that the node is positive, for the example that brings the label.
using ChildProbabilities = std::function<std::span<const Real>(NodeId)>;

/// Grows the tree. All policies look at the tree and at nothing else that is not saved, so that a model that was saved
/// and loaded grows as if it had not been.
///
/// - random, best-greedy (Algorithm 8): walk down to a node that has only leaves, or fewer than `arity` children; keep
///   internal nodes at `arity`, nodes of leaves at `max_leaves`. Best-greedy walks to the child with the highest
///   (1 - alpha) P(child) + alpha balance(child).
/// - complete: the complete `arity`-ary tree in order of arrival.
/// - cpet: walk to a leaf as best-greedy does and split it (Beygelzimer et al., 2009).
/// - flat: one level, that is, one-versus-rest.
/// - fixed: the tree stays as it is; nothing may be chosen.
class TreePolicy {
 public:
  explicit TreePolicy(const TrainParams& params) : params_(params) {}

  /// `chosen`: the node that the last call returned for the same example, kNone at its first new label. Only for a
  /// policy that grows.
  Extension choose(const LabelTree& tree, NodeId chosen, const ChildProbabilities& probabilities, Random& random);

  /// Whether choose() could ever return this node: then it needs an auxiliary classifier. Once false, false for ever.
  bool may_choose(const LabelTree& tree, NodeId v) const;

 private:
  NodeId walk_down(const LabelTree& tree, NodeId from, const ChildProbabilities& probabilities, Random& random) const;
  bool stops_at(const LabelTree& tree, NodeId v) const;
  NodeId best_child(const LabelTree& tree, NodeId v, std::span<const Real> probabilities) const;
  double balance(const LabelTree& tree, NodeId parent, NodeId child) const;
  Extension next_in_complete_tree(const LabelTree& tree);

  TrainParams params_;
  NodeId first_open_ = 0;  // complete: all nodes before are full. A cache: found again after loading
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "tree/tree_policy.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/math.hpp"
#include "base/names.hpp"

namespace oplt {

Policy policy_from_name(std::string_view name) {
  static constexpr NamedValue<Policy> kNames[] = {
      {"best-greedy", Policy::kBestGreedy},
      {"random", Policy::kRandom},
      {"complete", Policy::kComplete},
      {"cpet", Policy::kCpet},
      {"flat", Policy::kFlat},
      {"fixed", Policy::kFixed},
  };
  return value_of<Policy>(kNames, "policy", name);
}

Extension TreePolicy::choose(const LabelTree& tree, Chosen& chosen, const ChildProbabilities& probabilities,
                             Random& random) {
  switch (params_.policy) {
    case Policy::kComplete:
      return next_in_complete_tree(tree);
    case Policy::kFlat:
      return {LabelTree::kRoot, tree.is_leaf(LabelTree::kRoot)};
    case Policy::kFixed:
      throw std::logic_error("the policy 'fixed' does not extend the tree");
    case Policy::kCpet:
    case Policy::kRandom:
    case Policy::kBestGreedy:
      break;
  }
  const bool is_first = chosen.first == kNone;
  NodeId v = is_first ? walk_down(tree, LabelTree::kRoot, probabilities, random)
                      : walk_again(tree, chosen, probabilities, random);
  if (tree.node(v).n_leaf_children == 1) {
    v = *std::ranges::find_if(tree.children(v), [&](NodeId child) { return tree.is_leaf(child); });
  }
  chosen = {is_first ? v : chosen.first, v};
  return {v, tree.is_leaf(v) || tree.n_children(v) >= params_.max_leaves};
}

/// The walk for a further new label of an example: it ends at once while the last node has room, or one leaf to split.
NodeId TreePolicy::walk_again(const LabelTree& tree, Chosen chosen, const ChildProbabilities& probabilities,
                              Random& random) const {
  const NodeId last = chosen.last;
  const bool has_room = stops_at(tree, last) && tree.n_children(last) < params_.max_leaves;
  if (has_room || tree.node(last).n_leaf_children == 1) {
    return last;
  }
  return params_.spread_new_labels ? walk_down(tree, chosen.first, nullptr, random)
                                   : walk_down(tree, last, probabilities, random);
}

/// Without probabilities, best-greedy and cpet walk by balance alone.
NodeId TreePolicy::walk_down(const LabelTree& tree, NodeId from, const ChildProbabilities& probabilities,
                             Random& random) const {
  NodeId v = from;
  while (!stops_at(tree, v)) {
    if (params_.policy == Policy::kRandom) {
      v = tree.children(v)[random.below(tree.n_children(v))];
    } else {
      v = step_down(tree, v, probabilities);
    }
  }
  return v;
}

NodeId TreePolicy::step_down(const LabelTree& tree, NodeId v, const ChildProbabilities& probabilities) const {
  // If only the balance counts, probabilities are not computed, so that pending updates can wait.
  return best_child(tree, v, params_.alpha < 1.0 && probabilities ? probabilities(v) : std::span<const Real>());
}

bool TreePolicy::stops_at(const LabelTree& tree, NodeId v) const {
  if (params_.policy == Policy::kCpet) {
    return tree.is_leaf(v);
  }
  return tree.has_only_leaves(v) || tree.n_children(v) < params_.arity;
}

NodeId TreePolicy::best_child(const LabelTree& tree, NodeId v, std::span<const Real> probabilities) const {
  NodeId best = kNone;
  double best_score = -std::numeric_limits<double>::infinity();
  for (const NodeId child : tree.children(v)) {  // ascending: the lower node id wins a tie
    double score = balance(tree, v, child);
    if (!probabilities.empty()) {
      score = (1.0 - params_.alpha) * probabilities[tree.node(child).position] + params_.alpha * score;
    }
    if (score > best_score) {
      best = child;
      best_score = score;
    }
  }
  return best;
}

/// How far the child is behind its siblings in leaves: log(|L_pa| / (|Ch_pa| |L_v|)), as in the authors' code. With the
/// paper's (1 / |L_v|) log(|L_pa| / |Ch_pa|), the tree degenerates into long chains.
double TreePolicy::balance(const LabelTree& tree, NodeId parent, NodeId child) const {
  const double in_parent = tree.node(parent).n_leaves;
  const double in_child = tree.node(child).n_leaves;
  const double mean = in_parent / tree.n_children(parent);
  return log_double(mean / in_child);
}

/// A complete tree is filled level by level, so its nodes are numbered level by level.
Extension TreePolicy::next_in_complete_tree(const LabelTree& tree) {
  while (tree.n_children(first_open_) >= params_.arity) {
    ++first_open_;
  }
  return {first_open_, tree.is_leaf(first_open_)};
}

bool TreePolicy::may_choose(const LabelTree& tree, NodeId v) const {
  switch (params_.policy) {
    case Policy::kComplete:
      return tree.n_children(v) < params_.arity;
    case Policy::kFlat:
      return v == LabelTree::kRoot;
    case Policy::kCpet:
      return tree.is_leaf(v);
    case Policy::kFixed:
      return false;
    case Policy::kRandom:
    case Policy::kBestGreedy:
      break;
  }
  if (!tree.is_leaf(v)) {
    return tree.has_only_leaves(v) || tree.n_children(v) < params_.arity;
  }
  // A leaf whose siblings are all leaves is never chosen, because their parent is chosen instead. A leaf with internal
  // siblings can be reached by the walk, and a node's only leaf is chosen in place of the node.
  const NodeId parent = tree.node(v).parent;
  return parent == kNone || !tree.has_only_leaves(parent) || tree.n_children(parent) == 1;
}

}  // namespace oplt

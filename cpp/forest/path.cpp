// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/path.hpp"

#include <algorithm>

#include "forest/forest.hpp"

namespace oplt {

namespace {

std::vector<FeatureWeight> weighted_features(const Plt& plt, NodeId node, RowView x) {
  const std::vector<Real> weights = plt.weights(node, x);
  std::vector<FeatureWeight> features;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (weights[i] != 0) {
      features.push_back({x.features[i], x.values[i], weights[i]});
    }
  }
  return features;
}

}  // namespace

std::vector<PathNode> path_to(const Plt& plt, LabelId label, RowView x, NodeScratch& scratch) {
  const LabelTree& tree = plt.tree();
  std::vector<NodeId> nodes;
  for (NodeId node = tree.leaf_of(label); node != kNone; node = tree.node(node).parent) {
    nodes.push_back(node);
  }
  std::reverse(nodes.begin(), nodes.end());
  std::vector<PathNode> path;
  for (const NodeId v : nodes) {
    const LabelTree::Node& node = tree.node(v);
    const Real conditional = path.empty() ? plt.root_probability(x, scratch)
                                          : plt.child_probabilities(node.parent, x, scratch)[node.position];
    path.push_back({.node = v,
                    .label = node.label,
                    .n_labels = node.n_leaves,
                    .score = plt.score(v, x, scratch),
                    .conditional = conditional,
                    .cumulative = path.empty() ? conditional : path.back().cumulative * conditional,
                    .features = weighted_features(plt, v, x)});
  }
  return path;
}

std::optional<Real> mean_probability(LabelId label, std::span<const std::vector<PathNode>> paths) {
  std::vector<ScoredLabel> ends;
  for (const std::vector<PathNode>& path : paths) {
    if (!path.empty()) {
      ends.push_back({label, path.back().cumulative});
    }
  }
  if (ends.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(ends, {}, &ScoredLabel::probability);
  return mean_of_trees(ends, paths.size());
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// A feature of a row that has a weight in some classifier. Its part of the classifier's score is value · weight.
struct FeatureWeight {
  FeatureId feature;
  Real value;
  Real weight;
};

/// A node on the way from the root to a label.
struct PathNode {
  NodeId node;
  LabelId label;           // kNone for an internal node
  std::uint32_t n_labels;  // at or below the node
  Real score;
  Real conditional;                     // P(node | parent, x)
  Real cumulative;                      // the product of the conditional probabilities from the root on
  std::vector<FeatureWeight> features;  // ascending; those with a weight
};

/// The nodes from the root to the leaf of a label, with the probabilities that search() computes for them; empty if the
/// label has no leaf.
std::vector<PathNode> path_to(const Plt& plt, LabelId label, RowView x, NodeScratch& scratch);

/// The mean of the label's probabilities at the ends of its paths, one for each tree, as Forest::search() computes it
/// if all trees return the label; nullopt if the label has no leaf in any of them.
std::optional<Real> mean_probability(LabelId label, std::span<const std::vector<PathNode>> paths);

}  // namespace oplt

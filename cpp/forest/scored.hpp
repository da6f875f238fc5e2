// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "base/types.hpp"

namespace oplt {

struct ScoredLabel {
  LabelId label;
  Real probability;

  friend bool operator==(const ScoredLabel&, const ScoredLabel&) = default;
};

using LabelsOfRows = std::vector<std::vector<ScoredLabel>>;

/// The labels of a row, whenever they are there. Waits for them; called once.
using LaterLabels = std::function<std::vector<ScoredLabel>()>;

struct ScoredNode {
  NodeId node;
  Real probability;
};

// Orders of search results. Objects, because a function passed by pointer would not be inlined.
inline constexpr auto better = [](const ScoredLabel& a, const ScoredLabel& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
};
inline constexpr auto more_probable = [](const ScoredNode& a, const ScoredNode& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.node < b.node;
};

}  // namespace oplt

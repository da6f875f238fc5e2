// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/types.hpp"
#include "forest/search.hpp"
#include "ranking/candidate_features.hpp"
#include "ranking/explained_step.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

/// Why the ranking gives a label its probability.
struct ExplainedRanking {
  Real probability = 0;
  std::vector<ScoredLabel> ranked;     // the candidates for any k, best first
  std::vector<bool> returned_by;       // by tree: whether its probability counts
  bool is_nearest = false;             // whether the memory proposed the label
  std::optional<Candidate> candidate;  // the evidence; nullopt if the row has no known feature
  std::vector<SimilarityPart> parts;   // of its similarity
  std::size_t n_voters = 0;            // recent examples that voted
  ExplainedSteps steps;                // the result of the last one is the probability
};

}  // namespace oplt

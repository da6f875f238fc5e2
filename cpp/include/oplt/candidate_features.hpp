// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oplt/label_memory.hpp"
#include "oplt/types.hpp"

namespace oplt {

/// A label that may be relevant, and what speaks for it.
struct Candidate {
  LabelId label;
  Real probability;  // by the tree; of a label that only the memory found, the least that the tree found
  Similarity similarity;
  std::uint32_t count;    // of the label's examples
  std::uint64_t n_since;  // examples since the last one of the label
};

/// What a logistic model sees of a candidate.
using CandidateFeatures = std::array<double, 18>;

/// Weights of a model that trusts the tree, and rather more the memory, which is good from the first example of a label
/// on: what is believed before anything was observed.
CandidateFeatures trusting_weights();

/// Describes each candidate, also by how it compares with the others. Those that the tree found come first, by
/// descending probability.
void describe(std::span<const Candidate> candidates, std::vector<CandidateFeatures>& described);

}  // namespace oplt

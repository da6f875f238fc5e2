// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/text_features.hpp"
#include "forest/path.hpp"
#include "forest/search.hpp"
#include "model/model_state.hpp"
#include "ranking/candidate_features.hpp"
#include "ranking/explained_step.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

/// The way to a label in one tree.
struct ExplainedTree {
  std::vector<PathNode> path;  // empty if the label has no leaf
  bool counts;                 // whether the tree's probability counts; if not, the search did not reach the label
};

/// What the label memory knows about a label.
struct ExplainedMemory {
  Candidate candidate;
  std::vector<SimilarityPart> parts;  // of its similarity
  std::size_t n_voters;               // recent examples that voted
  bool is_nearest;                    // whether the memory proposed the label
};

/// Why a label has its probability.
struct Explanation {
  LabelId label;
  Real probability;                 // as ModelState::predict() returns it, for up to ten labels, or for this one alone
  std::vector<ScoredLabel> ranked;  // the labels that were compared, best first
  Link link;
  std::vector<ExplainedTree> trees;
  std::optional<ExplainedMemory> memory;  // if there is one, and if it knows a feature of the example
  ExplainedSteps steps;                   // from the evidence to the probability
};

/// Explains the probability of a label, or of the best one if it is kNone, in the first of the inputs. nullopt if the
/// model has no labels.
std::optional<Explanation> explain(const ModelState& state, const Inputs& inputs, LabelId label);

/// Where the features of a text are in it; empty if the model does not take texts.
std::vector<TermSpan> occurrences(const ModelState& state, const Inputs& inputs);

}  // namespace oplt

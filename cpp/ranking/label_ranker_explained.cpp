// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The part of LabelRanker that explains its predictions. It calls what rank() calls, and reads the scratch.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/math.hpp"
#include "ranking/label_ranker.hpp"

namespace oplt {

namespace {

/// Appends the steps from log-odds to the final probability, of which most labels need only the first.
void add_probability(double logit, bool is_further, Real probability, ExplainedSteps& steps) {
  const Real unlimited = sigmoid(static_cast<Real>(logit));
  steps.push_back({"probability", {}, unlimited});
  if (probability != unlimited) {
    steps.push_back({is_further ? "probability, limited because the label is not among the candidates"
                                : "probability, scaled so that those of all candidates sum to at most 1",
                     {},
                     probability});
  }
}

}  // namespace

/// From the features of a candidate to its log-odds.
ExplainedSteps LabelRanker::explain_candidate(const Scratch& scratch, std::size_t i) const {
  const Candidate& candidate = scratch.candidates[i];
  const CandidateFeatures& weights = model_for(candidate.count).weights();
  const CandidateFeatures& features = scratch.features[i];
  ExplainedSteps steps{{score_name(candidate.count), {}, score(scratch, i)}};
  for (std::size_t f = 0; f < kCandidateFeatures; ++f) {
    steps[0].terms.push_back({kCandidateFeatureNames[f], features[f], weights[f], weights[f] * features[f]});
  }
  std::ranges::move(calibration_.explain(score(scratch, i), frequency(candidate.count), scratch.context),
                    std::back_inserter(steps));
  return steps;
}

ExplainedRanking LabelRanker::explain(const Forest& forest, const LabelFilter* shown, RowView x, LabelId label,
                                      std::optional<Real> by_trees, Scratch& scratch) const {
  ExplainedRanking result;
  const SearchParams first_search = first_tree_search(forest, shown);
  if (!find_first(x, forest.search(x, first_search, scratch.search), shown, scratch)) {
    result.ranked = most_frequent(label_bound(forest), first_search);
    result.probability = base_rate(label);
    result.steps.push_back({"base rate: no feature of the example is known", {}, result.probability});
    return result;
  }
  const std::vector<Judged> first = first_judged(scratch);
  result.ranked = probabilities_of_first(first);
  result.is_nearest = std::ranges::find(scratch.nearest, label) != scratch.nearest.end();
  result.returned_by = forest.returning(label, x, first_search, scratch.search);
  result.n_voters = scratch.examples.size();
  auto place = std::ranges::find(scratch.candidates, label, &Candidate::label);
  const bool is_further = place == scratch.candidates.end();
  if (is_further) {
    add_candidate(label, by_trees.value_or(scratch.least_probability), scratch);
    scratch.n_first = std::max<std::size_t>(scratch.n_first, 1);  // without others, it is compared with itself
    describe_candidates(x, scratch.candidates.size() - 1, scratch);
    place = std::prev(scratch.candidates.end());
    result.returned_by.assign(forest.trees.size(), by_trees.has_value());
  }
  const auto i = static_cast<std::size_t>(place - scratch.candidates.begin());
  const Judged own = judged(scratch, i);
  if (!is_further) {
    result.probability = std::ranges::find(result.ranked, label, &ScoredLabel::label)->probability;
  } else if (first.empty()) {
    result.probability = sigmoid(static_cast<Real>(own.logit));  // there is nothing that could limit it
  } else {
    result.probability = limit_of_further(result.ranked, first, label_bound(forest))(own);
  }
  result.candidate = *place;
  result.parts = memory_.parts(label, scratch.query);
  result.steps = explain_candidate(scratch, i);
  add_probability(own.logit, is_further, result.probability, result.steps);
  return result;
}

}  // namespace oplt

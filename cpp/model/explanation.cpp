// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/explanation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/predict_scratch.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCompared = 20;  // labels, without a label memory; with several trees, no k up to 20 matters

/// Without a label memory: the trees alone, possibly calibrated. All trees count, unless the label is among the best
/// ones, which some trees may not have returned.
void explain_by_trees(const ModelState& state, const LabelFilter* shown, RowView x, std::optional<Real> by_all,
                      SearchScratch& scratch, Explanation& result) {
  const SearchParams params{.top_k = kCompared, .threshold = 0, .beam = 0, .filter = shown};
  const std::vector<ScoredLabel> best = state.forest.search(x, params, scratch);
  const auto found = std::ranges::find(best, result.label, &ScoredLabel::label);
  const bool is_best = found != best.end();
  const Real probability = is_best ? found->probability : by_all.value_or(Real{0});
  const std::vector<bool> returned_by = is_best ? state.forest.returning(result.label, x, params, scratch)
                                                : std::vector<bool>(result.trees.size(), by_all.has_value());
  for (std::size_t i = 0; i < result.trees.size(); ++i) {
    result.trees[i].counts = returned_by[i];
  }
  result.probability = probability;
  result.ranked = best;
  result.steps.push_back({"probability by the trees", {}, probability});
  if (state.calibration) {
    const TreeCalibration& calibration = **state.calibration;
    for (ScoredLabel& each : result.ranked) {
      each.probability = calibration.calibrated(each.probability, best);
    }
    result.probability = calibration.calibrated(probability, best);
    std::ranges::move(calibration.explain(probability, best), std::back_inserter(result.steps));
  }
}

void explain_by_ranking(const ModelState& state, const LabelFilter* shown, RowView x, std::optional<Real> by_all,
                        LabelRanker::Scratch& scratch, Explanation& result) {
  ExplainedRanking ranking = (*state.ranker)->explain(state.forest, shown, x, result.label, by_all, scratch);
  result.probability = ranking.probability;
  result.ranked = std::move(ranking.ranked);
  result.steps = std::move(ranking.steps);
  for (std::size_t i = 0; i < ranking.returned_by.size(); ++i) {
    result.trees[i].counts = ranking.returned_by[i];
  }
  if (ranking.candidate) {
    result.memory = {.candidate = *ranking.candidate,
                     .parts = std::move(ranking.parts),
                     .n_voters = ranking.n_voters,
                     .is_nearest = ranking.is_nearest};
  }
}

}  // namespace

std::optional<Explanation> explain(const ModelState& state, const Inputs& inputs, LabelId label) {
  if (label == kNone) {
    const Predictions best = state.predict(inputs, {.top_k = 1, .threshold = 0, .beam = 0}, 1);
    if (best.labels.empty()) {
      return std::nullopt;
    }
    label = best.labels.front();
  }
  PredictScratch& scratch = scratch_of_thread();
  const RowView x = rows_of(state, inputs, 0, 1, scratch)[0];
  std::vector<std::vector<PathNode>> paths;
  for (const Plt& tree : state.forest.trees) {
    paths.push_back(path_to(tree, label, x, scratch.ranking.search.nodes));
  }
  const std::optional<Real> by_all = mean_probability(label, paths);
  Explanation result{.label = label,
                     .probability = 0,
                     .ranked = {},
                     .link = state.forest.first().link(),
                     .trees = {},
                     .memory = {},
                     .steps = {}};
  for (std::vector<PathNode>& path : paths) {
    result.trees.push_back({std::move(path), false});
  }
  const std::optional<LabelFilter> not_hidden = shown_labels(*state.labels);
  const LabelFilter* shown = not_hidden ? &*not_hidden : nullptr;
  const LabelMemory* memory = state.ranker ? &(*state.ranker)->memory() : nullptr;
  if (memory != nullptr && (memory->n_learnt() > 0 || memory->n_features() > 0)) {
    explain_by_ranking(state, shown, x, by_all, scratch.ranking, result);
  } else {
    explain_by_trees(state, shown, x, by_all, scratch.ranking.search, result);
  }
  return result;
}

std::vector<TermSpan> occurrences(const ModelState& state, const Inputs& inputs) {
  const TextFeatures* text = state.encoder->text_features();
  return text == nullptr ? std::vector<TermSpan>() : text->occurrences((*inputs.texts)[0]);
}

}  // namespace oplt

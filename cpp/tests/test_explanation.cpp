// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Explanations of whole models; most properties are tested in Python (tests/property/test_explanation.py).
#include <cmath>

#include "check.hpp"
#include "labelled_texts.hpp"
#include "model/explanation.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::NamedExamples;
using oplt::test::started;

namespace {

ModelState taught(const ModelParams& params, const NamedExamples& examples) {
  OnlineModel model(params, started(params));
  examples.update(model);
  return model.snapshot();
}

/// What predict() returns for the label alone.
Real predicted(const ModelState& state, const Inputs& x, LabelId label) {
  const LabelFilter filter = state.filter(std::span<const LabelId>(&label, 1), {});
  const Predictions found = state.predict(x, {.top_k = 1, .threshold = 0, .beam = 0, .filter = &filter}, 1);
  return found.probabilities.at(0);
}

double sum_of(const ExplainedStep& step) {
  double sum = 0;
  for (const ExplainedTerm& term : step.terms) {
    sum += term.contribution;
  }
  return sum;
}

void check_steps(const Explanation& found) {
  for (const ExplainedStep& step : found.steps) {
    CHECK(step.terms.empty() || std::abs(sum_of(step) - step.result) < 1e-9 * (1 + std::abs(step.result)));
  }
  CHECK_EQ(static_cast<Real>(found.steps.back().result), found.probability);
}

ModelParams params_with(std::uint32_t label_memory, bool calibrated) {
  ModelParams params = make_params(Policy::kBestGreedy, 3, 6);
  params.label_memory = label_memory;
  params.calibrated = calibrated;
  return params;
}

}  // namespace

TEST("the explained probability is the predicted one, for all labels") {
  const NamedExamples examples(1, 300);
  for (const ModelParams& params : {params_with(0, false), params_with(0, true), params_with(8, true)}) {
    const ModelState state = taught(params, examples);
    for (std::size_t i = 0; i < 10; ++i) {
      const Inputs x = examples.rows(i, 1);
      for (LabelId label = 0; label < state.forest.first().n_labels(); ++label) {
        const Explanation found = *explain(state, x, label);
        CHECK_EQ(found.label, label);
        CHECK_EQ(found.probability, predicted(state, x, label));
        CHECK_EQ(found.memory.has_value(), params.label_memory > 0);
        check_steps(found);
      }
      const Predictions best = state.predict(x, {.top_k = 1}, 1);
      const Explanation of_best = *explain(state, x, kNone);
      CHECK_EQ(of_best.label, best.labels[0]);
      CHECK_EQ(of_best.probability, best.probabilities[0]);
      CHECK_EQ(of_best.ranked[0].label, best.labels[0]);
    }
  }
}

TEST("the memory's parts add up to its cosine") {
  const NamedExamples examples(2, 200);
  const ModelState state = taught(params_with(64, true), examples);
  for (LabelId label = 0; label < state.forest.first().n_labels(); ++label) {
    const Explanation found = *explain(state, examples.rows(3, 1), label);
    Real sum = 0;
    for (const SimilarityPart& part : found.memory->parts) {
      sum += part.cosine;
      CHECK(part.share >= 0 && part.share <= 1 + 1e-5);
    }
    CHECK(std::abs(sum - found.memory->candidate.similarity.cosine) < 1e-5);
  }
}

TEST("a label without a leaf is explained by the memory alone") {
  const NamedExamples examples(3, 100);
  ModelState state = taught(params_with(8, true), examples);
  const LabelId last = state.forest.first().n_labels() - 1;
  const std::vector<NodeId> parents{kNone, 0, 0};
  const std::vector<LabelId> labels{kNone, 0, 1};
  state.forest.trees = {Plt(LabelTree(parents, labels))};
  const Explanation found = *explain(state, examples.rows(0, 1), last);
  CHECK(found.trees[0].path.empty() && !found.trees[0].counts);
  CHECK_EQ(found.memory->candidate.label, last);
  CHECK(found.probability >= 0 && found.probability <= 1);
}

TEST("without labels there is nothing to explain") {
  const NamedExamples examples(4, 1);
  CHECK(!explain(started(params_with(8, true)), examples.rows(0, 1), kNone));
  CHECK(!explain(started(params_with(0, false)), examples.rows(0, 1), kNone));
}

TEST("the terms of a text are found in it, hashed or not") {
  for (const std::uint32_t hash_bits : {0U, 20U}) {
    TextParams text = test::kPlainText;
    text.max_words = 2;
    text.hash_bits = hash_bits;
    const ModelParams params = params_with(8, true);
    OnlineModel model(params, started(params, text));
    const test::LabelledTexts examples(50);
    examples.update(model, 0, 50, 1);
    const ModelState state = model.snapshot();
    std::size_t n_found = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const std::string_view own = examples.views[i];
      for (const TermSpan& span : occurrences(state, examples.inputs(i, i + 1))) {
        ++n_found;
        CHECK(span.feature < state.encoder->n_features());
        std::string piece(own.substr(span.begin, span.end - span.begin));
        for (char& c : piece) {
          c = c == 'W' ? 'w' : c;
        }
        CHECK_EQ(piece, span.term);
      }
    }
    CHECK(n_found > 200);
  }
  const NamedExamples examples(5, 10);
  CHECK(occurrences(taught(params_with(0, false), examples), examples.rows(0, 1)).empty());
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Small models of several kinds, and the guarantee about their files: whatever passes the check does no harm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "named_examples.hpp"

namespace oplt::test {

inline constexpr std::size_t kExamples = 7;  // in the file; the loaded model learns as many again

struct Kind {
  ModelParams params;
  std::optional<TextParams> text;
  bool with_operations = false;  // on labels

  /// Examples with known and with new features.
  Inputs questions() const { return text ? texts().inputs(4, 11) : named().rows(4, 7); }

  void update(OnlineModel& model, std::size_t begin, std::size_t end) const {
    if (text) {
      texts().update(model, begin, end, 1);
    } else {
      named().update(model, begin, end - begin, 1);
    }
  }

  std::vector<std::byte> file() const {
    OnlineModel model(params, started(params, text));
    update(model, 0, kExamples);
    if (with_operations) {
      change_labels(model);
    }
    return saved_bytes(model);
  }

  /// Performs operations on the first labels, as far as they are possible.
  void change_labels(OnlineModel& model) const {
    using enum LabelOperation::Kind;
    const ModelState state = model.snapshot();
    const auto name = [&](LabelId label) { return state.labels->size() > label ? state.labels->name(label) : Name{}; };
    const Name added{.text = "added", .number = 0};
    LabelDescription description{.text = {}, .names = {{.text = "feature", .number = 0}}, .values = {1}};
    if (text) {
      description = {.text = "a word", .names = {}, .values = {}};
    }
    for (const LabelOperation& operation :
         std::vector<LabelOperation>{{.kind = kRename, .label = name(0), .other = {.text = "renamed", .number = 0}},
                                     {.kind = kHide, .label = name(1)},
                                     {.kind = kRemove, .label = name(2)},
                                     {.kind = kMerge, .label = name(3), .other = name(4)},
                                     {.kind = kAdd, .label = added},
                                     {.kind = kAdd, .label = added, .other = {}, .description = description}}) {
      try {
        model.change_labels({&operation, 1});
      } catch (const InvalidInput&) {
      }
    }
  }

 private:
  static const NamedExamples& named() {
    static const NamedExamples made(31, 2 * kExamples);
    return made;
  }
  static const LabelledTexts& texts() {
    static const LabelledTexts made(2 * kExamples);
    return made;
  }
};

/// A single tree, calibrated; a model of named features with all options, which is about to be regrown; the same for
/// texts, first without a history and with few terms, then with a history and all terms, so that it can forget. The
/// inputs in tests/fuzz/corpus/model select one by their first byte.
inline std::vector<Kind> kinds() {
  Kind one{make_params(Policy::kComplete, 2, 3), {}};
  one.params.calibrated = true;
  Kind all{make_params(Policy::kBestGreedy, 2, 3, arow(0.5F)), {}};
  all.params.label_memory = 4;
  all.params.forest.trees = 2;
  Kind texts = all;
  texts.text = crowded_text();
  all.params.forest.history = 10 * kExamples;
  all.params.forest.first_regrowth = kExamples;
  all.with_operations = true;
  Kind texts_with_history = all;
  texts_with_history.text = crowded_text();
  texts_with_history.text->max_features = 0;
  return {one, all, texts, texts_with_history};
}

/// Throws std::logic_error unless a guarantee holds.
inline void expect(bool holds, const std::string& what) {
  if (!holds) {
    throw std::logic_error(what);
  }
}

inline void expect_probabilities(const Predictions& predictions) {
  expect(std::ranges::all_of(predictions.probabilities, [](Real p) { return p >= 0 && p <= 1; }),  // false for NaN
         "a prediction is not a probability");
}

inline void expect_loadable(const Kind& kind, const ModelState& state, const std::string& what) {
  try {
    loaded(kind.params, saved_bytes(state), kind.text);
  } catch (const FormatError& error) {
    throw std::logic_error(what + error.what());
  }
}

/// Forgets an example, if the model can.
inline void forget_one(const Kind& kind, OnlineModel& model) {
  const std::uint64_t n_before = model.snapshot().n_examples();
  try {
    model.forget(std::vector<std::uint64_t>{1}, model.n_forgettings(), 1);
  } catch (const InvalidInput&) {
    expect(model.snapshot().n_examples() == n_before, "a call that failed has forgotten an example");
    return;
  }
  const ModelState after = model.snapshot();
  expect(after.n_examples() == n_before - 1, "not exactly one example was forgotten");
  expect_probabilities(after.predict(kind.questions(), {.top_k = 3}, 1));
  expect_loadable(kind, after, "what was learnt again from a changed file is refused: ");
}

/// Loads a file; if it passes the check, exercises the model in all ways. Returns false if the file is rejected.
/// Throws std::logic_error if a guarantee is violated.
inline bool is_used(const Kind& kind, const std::vector<std::byte>& file) {
  std::optional<OnlineModel> model;
  try {
    model.emplace(kind.params, loaded(kind.params, file, kind.text));
  } catch (const FormatError&) {
    return false;
  }
  const ModelState before = model->snapshot();
  for (const SearchParams& params : {SearchParams{.top_k = 3}, SearchParams{.threshold = 0.01F}}) {
    expect_probabilities(before.predict(kind.questions(), params, 1));
  }
  before.labels->aliases();
  expect_probabilities(before.for_prediction(0.01F).predict(kind.questions(), {.top_k = 3, .beam = 2}, 1));
  kind.update(*model, kExamples, 2 * kExamples);
  const ModelState after = model->snapshot();
  expect_probabilities(after.predict(kind.questions(), {.top_k = 3}, 1));
  expect(after.n_examples() == before.n_examples() + kExamples, "not all examples were counted");
  expect_loadable(kind, after, "what was learnt from a changed file is refused: ");
  kind.change_labels(*model);
  expect_probabilities(model->snapshot().predict(kind.questions(), {.top_k = 3}, 1));
  expect_loadable(kind, model->snapshot(), "a changed file with other labels is refused: ");
  forget_one(kind, *model);
  return true;
}

}  // namespace oplt::test

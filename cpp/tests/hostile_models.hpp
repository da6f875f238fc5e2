// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Small models of several kinds, and the guarantee about their files: whatever passes the check does no harm.
#pragma once

#include <algorithm>
#include <cstddef>
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
    return saved_bytes(model);
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
/// texts, without a history.
inline std::vector<Kind> kinds() {
  Kind all{make_params(Policy::kBestGreedy, 2, 3, arow(0.5F)), {}};
  all.params.label_memory = 4;
  all.params.forest.trees = 2;
  Kind texts = all;
  texts.text = crowded_text();
  all.params.forest.history = 10 * kExamples;
  all.params.forest.first_regrowth = kExamples;
  Kind one{make_params(Policy::kComplete, 2, 3), {}};
  one.params.calibrated = true;
  return {one, all, texts};
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
  before.label_counts();
  expect_probabilities(before.for_prediction(0.01F).predict(kind.questions(), {.top_k = 3, .beam = 2}, 1));
  kind.update(*model, kExamples, 2 * kExamples);
  const ModelState after = model->snapshot();
  expect_probabilities(after.predict(kind.questions(), {.top_k = 3}, 1));
  expect(after.n_examples() == before.n_examples() + kExamples, "not all examples were counted");
  try {
    loaded(kind.params, saved_bytes(after), kind.text);
  } catch (const FormatError& error) {
    throw std::logic_error(std::string("what was learnt from a changed file is refused: ") + error.what());
  }
  return true;
}

}  // namespace oplt::test

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A stream of named examples, and functions to start, save, load and query models, for tests of whole models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "helpers.hpp"
#include "model/learner.hpp"
#include "model/model_state.hpp"
#include "model/online_model.hpp"

namespace oplt::test {

/// An untrained model, which takes texts if there are `text` settings.
inline ModelState started(const ModelParams& params, const std::optional<TextParams>& text = {}) {
  return Learner(params).start(text ? Encoder(TextFeatures(*text)) : Encoder());
}

inline StateParams state_params(const ModelParams& params, const std::optional<TextParams>& text = {}) {
  return {.rows = params.forest.rows,
          .link = link_of(params.forest.learning),
          .trees = params.forest.trees,
          .label_memory = params.label_memory,
          .calibrated = params.calibrated,
          .text = text};
}

/// Loads and checks a saved state, whose arrays stay in the file until they are written to.
inline ModelState loaded(const ModelParams& params, const std::vector<std::byte>& saved,
                         const std::optional<TextParams>& text = {}) {
  ModelState state = ModelState::load(read_arrays(saved), state_params(params, text));
  state.check();
  return state;
}

inline std::vector<std::byte> saved_bytes(const OnlineModel& model) { return saved_bytes(model.snapshot()); }

/// The predictions of a model, and its number of examples.
struct Answers {
  std::uint64_t n_examples;
  Predictions predictions;

  friend bool operator==(const Answers& a, const Answers& b) {
    return a.n_examples == b.n_examples && a.predictions.indptr == b.predictions.indptr &&
           a.predictions.labels == b.predictions.labels && a.predictions.probabilities == b.predictions.probabilities;
  }
};

inline Answers ask(const ModelState& state, const Inputs& x, const SearchParams& params = {.top_k = 3},
                   std::size_t threads = 1) {
  return {state.n_examples(), state.predict(x, params, threads)};
}

inline Answers ask(const OnlineModel& model, const Inputs& x, const SearchParams& params = {.top_k = 3},
                   std::size_t threads = 1) {
  return model.read([&](const ModelState& state) { return ask(state, x, params, threads); });
}

/// Examples by name, and the views that a model takes. The names are a mix of integers and strings.
class NamedExamples {
 public:
  NamedExamples(std::uint64_t seed, std::size_t n) {
    for (const StreamExample& example : random_stream(seed, n)) {
      for (std::size_t i = 0; i < example.features.size(); ++i) {
        features_.push_back(name_of(example.features[i]));
        values_.push_back(example.values[i]);
      }
      for (const LabelId label : example.labels) {
        labels_.push_back(name_of(label));
      }
      x_indptr_.push_back(static_cast<std::int64_t>(features_.size()));
      y_indptr_.push_back(static_cast<std::int64_t>(labels_.size()));
      weights_.push_back(example.weight);
    }
  }

  std::size_t size() const { return weights_.size(); }

  Inputs rows(std::size_t begin, std::size_t n) const {
    const auto first = static_cast<std::size_t>(x_indptr_[begin]);
    return {.rows = {{std::span(x_indptr_).subspan(begin, n + 1)},
                     {.names = std::span(features_).subspan(first), .numbers = {}},
                     std::span(values_).subspan(first)},
            .texts = {}};
  }
  Inputs rows() const { return rows(0, size()); }

  NamedLabels labels(std::size_t begin, std::size_t n) const {
    return {{std::span(y_indptr_).subspan(begin, n + 1)},
            {.names = std::span(labels_).subspan(static_cast<std::size_t>(y_indptr_[begin])), .numbers = {}}};
  }

  std::span<const Real> weights(std::size_t begin, std::size_t n) const {
    return std::span(weights_).subspan(begin, n);
  }

  void update(OnlineModel& model, std::size_t begin, std::size_t n, std::size_t threads = 2,
              const std::function<void()>& poll = {}) const {
    model.learn(rows(begin, n), labels(begin, n), weights(begin, n), threads, poll);
  }
  void update(OnlineModel& model) const { update(model, 0, size()); }

 private:
  /// Even ids become integers, odd ones strings, whose text is in a static list.
  static Name name_of(std::uint32_t id) {
    static const std::vector<std::string> texts = [] {
      std::vector<std::string> made;
      for (int i = 0; i < 1000; ++i) {
        made.push_back("name " + std::to_string(i));
      }
      return made;
    }();
    return id % 2 == 0 ? Name{.text = {}, .number = static_cast<std::int64_t>(id) - 10}
                       : Name{.text = texts[id % 1000], .number = 0};
  }

  std::vector<std::int64_t> x_indptr_{0};
  std::vector<Name> features_;
  std::vector<Real> values_;
  std::vector<std::int64_t> y_indptr_{0};
  std::vector<Name> labels_;
  std::vector<Real> weights_;
};

}  // namespace oplt::test

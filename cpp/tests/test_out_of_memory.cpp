// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// One allocation fails, each in its turn: learning then throws, ends its threads, and the model refuses to be used.
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "model/model.hpp"

namespace {

std::atomic<long> until_failure{-1};  // allocations; below 0 none fails

}  // namespace

void* operator new(std::size_t size) {
  if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) {
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace oplt;

namespace {

/// A stream by integer names.
struct Numbers {
  std::vector<std::int64_t> x_indptr{0};
  std::vector<std::int64_t> y_indptr{0};
  std::vector<std::int32_t> features;
  std::vector<std::int32_t> labels;
  std::vector<Real> values;

  explicit Numbers(std::size_t n) {
    for (const test::StreamExample& example : test::random_stream(5, n)) {
      for (std::size_t i = 0; i < example.features.size(); ++i) {
        features.push_back(static_cast<std::int32_t>(example.features[i] % 1000));
        values.push_back(example.values[i]);
      }
      labels.insert(labels.end(), example.labels.begin(), example.labels.end());
      x_indptr.push_back(static_cast<std::int64_t>(features.size()));
      y_indptr.push_back(static_cast<std::int64_t>(labels.size()));
    }
  }

  NamedRows rows() const { return {{x_indptr}, {{}, features}, values}; }

  void teach(Model& model, std::size_t threads) const {
    model.learn_many(rows(), {{y_indptr}, {{}, labels}}, {}, threads);
  }

  Predictions ask(const Model& model) const { return model.predict_many(rows(), PredictParams{.top_k = 3}); }

  static Model make_model(const TrainParams& params) { return Model(params); }
};

/// A stream of texts.
struct TextStream {
  test::LabelledTexts examples;

  void teach(Model& model, std::size_t threads) const { examples.teach(model, 0, examples.texts.size(), threads); }

  Predictions ask(const Model& model) const { return model.predict_texts(examples.views, PredictParams{.top_k = 3}); }

  static Model make_model(const TrainParams& params) { return Model(params, TextFeatures(test::crowded_text())); }
};

bool is_broken(const Model& model) {
  try {
    model.inspect([](const auto&...) { return 0; });
    return false;
  } catch (const BrokenModel&) {
    return true;
  }
}

/// Lets the n-th allocation of learning fail; false if there were not so many.
template <class Stream>
bool fails_well(const Stream& stream, std::size_t threads, long n, const TrainParams& params) {
  Model model = Stream::make_model(params);
  Model expected = Stream::make_model(params);
  bool failed = false;
  until_failure = n;
  try {
    stream.teach(model, threads);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  const bool reached = until_failure < 0;
  until_failure = -1;
  if (is_broken(model)) {
    CHECK(failed);
    CHECK_THROWS(BrokenModel, stream.teach(model, threads));
    CHECK_THROWS(BrokenModel, stream.ask(model));
    CHECK_THROWS(BrokenModel, test::saved_bytes(model));
    return reached;
  }
  if (!failed) {  // nothing failed, or only a thread could not be started
    stream.teach(expected, 1);
  }
  CHECK(test::saved_bytes(model) == test::saved_bytes(expected));
  return reached;
}

/// Lets each allocation of learning fail in its turn, at first; later on, some.
template <class Stream>
void check_learning(const Stream& stream, const TrainParams& params) {
  for (const std::size_t threads : {1U, 3U}) {
    long n = 0;
    while (fails_well(stream, threads, n, params)) {
      n += 1 + n / 20;
    }
    CHECK(n > 100);
  }
}

template <class Stream>
void check_prediction(const Stream& stream, const TrainParams& params) {
  Model model = Stream::make_model(params);
  stream.teach(model, 1);
  const Predictions expected = stream.ask(model);
  long n = 0;
  for (bool failed = true; failed; n += 1 + n / 20) {
    failed = false;
    until_failure = n;
    try {
      stream.ask(model);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
    const Predictions again = stream.ask(model);
    CHECK(again.labels == expected.labels);
    CHECK(again.probabilities == expected.probabilities);
  }
  CHECK(n > 50);
}

TrainParams with_memory() {
  TrainParams params = test::make_params();
  params.label_memory = 8;
  return params;
}

TrainParams with_all() {
  TrainParams params = with_memory();
  params.trees = 2;
  params.warm_up = 30;
  params.replay = 1;
  return params;
}

}  // namespace

TEST("after an allocation has failed, a model is as it was, or complete, or refuses to be used") {
  for (const TrainParams& params : {test::make_params(), with_memory(), with_all()}) {
    check_learning(Numbers(80), params);
  }
}

TEST("the same for a model of texts") {
  for (const TrainParams& params : {test::make_params(), with_all()}) {
    check_learning(TextStream{test::LabelledTexts(80)}, params);
  }
}

TEST("a prediction that has failed leaves no trace in later ones") {
  TrainParams params = with_memory();
  params.trees = 2;
  check_prediction(Numbers(80), params);
  check_prediction(TextStream{test::LabelledTexts(80)}, params);
}

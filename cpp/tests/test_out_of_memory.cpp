// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Each allocation fails in turn: then learning throws and ends its threads, and the model refuses to be used.
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "model/online_model.hpp"
#include "named_examples.hpp"

namespace {

std::atomic<long> until_failure{-1};  // allocations until one fails; none fails if negative

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
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) {
    throw std::bad_alloc();
  }
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
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

  Inputs inputs() const { return {.rows = {{x_indptr}, {{}, features}, values}, .texts = {}}; }

  void update(OnlineModel& model, std::size_t threads) const {
    model.learn(inputs(), {{y_indptr}, {{}, labels}}, {}, threads);
  }

  static constexpr std::optional<TextParams> kText = {};
};

/// A stream of texts.
struct TextStream {
  test::LabelledTexts examples;

  Inputs inputs() const { return examples.inputs(); }

  void update(OnlineModel& model, std::size_t threads) const { examples.update(model, 0, examples.size(), threads); }

  inline static const std::optional<TextParams> kText = test::crowded_text();
};

bool is_broken(const OnlineModel& model) {
  try {
    model.snapshot();
    return false;
  } catch (const BrokenModel&) {
    return true;
  }
}

/// Lets the n-th allocation during learning fail; returns false if there are fewer.
template <class Stream>
bool fails_well(const Stream& stream, std::size_t threads, long n, const ModelParams& params) {
  OnlineModel model(params, test::started(params, Stream::kText));
  OnlineModel expected(params, test::started(params, Stream::kText));
  const ModelState before = model.snapshot();  // so that all parts are copied before they change
  const auto bytes_before = test::saved_bytes(before);
  bool failed = false;
  until_failure = n;
  try {
    stream.update(model, threads);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  const bool reached = until_failure < 0;
  until_failure = -1;
  CHECK(test::saved_bytes(before) == bytes_before);
  if (is_broken(model)) {
    CHECK(failed);
    CHECK_THROWS(BrokenModel, stream.update(model, threads));
    CHECK_THROWS(BrokenModel, test::ask(model, stream.inputs()));
    CHECK_THROWS(BrokenModel, test::saved_bytes(model));
    return reached;
  }
  if (!failed) {  // nothing failed, or only a thread could not be started
    stream.update(expected, 1);
  }
  CHECK(test::saved_bytes(model) == test::saved_bytes(expected));
  return reached;
}

/// Lets each of the first allocations during learning fail in turn, and some of the later ones.
template <class Stream>
void check_learning(const Stream& stream, const ModelParams& params) {
  for (const std::size_t threads : {1U, 3U}) {
    long n = 0;
    while (fails_well(stream, threads, n, params)) {
      n += 1 + n / 20;
    }
    CHECK(n > 100);
  }
}

template <class Stream>
void check_prediction(const Stream& stream, const ModelParams& params) {
  OnlineModel model(params, test::started(params, Stream::kText));
  stream.update(model, 1);
  const test::Answers expected = test::ask(model, stream.inputs());
  long n = 0;
  for (bool failed = true; failed; n += 1 + n / 20) {
    failed = false;
    until_failure = n;
    try {
      test::ask(model, stream.inputs());
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
    CHECK(test::ask(model, stream.inputs()) == expected);
  }
  CHECK(n > 50);
}

ModelParams with_memory() {
  ModelParams params = test::make_params();
  params.label_memory = 8;
  return params;
}

ModelParams with_all() {
  ModelParams params = with_memory();
  params.forest.trees = 2;
  params.forest.history = 1000;
  params.forest.first_regrowth = 24;
  return params;
}

}  // namespace

TEST("after an allocation has failed, a model is as it was, or complete, or refuses to be used") {
  for (const ModelParams& params : {test::make_params(), with_memory(), with_all()}) {
    check_learning(Numbers(80), params);
  }
}

TEST("the same for a model of texts") {
  for (const ModelParams& params : {test::make_params(), with_all()}) {
    check_learning(TextStream{test::LabelledTexts(80)}, params);
  }
}

TEST("a failed prediction does not affect later ones") {
  ModelParams params = with_memory();
  params.forest.trees = 2;
  check_prediction(Numbers(80), params);
  check_prediction(TextStream{test::LabelledTexts(80)}, params);
}

TEST("a failed snapshot or save has no effect") {
  const ModelParams params = with_all();
  const Numbers stream(80);
  OnlineModel model(params, test::started(params));
  stream.update(model, 1);
  const auto expected = test::saved_bytes(model);
  long n = 0;
  for (bool failed = true; failed; n += 1 + n / 20) {
    failed = false;
    until_failure = n;
    try {
      test::saved_bytes(model);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
    CHECK(test::saved_bytes(model) == expected);
  }
  CHECK(n > 50);
}

TEST("after loading has failed for lack of memory, it can be repeated") {
  const ModelParams params = with_all();
  const Numbers stream(80);
  OnlineModel model(params, test::started(params));
  stream.update(model, 1);
  const auto expected = test::saved_bytes(model);
  const ArrayReader file = test::read_arrays(expected);
  long n = 0;
  for (bool failed = true; failed; n += 1 + n / 20) {
    failed = false;
    until_failure = n;
    try {
      ModelState::load(file, test::state_params(params)).check();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = -1;
  }
  CHECK(n > 50);
  CHECK(test::saved_bytes(ModelState::load(file, test::state_params(params))) == expected);
}

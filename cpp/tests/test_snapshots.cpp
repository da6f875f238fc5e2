// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A snapshot never changes: it is the model after the first t examples, whatever is learnt afterwards and whichever
// other snapshots exist. Each is compared bit for bit with a twin that has learnt only these examples.
#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::Answers;
using oplt::test::ask;
using oplt::test::loaded;
using oplt::test::make_params;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

constexpr std::size_t kExamples = 160;

/// Examples of either kind.
struct Stream {
  test::NamedExamples named{21, kExamples};
  test::LabelledTexts texts{kExamples};

  void update(OnlineModel& model, std::size_t begin, std::size_t end, std::size_t threads) const {
    if (model.takes_texts()) {
      texts.update(model, begin, end, threads);
    } else {
      named.update(model, begin, end - begin, threads);
    }
  }

  Answers questions(const ModelState& state) const {
    return ask(state, state.encoder->takes_texts() ? texts.inputs(0, 30) : named.rows(0, 30));
  }
};

const Stream& stream() {
  static const Stream made;
  return made;
}

struct Kind {
  ModelParams params;
  std::optional<TextParams> text;
};

std::vector<Kind> kinds() {
  std::vector<Kind> result;
  for (const Policy policy : test::kGrowingPolicies) {
    result.push_back({make_params(policy, 3, 5), {}});
  }
  Kind memory{make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F)), {}};
  memory.params.label_memory = 8;
  Kind trees{make_params(Policy::kRandom, 4, 6), {}};
  trees.params.forest.trees = 3;
  Kind regrown{make_params(), {}};
  regrown.params.forest.history = 1000;
  regrown.params.forest.first_regrowth = 40;
  Kind all{make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F)), test::crowded_text()};
  all.params.label_memory = 8;
  all.params.forest.trees = 2;
  all.params.forest.history = 1000;
  all.params.forest.first_regrowth = 40;
  Kind texts{make_params(), test::kPlainText};
  result.insert(result.end(), {memory, trees, regrown, all, texts});
  return result;
}

struct Expected {
  std::vector<std::byte> bytes;
  Answers answers;
};

Expected expected_of(const ModelState& state) { return {saved_bytes(state), stream().questions(state)}; }

void check_is(const ModelState& state, const Expected& expected) {
  CHECK(saved_bytes(state) == expected.bytes);
  CHECK(stream().questions(state) == expected.answers);
}

/// Models after every `step` examples, of which no snapshot was taken before.
std::vector<Expected> twins(const Kind& kind, std::size_t step) {
  std::vector<Expected> result;
  for (std::size_t t = 0; t <= kExamples; t += step) {
    OnlineModel twin(kind.params, started(kind.params, kind.text));
    stream().update(twin, 0, t, 1);
    result.push_back(expected_of(twin.snapshot()));
  }
  return result;
}

}  // namespace

TEST("a snapshot equals a twin that stopped learning at that point") {
  constexpr std::size_t kStep = 16;
  for (const Kind& kind : kinds()) {
    const std::vector<Expected> expected = twins(kind, kStep);
    for (const std::size_t threads : {1U, 2U, 3U}) {
      OnlineModel model(kind.params, started(kind.params, kind.text));
      std::vector<ModelState> snapshots{model.snapshot()};
      for (std::size_t t = 0; t < kExamples; t += kStep) {
        stream().update(model, t, t + kStep, threads);
        snapshots.push_back(model.snapshot());
      }
      for (std::size_t i = 0; i < snapshots.size(); ++i) {  // all are held until here
        check_is(snapshots[i], expected[i]);
      }
    }
  }
}

TEST("a snapshot after every example, some of which are dropped again") {
  for (const Kind& kind : kinds()) {
    OnlineModel model(kind.params, started(kind.params, kind.text));
    OnlineModel twin(kind.params, started(kind.params, kind.text));  // without snapshots
    std::vector<std::optional<ModelState>> snapshots;
    std::vector<Expected> expected;
    Random random(3);
    for (std::size_t t = 0; t < kExamples; ++t) {
      snapshots.emplace_back(model.snapshot());
      expected.push_back(expected_of(twin.snapshot()));
      stream().update(model, t, t + 1, 1);
      stream().update(twin, t, t + 1, 1);
      snapshots[random.below(static_cast<std::uint32_t>(snapshots.size()))].reset();
    }
    for (std::size_t t = 0; t < kExamples; ++t) {
      if (snapshots[t]) {
        check_is(*snapshots[t], expected[t]);
      }
    }
    check_is(model.snapshot(), expected_of(twin.snapshot()));
  }
}

TEST("snapshots of a loaded model that learns, with parts still in the file") {
  constexpr std::size_t kStep = 40;
  for (const Kind& kind : kinds()) {
    const std::vector<Expected> expected = twins(kind, kStep);
    for (const std::size_t threads : {1U, 3U}) {
      std::vector<ModelState> snapshots;
      std::vector<std::byte> saved = expected.front().bytes;
      for (std::size_t t = 0; t < kExamples; t += kStep) {
        const ModelState in_file = loaded(kind.params, saved, kind.text);
        OnlineModel model(kind.params, in_file);
        stream().update(model, t, t + kStep / 2, threads);
        const ModelState between = model.snapshot();
        const auto bytes_between = saved_bytes(between);
        stream().update(model, t + kStep / 2, t + kStep, threads);
        CHECK(saved_bytes(in_file) == saved);
        CHECK(saved_bytes(between) == bytes_between);
        snapshots.push_back(model.snapshot());
        saved = saved_bytes(snapshots.back());
      }
      for (std::size_t i = 0; i < snapshots.size(); ++i) {
        check_is(snapshots[i], expected[i + 1]);
      }
    }
  }
}

TEST("a snapshot is a separate model: both can learn independently") {
  constexpr std::size_t kHalf = kExamples / 2;
  for (const Kind& kind : kinds()) {
    OnlineModel model(kind.params, started(kind.params, kind.text));
    stream().update(model, 0, kHalf, 2);
    OnlineModel branch(kind.params, model.snapshot());
    stream().update(branch, 0, 50, 2);
    stream().update(model, kHalf, kExamples, 2);
    OnlineModel twin(kind.params, started(kind.params, kind.text));
    stream().update(twin, 0, kExamples, 1);
    check_is(model.snapshot(), expected_of(twin.snapshot()));
    OnlineModel branch_twin(kind.params, started(kind.params, kind.text));
    stream().update(branch_twin, 0, kHalf, 1);
    stream().update(branch_twin, 0, 50, 1);
    check_is(branch.snapshot(), expected_of(branch_twin.snapshot()));
  }
}

TEST("a snapshot outlives its model and the file") {
  for (const Kind& kind : kinds()) {
    std::optional<ModelState> snapshot;
    Expected expected;
    {
      OnlineModel model(kind.params, started(kind.params, kind.text));
      stream().update(model, 0, 50, 2);
      expected = expected_of(model.snapshot());
      OnlineModel going_on(kind.params, loaded(kind.params, expected.bytes, kind.text));
      snapshot = going_on.snapshot();
      stream().update(going_on, 50, 60, 2);
    }
    check_is(*snapshot, expected);
  }
}

TEST("a copy for prediction does not change when the original learns") {
  for (const Kind& kind : kinds()) {
    OnlineModel model(kind.params, started(kind.params, kind.text));
    stream().update(model, 0, 100, 2);
    const ModelState small = model.snapshot().for_prediction(0);
    const Expected expected = expected_of(small);
    CHECK(expected.answers == stream().questions(model.snapshot()));
    stream().update(model, 100, kExamples, 2);
    check_is(small, expected);
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Training of a model, and what other threads see meanwhile.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "model/online_model.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::Answers;
using oplt::test::ask;
using oplt::test::loaded;
using oplt::test::make_params;
using oplt::test::NamedExamples;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

Name text(std::string_view s) { return {.text = s, .number = 0}; }

NameList list(std::span<const Name> names) { return {.names = names, .numbers = {}}; }

LabelTree three_leaves() {
  const std::vector<NodeId> parents{kNone, 0, 0, 0};
  const std::vector<LabelId> labels{kNone, 2, 0, 1};
  return {parents, labels};
}

ModelParams params_with_history() {
  ModelParams params = make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F));
  params.label_memory = 8;  // so that batches are small
  params.forest.history = 10'000;
  return params;
}

/// Calls rebuild(poll), which takes a break, in which it calls `during` once: another thread asks for turns until then.
template <class Rebuild, class During>
void rebuild_with_break(OnlineModel& model, Rebuild rebuild, During during) {
  std::atomic<bool> has_begun = false;
  std::thread busy([&] {
    while (!has_begun) {
      model.hold();
      model.release();
    }
  });
  rebuild(std::function<void()>([&] {
    if (!has_begun.exchange(true)) {
      during();
    }
  }));
  CHECK(has_begun.exchange(true));
  busy.join();
}

ModelState started_from_tree(const ModelParams& params, std::span<const Name> names) {
  return Learner(params).start({}, three_leaves(), list(names));
}

}  // namespace

TEST("learning row by row, in batches and after loading is the same") {
  const NamedExamples examples(2, 60);
  const ModelParams params = make_params(Policy::kRandom, 2, 3, test::arow(0.5F));
  OnlineModel at_once(params, started(params));
  examples.update(at_once);
  OnlineModel singly(params, started(params));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.update(singly, i, 1);
  }
  CHECK(saved_bytes(singly) == saved_bytes(at_once));
  OnlineModel first_part(params, started(params));
  examples.update(first_part, 0, 25);
  OnlineModel going_on(params, loaded(params, saved_bytes(first_part)));
  examples.update(going_on, 25, 35);
  CHECK(saved_bytes(going_on) == saved_bytes(at_once));
  CHECK(ask(going_on, examples.rows(), {}) == ask(at_once, examples.rows(), {}));
}

TEST("a model from a tree knows its labels by name") {
  const std::vector<Name> names{text("zebra"), text("ant"), text("cow")};
  OnlineModel model(make_params(), started_from_tree(make_params(), names));
  const std::vector<std::int64_t> bounds{0, 1};
  const std::vector<Real> values{1};
  const std::vector<Name> feature{text("stripes")};
  const Inputs row{.rows = {{bounds}, list(feature), values}, .texts = {}};
  const NamedLabels label{{bounds}, list(std::span(names).first(1))};
  for (int i = 0; i < 20; ++i) {
    model.learn(row, label, {}, 1);
  }
  const ModelState state = model.snapshot();
  CHECK_EQ(state.predict(row, {.top_k = 1}, 1).labels, std::vector<LabelId>{0});
  CHECK_EQ(state.forest.first().n_nodes(), 4U);
  CHECK_EQ(state.n_examples(), 20U);
  CHECK_EQ(state.encoder->n_features(), 1U);
  for (LabelId id = 0; id < 3; ++id) {
    CHECK(state.labels->name(id) == names[id]);
  }
}

TEST("a fixed tree ignores unknown labels and their names") {
  const std::vector<Name> known{text("zebra"), text("ant"), text("cow")};
  const std::vector<Name> some_unknown{text("wolf"), text("ant"), text("bee")};
  const std::vector<Name> all_unknown{text("wolf"), text("bee")};
  const std::vector<Name> feature{text("legs")};
  const std::vector<std::int64_t> one{0, 1};
  const std::vector<Real> values{1};
  const Inputs row{.rows = {{one}, list(feature), values}, .texts = {}};
  const auto update = [&](OnlineModel& model, std::span<const Name> labels) {
    const std::vector<std::int64_t> bounds{0, static_cast<std::int64_t>(labels.size())};
    model.learn(row, {{bounds}, list(labels)}, {}, 2);
  };
  const ModelParams params = make_params(Policy::kFixed);
  OnlineModel model(params, started_from_tree(params, known));
  update(model, some_unknown);
  update(model, all_unknown);
  OnlineModel expected(params, started_from_tree(params, known));
  update(expected, std::span(known).subspan(1, 1));
  update(expected, {});
  CHECK(saved_bytes(model) == saved_bytes(expected));
  CHECK_EQ(model.snapshot().labels->size(), 3U);
  CHECK(saved_bytes(OnlineModel(params, loaded(params, saved_bytes(model)))) == saved_bytes(model));
}

TEST("a fixed tree without labels is rejected") {
  const Learner learner(make_params(Policy::kFixed));
  CHECK_THROWS_WITH(InvalidParameter, "from_tree", learner.start({}));
  CHECK_THROWS_WITH(InvalidParameter, "from_tree", learner.start({}, LabelTree(), {}));
}

TEST("a model from a tree rejects duplicate names") {
  const std::vector<Name> names{text("a"), text("b"), text("a")};
  CHECK_THROWS_WITH(InvalidInput, "'a' occurs twice", started_from_tree(make_params(), names));
}

TEST("the order and repetition of names in a row do not matter") {
  const std::vector<Name> features{text("a"), text("b")};
  const std::vector<Name> features_reversed{text("b"), text("a")};
  const std::vector<Name> labels{text("x"), text("y")};
  const std::vector<Name> labels_repeated{text("y"), text("x"), text("y")};
  const std::vector<std::int64_t> two{0, 2};
  const std::vector<std::int64_t> three{0, 3};
  const std::vector<Real> values{1, 2};
  const std::vector<Real> values_reversed{2, 1};
  const ModelParams params = make_params(Policy::kComplete);  // in which leaves have classifiers, too
  OnlineModel one(params, started(params));
  OnlineModel other(params, started(params));
  one.learn({.rows = {{two}, list(features), values}, .texts = {}}, {{two}, list(labels)}, {}, 1);
  other.learn({.rows = {{two}, list(features_reversed), values_reversed}, .texts = {}},
              {{three}, list(labels_repeated)}, {}, 1);
  CHECK(saved_bytes(one) == saved_bytes(other));
}

TEST("a state that does not match the settings is rejected") {
  const NamedExamples examples(8, 20);
  OnlineModel model(make_params(), started(make_params()));
  examples.update(model);
  ModelParams two_trees = make_params();
  two_trees.forest.trees = 2;
  CHECK_THROWS_WITH(FormatError, "1 trees, but according to the settings there are 2",
                    OnlineModel(two_trees, model.snapshot()));
  CHECK_THROWS_WITH(FormatError, "prediction only", OnlineModel(make_params(), model.snapshot().for_prediction(0)));
  CHECK_THROWS_WITH(FormatError, "auxiliary", OnlineModel(make_params(Policy::kFlat), model.snapshot()));
}

TEST("an exception from poll ends the training; the examples before it have been learnt") {
  const NamedExamples examples(9, 60'000);  // one call that takes far longer than two polls are apart
  ModelParams params = make_params();
  params.label_memory = 8;  // so that batches are small
  OnlineModel model(params, started(params));
  int n_polls = 0;
  const auto poll = [&] {
    if (++n_polls == 2) {
      throw InvalidInput("Ctrl-C");
    }
  };
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", examples.update(model, 0, examples.size(), 2, poll));
  const std::uint64_t n = model.snapshot().n_examples();
  CHECK(n > 0 && n < examples.size());
  OnlineModel expected(params, started(params));
  examples.update(expected, 0, n, 1);
  CHECK(saved_bytes(model) == saved_bytes(expected));
  examples.update(model, 0, 10);  // the training can continue
  CHECK_EQ(model.snapshot().n_examples(), n + 10);
}

TEST("readers during training get predictions of the model after a whole number of examples") {
  const NamedExamples examples(3, 150);
  const Inputs questions = examples.rows(100, 20);
  std::vector<Answers> expected;  // by the number of examples learnt
  OnlineModel alone(make_params(), started(make_params()));
  expected.push_back(ask(alone, questions));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.update(alone, i, 1);
    expected.push_back(ask(alone, questions));
  }

  OnlineModel shared(make_params(), started(make_params()));
  std::atomic<bool> done = false;
  std::vector<std::vector<Answers>> answers(3);
  std::vector<std::thread> readers;
  for (std::vector<Answers>& mine : answers) {
    readers.emplace_back([&] {
      while (!done) {
        mine.push_back(ask(shared, questions, {.top_k = 3}, 2));
        std::this_thread::sleep_for(
            std::chrono::microseconds(200));  // leaves turns to the writer; there is another test for busy readers
      }
      mine.push_back(ask(shared, questions, {.top_k = 3}, 2));
    });
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.update(shared, i, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (const std::vector<Answers>& mine : answers) {
    std::uint64_t previous = 0;
    for (const Answers& answer : mine) {
      CHECK(answer.n_examples >= previous && answer.n_examples <= examples.size());
      CHECK(answer == expected.at(answer.n_examples));
      previous = answer.n_examples;
    }
    CHECK_EQ(previous, examples.size());
  }
}

TEST("busy readers do not keep the writer from its turn") {
  const NamedExamples examples(7, 130);
  OnlineModel model(make_params(), started(make_params()));
  examples.update(model, 0, 100);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);  // the work takes milliseconds
  std::atomic<bool> done = false;
  std::latch all_started(4);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      all_started.count_down();
      while (!done && std::chrono::steady_clock::now() < deadline) {
        ask(model, examples.rows(0, 50), {.top_k = 5});
      }
    });
  }
  all_started.wait();
  for (std::size_t i = 100; i < examples.size(); ++i) {
    examples.update(model, i, 1);
  }
  CHECK(std::chrono::steady_clock::now() < deadline);
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

TEST("regrowing changes the trees, and neither the label memory nor the ranking nor the names") {
  const NamedExamples examples(4, 120);
  ModelParams params = make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F));
  params.label_memory = 8;
  params.forest.history = 1000;
  OnlineModel model(params, started(params));
  examples.update(model, 0, 100);
  const ModelState before = model.snapshot();
  model.regrow(2);
  const ModelState after = model.snapshot();
  CHECK(saved_bytes(**after.ranker) == saved_bytes(**before.ranker));
  CHECK(saved_bytes(*after.labels) == saved_bytes(*before.labels));
  CHECK(saved_bytes(*after.history) == saved_bytes(*before.history));
  CHECK(saved_bytes(after.forest) != saved_bytes(before.forest));
  CHECK_EQ(after.n_examples(), 100U);
  OnlineModel going_on(params, loaded(params, saved_bytes(model)));
  examples.update(model, 100, 20);
  examples.update(going_on, 100, 20);
  CHECK(saved_bytes(going_on) == saved_bytes(model));
}

TEST("a model that forgets equals one that never learnt these examples; examples learnt meanwhile are kept") {
  const NamedExamples examples(5, 4000);
  ModelParams params = make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F));
  params.label_memory = 8;
  params.forest.history = 10'000;
  params.forest.first_regrowth = 100;
  OnlineModel expected(params, started(params));
  examples.update(expected, 0, 7);
  examples.update(expected, 8, 3992);
  OnlineModel model(params, started(params));
  examples.update(model, 0, 3900);
  bool has_learnt = false;
  const auto poll = [&] {
    if (!has_learnt) {
      has_learnt = true;
      examples.update(model, 3900, 100);
    }
  };
  const std::vector<std::uint64_t> numbers{7};
  model.forget(numbers, 0, 1, poll);
  if (!has_learnt) {  // it was over before the first poll
    examples.update(model, 3900, 100);
  }
  CHECK(saved_bytes(model) == saved_bytes(expected));
}

TEST("rebuilding waits for its turn; if the numbers of examples have changed meanwhile, none is forgotten") {
  const NamedExamples examples(5, 2000);
  const ModelParams params = params_with_history();
  OnlineModel model(params, started(params));
  examples.update(model);
  std::vector<std::thread> others;
  rebuild_with_break(
      model, [&](const auto& poll) { model.forget(std::vector<std::uint64_t>{0, 7}, 0, 1, poll); },
      [&] {
        others.emplace_back([&, n = model.n_forgettings()] {
          CHECK_THROWS_WITH(InvalidInput, "have changed", model.forget(std::vector<std::uint64_t>{5}, n, 1));
        });
        others.emplace_back([&] { model.regrow(1); });
        others.emplace_back([&] { model.forget({}, 0, 2); });
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // all have begun
      });
  for (std::thread& other : others) {
    other.join();
  }
  OnlineModel expected(params, started(params));
  examples.update(expected, 1, 6);
  examples.update(expected, 8, 1992);
  model.regrow(1);  // the other regrowth may have been before the last forgetting, or after it
  expected.regrow(1);
  CHECK(saved_bytes(model) == saved_bytes(expected));
}

TEST("waiting for another rebuilding ends by an exception from poll, and does not begin if it would never end") {
  const NamedExamples examples(5, 500);
  const ModelParams params = params_with_history();
  OnlineModel model(params, started(params));
  examples.update(model);
  std::latch is_rebuilding(1);
  std::latch may_end(1);
  std::thread rebuilding([&] {
    rebuild_with_break(
        model, [&](const auto& poll) { model.forget({}, 0, 1, poll); },
        [&] {
          CHECK_THROWS_WITH(InvalidInput, "by a signal handler", model.regrow(1));
          is_rebuilding.count_down();
          may_end.wait();
        });
  });
  is_rebuilding.wait();
  const auto before = saved_bytes(model);
  const auto poll = [] { throw InvalidInput("Ctrl-C"); };
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", model.regrow(1, poll));
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", model.forget(std::vector<std::uint64_t>{3}, 0, 1, poll));
  model.hold();  // the other call waits for it
  CHECK_THROWS_WITH(InvalidInput, "a fork hook", model.regrow(1));
  model.release();
  may_end.count_down();
  rebuilding.join();
  CHECK(saved_bytes(model) == before);
  model.regrow(1);
}

TEST("memory use includes a regrowth beside the stream, in all its stages, until the old trees are freed") {
  const NamedExamples examples(5, 1000);
  ModelParams params = make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F));
  params.forest.history = 10'000;
  params.forest.first_regrowth = 400;
  OnlineModel model(params, started(params));
  examples.update(model, 0, 399);
  CHECK_EQ(model.memory_use().regrowth, 0U);
  for (std::size_t i = 399; i < 499; ++i) {  // the new trees take over after 500 examples
    examples.update(model, i, 1);
    const MemoryUse use = model.memory_use();
    CHECK(use.regrowth > 0);
    CHECK_EQ(use.total(), model.snapshot().memory_use().total() + use.regrowth);
  }
  CHECK(2 * model.memory_use().regrowth > model.memory_use().trees);  // it has been trained on nearly all examples
  std::size_t seen_meanwhile = 0;
  examples.update(model, 499, 1);
  model.regrow(1, [&] { seen_meanwhile = model.memory_use().total(); });
  CHECK(seen_meanwhile == 0 || seen_meanwhile > model.snapshot().history->memory_bytes());
  examples.update(model, 500, 200);
  CHECK_EQ(model.memory_use().regrowth, 0U);
}

TEST("a model without a history, or one that has ended, cannot be rebuilt and stays as it was") {
  const NamedExamples examples(6, 40);
  for (const std::uint64_t history : {0U, 39U}) {
    ModelParams params = make_params();
    params.forest.history = history;
    OnlineModel model(params, started(params));
    examples.update(model);
    const auto before = saved_bytes(model);
    CHECK_THROWS_WITH(InvalidInput, "no history", model.regrow(1));
    CHECK_THROWS_WITH(InvalidInput, "no history", model.forget({}, 0, 1));
    CHECK(saved_bytes(model) == before);
    CHECK_EQ(model.snapshot().history->size(), 0U);
    examples.update(model);
  }
}

TEST("an exception from poll ends the rebuilding and leaves the model as it was") {
  const NamedExamples examples(9, 30'000);
  ModelParams params = make_params();
  params.forest.history = 100'000;
  OnlineModel model(params, started(params));
  examples.update(model);
  const auto before = saved_bytes(model);
  const auto poll = [] { throw InvalidInput("Ctrl-C"); };
  const std::vector<std::uint64_t> numbers{7};
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", model.regrow(2, poll));
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", model.forget(numbers, 0, 2, poll));
  CHECK(saved_bytes(model) == before);
  examples.update(model, 0, 10);
  CHECK_EQ(model.snapshot().n_examples(), 30'010U);
}

TEST("a history that does not match the settings is rejected") {
  const NamedExamples examples(6, 40);
  ModelParams params = make_params();
  params.forest.history = 1000;
  OnlineModel model(params, started(params));
  examples.update(model);
  for (const std::uint64_t history : {0U, 39U}) {
    ModelParams others = params;
    others.forest.history = history;
    CHECK_THROWS_WITH(FormatError, "number of examples in the history", OnlineModel(others, model.snapshot()));
  }
  ModelState without = model.snapshot();
  without.history = {};
  CHECK_THROWS_WITH(FormatError, "number of examples in the history", OnlineModel(params, without));
}

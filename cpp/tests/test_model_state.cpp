// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "model/model_state.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::ask;
using oplt::test::loaded;
using oplt::test::make_params;
using oplt::test::NamedExamples;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

ModelState taught(const ModelParams& params, const NamedExamples& examples, std::size_t n) {
  OnlineModel model(params, started(params));
  examples.update(model, 0, n);
  return model.snapshot();
}

ModelState taught(const ModelParams& params, const NamedExamples& examples) {
  return taught(params, examples, examples.size());
}

}  // namespace

TEST("predictions do not depend on the number of threads") {
  const NamedExamples examples(1, 300);
  const ModelState state = taught(make_params(Policy::kBestGreedy, 3, 6), examples);
  const test::Answers expected = ask(state, examples.rows(), {.top_k = 5});
  CHECK_EQ(expected.predictions.indptr.size(), 301U);
  CHECK_EQ(expected.predictions.labels.size(), 5 * 300U);
  CHECK_EQ(expected.n_examples, 300U);
  for (const std::size_t threads : {2U, 8U}) {
    CHECK(ask(state, examples.rows(), {.top_k = 5}, threads) == expected);
  }
}

TEST("a prediction does not change the model, and unknown features do no harm") {
  const NamedExamples examples(4, 40);
  const ModelState state = taught(make_params(), examples, 20);
  const auto before = saved_bytes(state);
  CHECK_EQ(state.predict(examples.rows(), {.top_k = 1}, 1).labels.size(), 40U);
  CHECK(saved_bytes(state) == before);
  CHECK_EQ(started(make_params()).predict(examples.rows(), {}, 1).indptr, std::vector<std::int64_t>(41, 0));
}

TEST("an exception from poll ends a prediction") {
  const NamedExamples examples(4, 600);
  const ModelState state = taught(make_params(), examples, 20);
  int n_polls = 0;
  const auto stop = [&] {
    if (++n_polls == 2) {
      throw InvalidInput("Ctrl-C");
    }
  };
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C", state.predict(examples.rows(), {}, 1, stop));
  CHECK_EQ(n_polls, 2);
}

TEST("memory use is reported for the parts that a model has") {
  const NamedExamples examples(7, 60);
  ModelParams params = make_params(Policy::kBestGreedy, 3, 6);
  const ModelState tree_alone = taught(params, examples);
  const MemoryUse plain = tree_alone.memory_use();
  CHECK(plain.trees > 0 && plain.label_names > 0 && plain.features > 0);
  CHECK_EQ(plain.total(), plain.trees + plain.label_names + plain.features);

  params.label_memory = 8;
  params.forest.history = 1000;
  const ModelState with_all = taught(params, examples);
  const MemoryUse all = with_all.memory_use();
  CHECK(all.label_memory > 0 && all.history > 0);
  CHECK_EQ(all.total(), all.trees + all.label_names + all.features + all.label_memory + all.history);
  const MemoryUse in_file = loaded(params, saved_bytes(with_all)).memory_use();
  CHECK_EQ(in_file.history + in_file.label_names + in_file.features, 0U);
  CHECK(in_file.total() < all.total());
}

TEST("a model counts the examples of each label, and knows the first and the last one") {
  const std::vector<std::int32_t> columns{5, 5, 6, 5};
  const std::vector<std::int64_t> indptr{0, 1, 3, 4};  // labels 5; 5 and 6; 5
  const std::vector<Real> values(4, Real{1});
  const ModelParams params = make_params();
  OnlineModel model(params, started(params));
  const NameList names{.names = {}, .numbers = columns};
  model.learn({.rows = {{indptr}, names, values}, .texts = {}}, {{indptr}, names}, {}, 1);
  const ModelState state = model.snapshot();
  const auto [n_of_5, first_of_5, last_of_5] = state.counts->of(0);
  CHECK(n_of_5 == 3 && first_of_5 == 0 && last_of_5 == 2);
  const auto [n_of_6, first_of_6, last_of_6] = state.counts->of(1);
  CHECK(n_of_6 == 1 && first_of_6 == 1 && last_of_6 == 1);
}

TEST("a model for prediction gives the same predictions in less memory, also when it is saved") {
  const NamedExamples examples(10, 200);
  ModelParams params = make_params(Policy::kBestGreedy, 3, 6);
  params.label_memory = 8;
  params.forest.trees = 2;
  params.forest.history = 1000;
  const ModelState state = taught(params, examples);
  const ModelState small = state.for_prediction(0);
  CHECK(ask(small, examples.rows()) == ask(state, examples.rows()));
  CHECK(small.memory_use().total() < state.memory_use().total());
  const auto file = saved_bytes(small);
  CHECK(file.size() < saved_bytes(state).size());
  CHECK(ask(loaded(params, file), examples.rows()) == ask(state, examples.rows()));
  CHECK(saved_bytes(loaded(params, file)) == file);
  const ModelState pruned = state.for_prediction(0.1F);
  CHECK(pruned.forest.n_cells() < small.forest.n_cells());
  const ModelState halves = state.for_prediction(0, true);
  const auto smaller_file = saved_bytes(halves);
  CHECK(smaller_file.size() < file.size());
  CHECK(ask(loaded(params, smaller_file), examples.rows()) == ask(halves, examples.rows()));
  CHECK(saved_bytes(loaded(params, smaller_file)) == smaller_file);
}

TEST("all labels of the tree must have names") {
  Vocabulary two_names;
  std::vector<LabelId> ids;
  const std::vector<std::int32_t> columns{1, 2};
  two_names.add_row({.names = {}, .numbers = columns}, 0, 2, ids);
  const std::vector<NodeId> parents{kNone, 0, 0};
  const std::vector<LabelId> matching{kNone, 1, 0};
  const std::vector<LabelId> with_a_gap{kNone, 0, 2};
  const ModelParams params = make_params();
  const auto state_of = [&](const Vocabulary& labels, const std::vector<LabelId>& of_nodes) {
    ModelState state = started(params);
    state.labels = Shared(LabelBook(labels));
    state.counts = Shared(LabelCounts(labels.size()));
    state.forest.trees = {Plt(LabelTree(parents, of_nodes))};
    return state;
  };
  CHECK_EQ(loaded(params, saved_bytes(state_of(two_names, matching))).labels->size(), 2U);
  CHECK_THROWS_WITH(FormatError, "labels without names", loaded(params, saved_bytes(state_of({}, matching))));
  CHECK_THROWS_WITH(FormatError, "labels without names", loaded(params, saved_bytes(state_of(two_names, with_a_gap))));
}

TEST("a file of a different kind of model is rejected") {
  const NamedExamples examples(11, 30);
  ModelParams params = make_params();
  const auto file = saved_bytes(taught(params, examples));
  CHECK_THROWS(FormatError, loaded(params, file, test::kPlainText));  // as a model of texts
  params.label_memory = 8;
  CHECK_THROWS_WITH(FormatError, "no array 'ranking", loaded(params, file));
  params.label_memory = 0;
  params.forest.trees = 2;
  CHECK_THROWS_WITH(FormatError, "no array 'trees/1", loaded(params, file));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "encode/text_features.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "learners.hpp"
#include "model/online_model.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::ask;
using oplt::test::crowded_text;
using oplt::test::kPlainText;
using oplt::test::LabelledTexts;
using oplt::test::loaded;
using oplt::test::make_params;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

std::map<std::string, Real> named(const TextFeatures& features, const TextRow& row) {
  std::map<std::string, Real> result;
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    result[std::string(features.terms().term(row.ids[i]).text)] += row.values[i];
  }
  return result;
}

std::map<std::string, Real> learnt(const TextParams& params, std::string_view text) {
  TextFeatures features(params);
  TextRow row;
  features.learn(text, row);
  return named(features, row);
}

ModelParams with_all_switches() {
  ModelParams params = make_params();
  params.label_memory = 8;
  params.forest.trees = 2;
  params.forest.history = 1000;
  params.forest.first_regrowth = 40;
  return params;
}

}  // namespace

TEST("terms are word n-grams") {
  TextParams params = kPlainText;
  params.max_words = 3;
  CHECK_EQ(learnt(params, "B a b A"),
           (std::map<std::string, Real>{{"a", 2}, {"b", 2}, {"b a", 2}, {"a b", 1}, {"b a b", 1}, {"a b a", 1}}));
  params.min_words = 3;
  CHECK_EQ(learnt(params, "B a b"), (std::map<std::string, Real>{{"b a b", 1}}));
  CHECK(learnt(params, "B a").empty());
}

TEST("terms are character n-grams of words and the spaces around them") {
  TextParams params = kPlainText;
  params.min_words = params.max_words = 0;
  params.min_chars = 2;
  params.max_chars = 3;
  CHECK_EQ(learnt(params, "\u00C4b"), (std::map<std::string, Real>{{" \u00E4", 1},
                                                                   {"\u00E4"
                                                                    "b",
                                                                    1},
                                                                   {"b ", 1},
                                                                   {" \u00E4"
                                                                    "b",
                                                                    1},
                                                                   {"\u00E4"
                                                                    "b ",
                                                                    1}}));
  params.min_chars = params.max_chars = 4;
  CHECK(learnt(params, "a").empty());
}

TEST("values are tf-idf with the current counts") {
  TextParams params = kPlainText;
  params.idf = params.sublinear = true;
  TextFeatures features(params);
  TextRow row;
  features.learn("a a a b", row);
  features.learn("a c", row);
  const auto close = [](Real value, double expected) { return std::abs(value - expected) < 1e-6; };
  auto values = named(features, row);
  CHECK(close(values["a"], 1.0));
  CHECK(close(values["c"], 1 + std::log(3.0 / 2)));
  features.find("b b unknown unknown", row);
  values = named(features, row);
  CHECK(close(values["b"], (1 + std::log(2.0)) * (1 + std::log(3.0 / 2))));
  CHECK_EQ(values.size(), 1U);
}

TEST("logarithms of large counts are as accurate as those of small ones") {
  TextParams params = kPlainText;
  params.idf = true;
  TextFeatures features(params);
  TextRow row;
  for (int n = 1; n <= 20'000; ++n) {
    features.learn(n % 3 == 0 ? "a" : "a b", row);
    const double n_with_b = n - n / 3;
    if (n % 3 != 0) {
      CHECK(std::abs(named(features, row)["b"] / (1 + std::log((1.0 + n) / (1.0 + n_with_b))) - 1) < 1e-7);
    }
  }
}

TEST("the order of the words does not matter for their ids") {
  TextFeatures one(kPlainText);
  TextFeatures other(kPlainText);
  TextRow row;
  one.learn("c a b a", row);
  other.learn("a a b c", row);
  CHECK(saved_bytes(one) == saved_bytes(other));
}

TEST("rows of many texts are sorted and have norm 1") {
  TextFeatures features(kPlainText);
  const std::vector<std::string_view> texts{"b a a", "", "c a"};
  const TextMatrix learnt = features.learn_many(texts);
  CHECK_EQ(learnt.indptr, (std::vector<std::int64_t>{0, 2, 2, 4}));
  CHECK_EQ(learnt.ids, (std::vector<std::int32_t>{0, 1, 0, 2}));
  CHECK_EQ(learnt.values[0], static_cast<Real>(2 / std::sqrt(5.0)));
  const std::vector<std::string_view> asked{"a unknown b"};
  const TextMatrix found = features.find_many(asked);
  CHECK_EQ(found.ids, (std::vector<std::int32_t>{0, 1}));
  CHECK_EQ(found.values[0], static_cast<Real>(1 / std::sqrt(2.0)));
  CHECK_EQ(features.terms().n_texts(), 3U);
}

TEST("further features are counted once per text, whether or not they share an id") {
  for (const std::uint32_t hash_bits : {0U, 1U}) {
    TextParams params = kPlainText;
    params.hash_bits = hash_bits;
    TextFeatures features(params);
    TextRow row;
    const std::vector<Name> names{{.text = "b", .number = 0}, {.text = {}, .number = 7}, {.text = "a", .number = 0}};
    const std::vector<Real> values{3, 2, 1};
    const std::vector<std::int64_t> bounds{0, 3};
    const NamedRows rows{{bounds}, {names, {}}, values};
    for (std::uint32_t n = 1; n <= 3; ++n) {
      features.learn("a b c", row);
      features.learn_further(rows, 0, row);
      CHECK_EQ(row.ids.size(), row.values.size());
      for (const FeatureId id : row.ids) {
        CHECK_EQ(features.terms().n_texts_with(id), n);
      }
    }
    CHECK_EQ(features.terms().size(), hash_bits == 0 ? 6U : 2U);
  }
}

TEST("known further features are kept when new ones replace others") {
  TextParams params = kPlainText;
  params.max_features = 3;
  TextFeatures features(params);
  TextRow row;
  const std::vector<Name> names{{.text = "a", .number = 0}, {.text = "z", .number = 0}};
  const std::vector<Real> values{1, 1};
  const std::vector<std::int64_t> both{0, 2};
  const std::vector<std::int64_t> one{0, 1};
  const std::vector<Name> last{names[1]};
  features.learn("x y", row);
  features.learn_further({{one}, {last, {}}, values}, 0, row);
  const FeatureId z = row.ids.back();
  features.learn("x", row);  // y and z are the rarest
  features.learn_further({{both}, {names, {}}, values}, 0, row);
  CHECK_EQ(row.ids.back(), z);
  CHECK_EQ(features.terms().n_texts_with(z), 2U);
}

TEST("inconsistent settings are rejected") {
  const auto changed = [](std::uint32_t TextParams::* setting, std::uint32_t value) {
    TextParams params = kPlainText;
    params.*setting = value;
    return params;
  };
  CHECK_THROWS_WITH(InvalidParameter, "ngrams", changed(&TextParams::min_words, 2).validate());
  CHECK_THROWS_WITH(InvalidParameter, "ngrams", changed(&TextParams::min_words, 0).validate());
  CHECK_THROWS_WITH(InvalidParameter, "chars", changed(&TextParams::min_chars, 2).validate());
  CHECK_THROWS_WITH(InvalidParameter, "hash_bits", changed(&TextParams::hash_bits, 32).validate());
  TextParams none = kPlainText;
  none.min_words = none.max_words = 0;
  CHECK_THROWS_WITH(InvalidParameter, "ngrams", none.validate());
}

TEST("a model of texts is the same whether trained one by one, in batches, on threads or after loading") {
  const LabelledTexts stream(120);
  const TextParams text = crowded_text();
  for (const ModelParams& params : {make_params(), with_all_switches()}) {
    OnlineModel expected(params, started(params, text));
    for (std::size_t i = 0; i < 120; ++i) {
      stream.update(expected, i, i + 1, 1);
    }
    for (const std::size_t threads : {1U, 3U}) {
      OnlineModel model(params, started(params, text));
      stream.update(model, 0, 50, threads);
      OnlineModel going_on(params, loaded(params, saved_bytes(model), text));
      stream.update(going_on, 50, 120, threads);
      CHECK(saved_bytes(going_on) == saved_bytes(expected));
      CHECK(ask(going_on, stream.inputs(), {.top_k = 3}, threads) == ask(expected, stream.inputs()));
    }
    const ModelState state = expected.snapshot();
    CHECK_EQ(state.encoder->n_features(), 25U);
    CHECK(state.memory_use().features >= state.encoder->text_features()->terms().memory_bytes());
    CHECK(state.memory_use().total() > state.memory_use().features);
  }
}

TEST("trees are regrown from the rows with which texts were learnt") {
  const LabelledTexts stream(60);
  ModelParams params = make_params();
  params.forest.history = 1000;
  params.forest.first_regrowth = 40;
  OnlineModel model(params, started(params, crowded_text()));
  test::OnlineForest expected(params);
  TextFeatures features(crowded_text());
  RowBuilder row_builder;
  std::vector<LabelId> ids(100, kNone);  // by name, in order of arrival
  LabelId n_ids = 0;
  TextRow text;
  for (std::size_t i = 0; i < 60; ++i) {
    stream.update(model, i, i + 1, 1);
    features.learn(stream.views[i], text);
    row_builder.clear();
    const RowView row = row_builder.build(text.ids, text.values, params.forest.rows);
    LabelId& id = ids[static_cast<std::size_t>(stream.labels[i])];
    id = id == kNone ? n_ids++ : id;
    expected.learn(test::StreamExample{
        {row.features.begin(), row.features.end()}, {row.values.begin(), row.values.end()}, {id}, 1});
  }
  CHECK(saved_bytes(model.snapshot().forest) == saved_bytes(*expected));
}

TEST("a history of texts with unknown features is rejected") {
  const LabelledTexts stream(40);
  ModelParams one_tree = make_params();
  one_tree.forest.history = 1000;
  for (const ModelParams& params : {with_all_switches(), one_tree}) {
    OnlineModel model(params, started(params, kPlainText));
    stream.update(model, 0, 40, 1);
    ModelState state = model.snapshot();
    CHECK(saved_bytes(loaded(params, saved_bytes(state), kPlainText)) == saved_bytes(state));
    state.encoder = Shared(Encoder(TextFeatures(kPlainText)));
    CHECK_THROWS_WITH(FormatError, "feature that the model does not have",
                      loaded(params, saved_bytes(state), kPlainText));
    for (Plt& tree : state.forest.trees) {  // so that only the history has the feature
      tree = tree.for_prediction(1e30F);
    }
    state.ranker.reset();
    ModelParams without_memory = params;
    without_memory.label_memory = 0;
    CHECK_THROWS_WITH(FormatError, "history", loaded(without_memory, saved_bytes(state), kPlainText));
  }
}

TEST("readers during training on texts get predictions of the model after a whole number of texts") {
  const LabelledTexts stream(100);
  const Inputs questions = stream.inputs(0, 20);
  const ModelParams params = with_all_switches();
  OnlineModel alone(params, started(params, crowded_text()));
  std::vector<test::Answers> expected;  // by the number of texts learnt
  for (std::size_t i = 0; i <= 100; ++i) {
    expected.push_back(ask(alone, questions));
    if (i < 100) {
      stream.update(alone, i, i + 1, 1);
    }
  }
  OnlineModel shared(params, started(params, crowded_text()));
  std::vector<std::thread> readers;
  std::atomic<int> n_wrong = 0;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (std::uint64_t seen = 0; seen < 100;) {
        const test::Answers answers = ask(shared, questions, {.top_k = 3}, 2);
        seen = answers.n_examples;
        n_wrong += answers == expected.at(seen) ? 0 : 1;
      }
    });
  }
  for (std::size_t i = 0; i < 100; i += 5) {
    stream.update(shared, i, i + 5, 3);
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK_EQ(n_wrong.load(), 0);
  CHECK(saved_bytes(shared) == saved_bytes(alone));
}

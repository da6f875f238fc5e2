// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"
#include "helpers.hpp"
#include "oplt/model.hpp"
#include "oplt/text_features.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;

namespace {

constexpr TextParams kPlain{.min_words = 1,
                            .max_words = 1,
                            .min_chars = 0,
                            .max_chars = 0,
                            .idf = false,
                            .sublinear = false,
                            .hash_bits = 0,
                            .max_features = 0};

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

/// A text of some words; later ones have words of their own.
std::string random_text(Random& random, std::uint32_t i) {
  std::string text;
  for (std::uint32_t n = random.below(8); n > 0; --n) {
    text += "Word" + std::to_string(random.below(20 + i)) + ' ';
  }
  return text;
}

/// Texts, and labels that have something to do with them.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indptr{0};

  explicit LabelledTexts(std::size_t n) {
    Random random(2);
    for (std::uint32_t i = 0; i < n; ++i) {
      texts.push_back(random_text(random, i));
      labels.push_back(static_cast<std::int32_t>(texts.back().size() % 7 + i / 10));
      indptr.push_back(static_cast<std::int64_t>(labels.size()));
    }
    views.assign(texts.begin(), texts.end());
  }

  void teach(Model& model, std::size_t begin, std::size_t end, std::size_t threads) const {
    const NamedLabels y{{std::span(indptr).subspan(begin, end - begin + 1)},
                        {.names = {}, .numbers = std::span(labels).subspan(begin)}};
    model.learn_texts(std::span(views).subspan(begin, end - begin), y, {}, threads);
  }
};

}  // namespace

TEST("terms are sequences of words") {
  TextParams params = kPlain;
  params.max_words = 3;
  CHECK_EQ(learnt(params, "B a b A"),
           (std::map<std::string, Real>{{"a", 2}, {"b", 2}, {"b a", 2}, {"a b", 1}, {"b a b", 1}, {"a b a", 1}}));
  params.min_words = 3;
  CHECK_EQ(learnt(params, "B a b"), (std::map<std::string, Real>{{"b a b", 1}}));
  CHECK(learnt(params, "B a").empty());
}

TEST("terms are characters of words and the spaces around them") {
  TextParams params = kPlain;
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

TEST("values are tf and idf at the time") {
  TextParams params = kPlain;
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

TEST("logarithms of large counts are as good as those of small ones") {
  TextParams params = kPlain;
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
  TextFeatures one(kPlain);
  TextFeatures other(kPlain);
  TextRow row;
  one.learn("c a b a", row);
  other.learn("a a b c", row);
  CHECK(saved_bytes(one) == saved_bytes(other));
}

TEST("rows of many texts are sorted and of norm 1") {
  TextFeatures features(kPlain);
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

TEST("settings that do not go together are refused") {
  const auto changed = [](std::uint32_t TextParams::* setting, std::uint32_t value) {
    TextParams params = kPlain;
    params.*setting = value;
    return params;
  };
  CHECK_THROWS_WITH(InvalidParameter, "ngrams", changed(&TextParams::min_words, 2).validate());
  CHECK_THROWS_WITH(InvalidParameter, "ngrams", changed(&TextParams::min_words, 0).validate());
  CHECK_THROWS_WITH(InvalidParameter, "chars", changed(&TextParams::min_chars, 2).validate());
  CHECK_THROWS_WITH(InvalidParameter, "hash_bits", changed(&TextParams::hash_bits, 32).validate());
  TextParams none = kPlain;
  none.min_words = none.max_words = 0;
  CHECK_THROWS_WITH(InvalidParameter, "without both", none.validate());
}

TEST("a model of texts is the same one by one, in batches, on threads and after loading") {
  const LabelledTexts stream(120);
  TextParams text = kPlain;
  text.idf = true;
  text.max_features = 25;
  const TrainParams params = make_params();
  Model expected(params, TextFeatures(text));
  for (std::size_t i = 0; i < 120; ++i) {
    stream.teach(expected, i, i + 1, 1);
  }
  for (const std::size_t threads : {1U, 3U}) {
    Model model(params, TextFeatures(text));
    stream.teach(model, 0, 50, threads);
    Model loaded(params, saved_bytes(model), text);
    stream.teach(loaded, 50, 120, threads);
    CHECK(saved_bytes(loaded) == saved_bytes(expected));
    const Predictions answers = loaded.predict_texts(stream.views, {.top_k = 3, .threads = threads});
    CHECK_EQ(answers.probabilities, expected.predict_texts(stream.views, {.top_k = 3}).probabilities);
  }
  CHECK_EQ(expected.n_features(), 25U);
  CHECK(expected.memory_bytes() > expected.text_features()->terms().memory_bytes());
}

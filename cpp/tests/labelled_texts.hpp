// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A stream of texts shared by several tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "encode/text_features.hpp"
#include "model/online_model.hpp"

namespace oplt::test {

/// The value of a word is its number of occurrences.
inline constexpr TextParams kPlainText{.min_words = 1,
                                       .max_words = 1,
                                       .min_chars = 0,
                                       .max_chars = 0,
                                       .idf = false,
                                       .sublinear = false,
                                       .hash_bits = 0,
                                       .max_features = 0,
                                       .words = WordRule::kSymbols};

/// With idf, and a limit so low that terms replace each other all the time.
inline TextParams crowded_text() {
  TextParams params = kPlainText;
  params.idf = true;
  params.max_features = 25;
  return params;
}

/// A text of some words; later texts have new words.
inline std::string random_text(Random& random, std::uint32_t i) {
  std::string text;
  for (std::uint32_t n = random.below(8); n > 0; --n) {
    text += "Word" + std::to_string(random.below(20 + i)) + ' ';
  }
  return text;
}

/// Texts with related labels.
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
  LabelledTexts(const LabelledTexts&) = delete;  // the views refer to its own texts
  LabelledTexts& operator=(const LabelledTexts&) = delete;

  std::size_t size() const { return texts.size(); }

  Inputs inputs(std::size_t begin, std::size_t end) const {
    return {.rows = {}, .texts = std::span(views).subspan(begin, end - begin)};
  }
  Inputs inputs() const { return inputs(0, size()); }

  void update(OnlineModel& model, std::size_t begin, std::size_t end, std::size_t threads) const {
    const NamedLabels y{{std::span(indptr).subspan(begin, end - begin + 1)},
                        {.names = {}, .numbers = std::span(labels).subspan(begin)}};
    model.learn(inputs(begin, end), y, {}, threads);
  }
};

}  // namespace oplt::test

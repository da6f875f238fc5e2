// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "encode/text_features.hpp"
#include "encode/unicode.hpp"
#include "encode/words.hpp"
#include "fuzz_targets.hpp"
#include "hostile_models.hpp"
#include "io/decimal.hpp"
#include "io/text_format.hpp"
#include "io/text_line.hpp"

namespace oplt::test {

namespace {

/// Compares the bits of the number at the beginning of a text with the standard library, which accepts fewer notations.
void compare_number(std::string_view text) {
  Real value = 0;
  const char* const end = read_real(text.data(), text.data() + text.size(), value);
  if (end == nullptr) {
    return;
  }
  const bool is_signed = text[0] == '-' || text[0] == '+';
  Real expected = 0;
  const auto [stop, error] = std::from_chars(text.data() + is_signed, end, expected);
  if (error == std::errc{}) {
    expected = text[0] == '-' ? -expected : expected;
    expect(stop == end, "the number ends at a different position");
    expect(std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(value), "the number is different");
  }
}

void expect_rows(const LabelledRows& rows) {
  const auto expect_bounds = [](const std::vector<std::int64_t>& indptr, std::size_t n) {
    expect(!indptr.empty() && indptr.front() == 0 && indptr.back() == static_cast<std::int64_t>(n),
           "rows do not end where their content does");
    expect(std::ranges::is_sorted(indptr), "the bounds of rows are not ascending");
  };
  expect_bounds(rows.x_indptr, rows.features.size());
  expect_bounds(rows.y_indptr, rows.labels.size());
  expect(rows.x_indptr.size() == rows.y_indptr.size() && rows.values.size() == rows.features.size(),
         "the parts of the rows differ in length");
  const auto below = [](std::int64_t n) { return [n](std::int32_t i) { return i >= 0 && i < n; }; };
  expect(std::ranges::all_of(rows.features, below(rows.n_features)), "a feature is out of range");
  expect(std::ranges::all_of(rows.labels, below(rows.n_labels)), "a label is out of range");
}

/// The rows, or the error.
struct Parsed {
  std::optional<LabelledRows> rows;
  std::string error;
};

Parsed parsed(std::string_view text, std::size_t chunk_bytes) {
  try {
    return {parse_text(text, 1, chunk_bytes), {}};
  } catch (const InvalidInput& error) {
    return {std::nullopt, error.what()};
  }
}

void expect_same(const Parsed& a, const Parsed& b) {
  expect(a.error == b.error && a.rows.has_value() == b.rows.has_value(), "chunks change the error");
  if (a.rows) {
    expect(a.rows->features == b.rows->features && a.rows->labels == b.rows->labels &&
               a.rows->x_indptr == b.rows->x_indptr && a.rows->n_features == b.rows->n_features,
           "chunks change the rows");
  }
}

/// The text with each character decoded and encoded again.
std::string recoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const char32_t c = decode_utf8(text, i);
    expect(i > begin && i <= text.size(), "a character has no length");
    fold_char(c);
    char bytes[4];
    if (c == kNoChar) {
      result += text[begin];
    } else {
      result.append(bytes, encode_utf8(c, bytes));
    }
  }
  return result;
}

void expect_words(std::string_view text, WordRule rule) {
  Words words;
  words.split(text, rule);
  for (std::size_t i = 0; i < words.size(); ++i) {
    expect(is_utf8(words.padded(i)) && words.sequence(i, 1).size() + 2 == words.padded(i).size(), "not a word");
  }
}

TextParams text_params(FuzzReader& in) {
  const auto bits = in.take<std::uint8_t>();
  TextParams params = kPlainText;
  params.max_words = 1 + bits % 3;
  params.min_chars = bits & 4 ? 2 : 0;
  params.max_chars = bits & 4 ? 4 : 0;
  params.idf = (bits & 8) != 0;
  params.sublinear = (bits & 16) != 0;
  params.hash_bits = bits & 32 ? 4 : 0;
  params.max_features = bits & 64 && params.hash_bits == 0 ? 5 : 0;
  params.words = bits & 128 ? WordRule::kSymbols : WordRule::kLetters;
  return params;
}

}  // namespace

void fuzz_parsers(FuzzBytes bytes) {
  FuzzReader in(bytes);
  const LineLimits limits{.n_features = 1 + in.take<std::uint16_t>(), .n_labels = 1 + in.take<std::uint8_t>()};
  const std::string_view text = in.rest();
  if (!text.empty()) {
    compare_number(text);
  }
  const Parsed whole = parsed(text, kTextChunk);
  if (whole.rows) {
    expect_rows(*whole.rows);
  }
  expect_same(whole, parsed(text, 7));
  const ParsedLines lines = parse_lines(text, limits);
  const LabelledRows& rows = lines.rows;
  expect(rows.x_indptr.size() == rows.y_indptr.size(), "the numbers of rows of features and labels differ");
  expect(std::ranges::all_of(rows.features, [&](std::int32_t i) { return i >= 0 && i < limits.n_features; }) &&
             std::ranges::all_of(rows.labels, [&](std::int32_t i) { return i >= 0 && i < limits.n_labels; }),
         "an index is beyond the limits");
  expect(is_utf8(quoted(text)), "a message is not valid UTF-8");
}

void fuzz_text(FuzzBytes bytes) {
  FuzzReader in(bytes);
  TextFeatures features(text_params(in));
  const std::string_view text = in.rest();
  expect(recoded(text) == text, "decoding and encoding changes a character");
  for (const WordRule rule : {WordRule::kLetters, WordRule::kSymbols, WordRule::kBlanks, WordRule::kTokens}) {
    expect_words(text, rule);
  }
  TextRow row;
  for (std::size_t begin = 0; begin <= text.size();) {  // lines, so that terms come and go
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    features.learn(text.substr(begin, end - begin), row);
    begin = end + 1;
  }
  features.find(text, row);
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    expect(row.ids[i] < features.terms().size() && row.values[i] > 0, "a term does not exist");
  }
  const std::vector<std::byte> saved = saved_bytes(features);
  const TextFeatures again = TextFeatures::load(read_arrays(saved), "thing", features.params());
  again.check();
  expect(saved_bytes(again) == saved, "saving a loaded object gives different bytes");
}

}  // namespace oplt::test

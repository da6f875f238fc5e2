// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "io/text_format.hpp"
#include "io/text_line.hpp"

using namespace oplt;

namespace {

using Indices = std::vector<std::int32_t>;
using Pointers = std::vector<std::int64_t>;

LabelledRows parse(std::string_view text) { return parse_text(text, 1); }

bool same(const LabelledRows& a, const LabelledRows& b) {
  return a.x_indptr == b.x_indptr && a.features == b.features && a.values == b.values && a.y_indptr == b.y_indptr &&
         a.labels == b.labels && a.n_features == b.n_features && a.n_labels == b.n_labels;
}

/// Long enough for many chunks; some lines are empty, some lack labels or features.
std::string make_text(int n_rows) {
  std::string text = std::to_string(n_rows) + " 10000 20\n";
  for (int i = 0; i < n_rows; ++i) {
    text += i % 4 == 0 ? "" : std::to_string(i % 20) + "," + std::to_string(i % 7);
    for (int j = 0; j < i % 5; ++j) {
      text += " " + std::to_string((i * j) % 10000) + ":" + std::to_string(i) + ".25";
    }
    text += i % 3 == 0 ? "\r\n" : "\n";
  }
  return text;
}

}  // namespace

TEST("labels and features of each line") {
  const LabelledRows rows = parse("3 9 5\n4,1 8:0.5 2:1\n 3:2\n0:1\n");
  CHECK(rows.x_indptr == Pointers{0, 2, 3, 4});
  CHECK(rows.features == Indices{2, 8, 3, 0});
  CHECK(rows.values == std::vector<Real>{1, 0.5F, 2, 1});
  CHECK(rows.y_indptr == Pointers{0, 2, 2, 2});
  CHECK(rows.labels == Indices{1, 4});
  CHECK_EQ(rows.n_features, 9);
  CHECK_EQ(rows.n_labels, 5);
}

TEST("without a header, the largest index of any chunk counts") {
  const LabelledRows rows = parse_text("1 1:1\n7 5:1 9:1\n2 2147483647:1\n0 3:1", 1, 1);
  CHECK_EQ(rows.n_features, std::int64_t{1} << 31);
  CHECK_EQ(rows.n_labels, 8);
}

TEST("neither chunks nor threads change the result") {
  const std::string text = make_text(1000);
  const LabelledRows expected = parse(text);
  CHECK_EQ(expected.x_indptr.size(), 1001U);
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    for (const std::size_t chunk_bytes : {0U, 1U, 10U, 1000U, 1U << 30}) {
      CHECK(same(parse_text(text, threads, chunk_bytes), expected));
    }
  }
}

TEST("every prefix of a text is parsed or rejected, without reading beyond its end") {
  const std::string text = make_text(12);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::vector<char> exact(
        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));  // so that ASan detects reads beyond it
    try {
      parse_text({exact.data(), size}, 2, 5);
    } catch (const InvalidInput&) {
    }
  }
}

TEST("the first invalid line is reported, whichever thread finds one") {
  std::string text;
  for (int i = 1; i <= 500; ++i) {
    text += i % 100 == 0 ? "1 " + std::to_string(i) + ":\n" : "1 1:1\n";
  }
  for (const std::size_t threads : {1U, 2U, 8U}) {
    for (const std::size_t chunk_bytes : {1U, 64U, 1U << 20}) {
      CHECK_THROWS_WITH(InvalidInput, "line 100: feature '100:' has no value", parse_text(text, threads, chunk_bytes));
    }
  }
}

TEST("a header that does not match is rejected") {
  CHECK_THROWS_WITH(InvalidInput, "line 1: the header says 3 examples, but 1 follow", parse("3 2 2\n1 1:1\n"));
  CHECK_THROWS_WITH(InvalidInput, "line 2: feature '2:1': its index is too large", parse("1 2 2\n1 2:1\n"));
  CHECK_THROWS_WITH(InvalidInput, "line 2: label '2' is too large", parse("1 2 2\n2 1:1\n"));
  CHECK_THROWS_WITH(InvalidInput, "line 1: there is no example", parse(""));
}

TEST("labels as LIBSVM writes them, with a sign or a point") {
  const LabelledRows rows = parse("+1 1:1\n2.0,+3.,0.00 1:1\n");
  CHECK(rows.labels == Indices{1, 0, 2, 3});
  CHECK(rows.y_indptr == Pointers{0, 1, 4});
  for (const std::string label : {"-1", "1.5", "+", ".", "+-1", "1.0.0", "1e0", "++1", ".0", "+9999999999"}) {
    CHECK_THROWS_WITH(InvalidInput, "line 1: label '" + label + "' is ", parse(label + " 1:1\n"));
  }
  CHECK_THROWS_WITH(InvalidInput, "line 2: label '+2' is ", parse("1 2 2\n+2 1:1\n"));
}

TEST("lines of a stream: invalid ones are skipped and reported") {
  const ParsedLines parsed = parse_lines("4,1 8:0.5 2:1\nx 1:1\n\n0 3:1 5:\r\n1 7:2 # good\n9 9:9", {9, 5});
  CHECK(parsed.rows.x_indptr == Pointers{0, 2, 2, 3});
  CHECK(parsed.rows.features == Indices{2, 8, 7});
  CHECK(parsed.rows.values == std::vector<Real>{1, 0.5F, 2});
  CHECK(parsed.rows.y_indptr == Pointers{0, 2, 2, 3});
  CHECK(parsed.rows.labels == Indices{1, 4, 1});
  CHECK_EQ(parsed.bad.size(), 3U);
  CHECK_EQ(parsed.bad[0].line, 1U);
  CHECK_EQ(parsed.bad[1].what, "feature '5:' has no value");
  CHECK_EQ(parsed.bad[2].what, "label '9' is too large: the largest allowed is 4, as the header says");
}

TEST("valid lines give the same result as the whole text") {
  std::string text = make_text(500);
  const LabelledRows expected = parse(text);
  const ParsedLines parsed = parse_lines(std::string_view(text).substr(text.find('\n') + 1), {});
  CHECK(parsed.bad.empty());
  CHECK(parsed.rows.x_indptr == expected.x_indptr && parsed.rows.features == expected.features);
  CHECK(parsed.rows.values == expected.values && parsed.rows.labels == expected.labels);
}

TEST("quoted text is short and ASCII") {
  CHECK_EQ(quoted("a b"), "'a b'");
  CHECK_EQ(quoted("\xff\n"), "'\\xff\\x0a'");
  CHECK_EQ(quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

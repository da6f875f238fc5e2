// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include "check.hpp"
#include "encode/unicode.hpp"

using namespace oplt;

namespace {

std::vector<char32_t> decoded(std::string_view text) {
  std::vector<char32_t> chars;
  for (std::size_t i = 0; i < text.size();) {
    chars.push_back(decode_utf8(text, i));
  }
  return chars;
}

std::string encoded(char32_t c) {
  std::array<char, 4> bytes{};
  return {bytes.data(), encode_utf8(c, bytes.data())};
}

}  // namespace

TEST("decoding reverses encoding for every character") {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) {
      CHECK_EQ(decoded(encoded(c)), std::vector{c});
    }
  }
}

TEST("bytes that are not valid UTF-8 are skipped, and the characters after them are read") {
  using Chars = std::vector<char32_t>;
  CHECK_EQ(decoded("\x80z"), (Chars{kNoChar, U'z'}));                                     // nothing to continue
  CHECK_EQ(decoded("\xC3"), Chars{kNoChar});                                              // cut off
  CHECK_EQ(decoded("\xC3z"), (Chars{kNoChar, U'z'}));                                     // not continued
  CHECK_EQ(decoded("\xE2\x82z"), (Chars{kNoChar, kNoChar, U'z'}));                        // nor here
  CHECK_EQ(decoded("\xC0\x80"), (Chars{kNoChar, kNoChar}));                               // overlong
  CHECK_EQ(decoded("\xE0\x80\x80"), Chars(3, kNoChar));                                   // likewise
  CHECK_EQ(decoded("\xF0\x80\x80\x80"), Chars(4, kNoChar));                               // likewise
  CHECK_EQ(decoded("\xED\xA0\x80"), Chars(3, kNoChar));                                   // a surrogate
  CHECK_EQ(decoded("\xF4\x90\x80\x80"), Chars(4, kNoChar));                               // beyond the last character
  CHECK_EQ(decoded("\xFF\xFE"), (Chars{kNoChar, kNoChar}));                               // never occurs
  CHECK_EQ(decoded("\xF4\x8F\xBF\xBF\xC3\xA4"), (Chars{char32_t{0x10FFFF}, U'\u00E4'}));  // valid
}

TEST("case is folded to one character in all scripts that have it") {
  const std::vector<std::pair<char32_t, char32_t>> pairs{{U'A', U'a'},           {U'z', U'z'},
                                                         {U'7', U'7'},           {U'\u00C4', U'\u00E4'},
                                                         {U'\u03A3', U'\u03C3'}, {U'\u03C2', U'\u03C3'},
                                                         {U'\u0416', U'\u0436'}, {U'\u0531', U'\u0561'},
                                                         {U'\u1E9E', U'\u00DF'}, {U'\u00DF', U'\u00DF'},
                                                         {U'\u0130', U'\u0130'}, {U'\u212A', U'k'},
                                                         {U'\uFF21', U'\uFF41'}, {U'\U00010400', U'\U00010428'}};
  for (const auto& [c, folded] : pairs) {
    CHECK(fold_char(c).folded == folded);
    CHECK(fold_char(folded).folded == folded);
  }
}

TEST("characters have the kind that corresponds to their use in words") {
  const std::vector<std::pair<char32_t, CharKind>> kinds{
      {U'a', CharKind::kWord},           {U'_', CharKind::kWord},
      {U'5', CharKind::kWord},           {U'-', CharKind::kOther},
      {U' ', CharKind::kOther},          {0, CharKind::kOther},
      {U'\u00E9', CharKind::kWord},      {U'\u0416', CharKind::kWord},
      {U'\uAC00', CharKind::kWord},  // Hangul
      {U'\u30AB', CharKind::kWord},      {U'\u4E2D', CharKind::kAlone},
      {U'\u3042', CharKind::kAlone},                                    // Katakana, Han, Hiragana
      {U'\u0E01', CharKind::kAlone},     {U'\u0E51', CharKind::kWord},  // a letter and a digit of Thai
      {U'\u0301', CharKind::kMark},      {U'\u0E31', CharKind::kMark},  // an acute accent, a vowel sign
      {U'\u00AD', CharKind::kIgnored},   {U'\u200D', CharKind::kIgnored},
      {U'\uFEFF', CharKind::kIgnored},   {U'\u200B', CharKind::kOther},
      {U'\u2019', CharKind::kOther},  // a zero-width space, an apostrophe
      {U'\U0001F600', CharKind::kOther}, {U'\U00020000', CharKind::kAlone},
      {U'\U00010400', CharKind::kWord},  {0x10FFFF, CharKind::kOther},
      {kNoChar, CharKind::kOther}};
  for (const auto& [c, kind] : kinds) {
    CHECK(fold_char(c).kind == kind);
  }
}

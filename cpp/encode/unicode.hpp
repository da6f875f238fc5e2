// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The parts of Unicode that are needed to tokenize texts of any script and to fold case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace oplt {

/// The role of a character in words.
enum class CharKind : std::uint8_t {
  kOther,    // ends a word
  kWord,     // letters, numbers and '_': a run of them is a word
  kAlone,    // a letter of a script that puts no space between words (Han, Hiragana, Thai …): a word of its own
  kMark,     // an accent, a vowel sign: part of the word before it; ignored if there is none
  kIgnored,  // a soft hyphen, a joiner: ignored
};

struct KindRange {
  char32_t first;
  char32_t last;
  CharKind kind;
};

/// Characters first, first + step, …, last, whose lower-case forms are `distance` code points further on.
struct FoldRange {
  char32_t first;
  char32_t last;
  std::uint32_t step;
  std::int32_t distance;
};

struct FoldedChar {
  char32_t folded;  // the character after simple case folding, which maps one character to one
  CharKind kind;
};

FoldedChar fold_char(char32_t c);

/// Returned by decode_utf8() for a byte that does not begin a valid character.
inline constexpr char32_t kNoChar = 0xFFFFFFFF;

bool is_utf8(std::string_view text);

/// Decodes the character at text[i] and advances i past it. Bytes that are not valid UTF-8 are returned one by one, as
/// kNoChar.
char32_t decode_utf8(std::string_view text, std::size_t& i);

/// Writes a character, 1 to 4 bytes, and returns its end.
char* encode_utf8(char32_t c, char* out);

}  // namespace oplt

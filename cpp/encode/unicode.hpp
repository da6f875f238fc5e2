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
  kMark,     // an accent, a vowel sign: belongs to the word before it; to nothing if there is none
  kIgnored,  // a soft hyphen, a joiner: as if it were not there
};

struct KindRange {
  char32_t first;
  char32_t last;
  CharKind kind;
};

/// Characters first, first + step, …, last, whose lower-case forms are `distance` further on.
struct FoldRange {
  char32_t first;
  char32_t last;
  std::uint32_t step;
  std::int32_t distance;
};

struct FoldedChar {
  char32_t folded;  // upper and lower case are the same (simple case folding: one character stays one)
  CharKind kind;
};

FoldedChar fold_char(char32_t c);

/// What decode_utf8() returns for a byte that begins no character.
inline constexpr char32_t kNoChar = 0xFFFFFFFF;

bool is_utf8(std::string_view text);

/// Decodes the character at text[i] and advances i past it. Bytes that are not valid UTF-8 are returned one by one, as
/// kNoChar.
char32_t decode_utf8(std::string_view text, std::size_t& i);

/// Writes a character, 1 to 4 bytes, and returns where it ends.
char* encode_utf8(char32_t c, char* out);

}  // namespace oplt

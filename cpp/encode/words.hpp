// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oplt {

/// What a word is.
enum class WordRule : std::uint8_t {
  kLetters,  // letters, numbers and underscores; everything else lies between words. Of models of former versions
  kSymbols,  // also with "+", "++" or "#" at the end (C++, C#), and emoji
  kBlanks,   // whatever lies between two blanks
  kTokens,   // whatever lies between two kTokenEnd: somebody else has found the words
};

/// What lies between the words of a text whose words were found before.
inline constexpr char kTokenEnd = '\x1e';

/// The words of a text, whose case is folded. They stand in one buffer with a space around each, so that every sequence
/// of words, and every sequence of characters of a word, is a view of it.
class Words {
 public:
  /// Bytes that are not valid UTF-8 end a word, as a space does.
  void split(std::string_view text, WordRule rule);

  std::size_t size() const { return words_.size(); }

  /// Words i, i + 1, …, i + n - 1, a space between them.
  std::string_view sequence(std::size_t i, std::size_t n) const {
    return {buffer_.data() + words_[i].begin, words_[i + n - 1].end - words_[i].begin};
  }

  /// Word i with the spaces around it.
  std::string_view padded(std::size_t i) const {
    return {buffer_.data() + words_[i].begin - 1, words_[i].end - words_[i].begin + 2};
  }

 private:
  class Builder;
  void split_words(std::string_view text, Builder& builder, bool with_symbols);
  struct Bounds {
    std::size_t begin;
    std::size_t end;
  };

  std::string buffer_;  // only grows: what is behind the last word is left over from longer texts
  std::vector<Bounds> words_;
};

}  // namespace oplt

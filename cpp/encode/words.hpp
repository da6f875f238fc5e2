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
  kLetters,  // letters, numbers and underscores; everything else separates words. Used by models of earlier versions
  kSymbols,  // also with "+", "++" or "#" at the end (C++, C#), and emoji
  kBlanks,   // tokens separated by blanks
  kTokens,   // tokens separated by kTokenEnd, for texts that were tokenized elsewhere
};

/// The separator between the words of a text that was tokenized elsewhere.
inline constexpr char kTokenEnd = '\x1e';

/// The case-folded words of a text. They are stored in one buffer, separated by spaces, so that every word or character
/// n-gram is a view of it.
class Words {
 public:
  /// Bytes that are not valid UTF-8 end a word, as a space does.
  void split(std::string_view text, WordRule rule);

  std::size_t size() const { return words_.size(); }

  /// Everything from the first word to the last one. All views that sequence() and padded() return are part of it,
  /// except for a space before and after it.
  std::string_view all() const { return words_.empty() ? std::string_view() : sequence(0, words_.size()); }

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

  std::string buffer_;  // only grows: the content after the last word is left over from longer texts
  std::vector<Bounds> words_;
};

}  // namespace oplt

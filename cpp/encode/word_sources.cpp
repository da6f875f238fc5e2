// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/word_sources.hpp"

#include "encode/unicode.hpp"

namespace oplt {

/// The characters of the words occur in the text in the same order, and the characters between them, which end a word
/// or are ignored, never fold to the next character of a word. So each character of a word comes from the next
/// character of the text that folds to it.
WordSources::WordSources(std::string_view text, const Words& words) : words_(words.all()) {
  sources_.reserve(words_.size());
  std::size_t i = 0;
  while (sources_.size() < words_.size()) {
    if (words_[sources_.size()] == ' ') {  // between two words
      sources_.push_back({i, i});
      continue;
    }
    if (i == text.size()) {
      sources_.resize(words_.size(), {i, i});
      break;
    }
    const std::size_t begin = i;
    const char32_t c = decode_utf8(text, i);
    char folded[4];
    const char* const end = c == kNoChar ? folded : encode_utf8(fold_char(c).folded, folded);
    const std::string_view bytes(folded, static_cast<std::size_t>(end - folded));
    if (!bytes.empty() && words_.substr(sources_.size()).starts_with(bytes)) {
      sources_.insert(sources_.end(), bytes.size(), {begin, i});
    }
  }
}

WordSources::Span WordSources::of(std::string_view part) const {
  while (part.starts_with(' ')) {
    part.remove_prefix(1);
  }
  while (part.ends_with(' ')) {
    part.remove_suffix(1);
  }
  if (part.empty()) {
    return {0, 0};
  }
  const auto begin = static_cast<std::size_t>(part.data() - words_.data());
  return {sources_[begin].begin, sources_[begin + part.size() - 1].end};
}

}  // namespace oplt

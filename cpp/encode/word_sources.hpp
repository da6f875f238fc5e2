// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "encode/words.hpp"

namespace oplt {

/// Where the words of a text are in the text, whose characters were folded, and some of them ignored.
///
/// The positions are found afterwards, by comparing words and text, because recording them would slow down the
/// splitting of texts, and only explanations need them. A view of the words, which must not change.
class WordSources {
 public:
  /// Bytes [begin, end) of the text.
  struct Span {
    std::size_t begin;
    std::size_t end;
  };

  WordSources(std::string_view text, const Words& words);

  /// The part of the text from which a view of the words was made. Spaces around it are left out.
  Span of(std::string_view part) const;

 private:
  std::string_view words_;
  std::vector<Span> sources_;  // by byte of words_: the character that it comes from
};

}  // namespace oplt

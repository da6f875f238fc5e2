// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "encode/word_sources.hpp"

using namespace oplt;
using Strings = std::vector<std::string>;

namespace {

constexpr WordRule kRules[] = {WordRule::kLetters, WordRule::kSymbols, WordRule::kBlanks, WordRule::kTokens};

/// The parts of the text that its words come from.
Strings sources(std::string_view text, WordRule rule) {
  Words words;
  words.split(text, rule);
  const WordSources found(text, words);
  Strings result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [begin, end] = found.of(words.padded(i));
    CHECK(begin <= end && end <= text.size());
    result.emplace_back(text.substr(begin, end - begin));
  }
  return result;
}

Strings words_of(std::string_view text, WordRule rule) {
  Words words;
  words.split(text, rule);
  Strings result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    result.emplace_back(words.sequence(i, 1));
  }
  return result;
}

}  // namespace

TEST("words are found in the text that they come from") {
  CHECK_EQ(sources("Heap-Overflow in C++ & C#!", WordRule::kSymbols), (Strings{"Heap", "Overflow", "in", "C++", "C#"}));
  CHECK_EQ(sources("Heap-Overflow in C++", WordRule::kBlanks), (Strings{"Heap-Overflow", "in", "C++"}));
  CHECK_EQ(sources("\u00C4RGER \u2013 \u4E2D\u6587x", WordRule::kLetters),
           (Strings{"\u00C4RGER", "\u4E2D", "\u6587", "x"}));
  CHECK_EQ(sources("so\u00ADft\u0301", WordRule::kSymbols), Strings{"so\u00ADft\u0301"});
  CHECK_EQ(sources("", WordRule::kSymbols), Strings{});
  CHECK_EQ(sources("two words\x1ehere", WordRule::kTokens), (Strings{"two words", "here"}));
  CHECK_EQ(sources("\u2764\uFE0F\U0001F427 \U0001F1E9\U0001F1EA", WordRule::kSymbols),
           (Strings{"\u2764", "\U0001F427", "\U0001F1E9\U0001F1EA"}));
}

TEST("sequences and parts of words are found, too") {
  const std::string text = "  A  Heap, OVERFLOW";
  Words words;
  words.split(text, WordRule::kSymbols);
  const WordSources found(text, words);
  const auto source = [&](std::string_view part) {
    const auto [begin, end] = found.of(part);
    return text.substr(begin, end - begin);
  };
  CHECK_EQ(source(words.sequence(0, 3)), "A  Heap, OVERFLOW");
  CHECK_EQ(source(words.sequence(1, 2)), "Heap, OVERFLOW");
  CHECK_EQ(source(words.padded(1).substr(0, 3)), "He");
  CHECK_EQ(source(words.padded(1).substr(2, 4)), "eap");
  CHECK_EQ(source(words.padded(1).substr(0, 1)), "");
}

TEST("the source of a word has that word, whatever the text is") {
  const Strings pieces = {"a",          "B",      "\u00C4", "\u4E2D", "+",      "++",     "#",
                          " ",          "\u00AD", "\u0301", "\t",     "\uFE0F", "\u2764", "\U0001F1E9",
                          "\U0001F427", "\xFF",   "\xC3",   "\x1e",   "-",      "\u212A"};
  Random random(5);
  for (int n = 0; n < 20'000; ++n) {
    std::string text;
    for (std::uint32_t i = random.below(8); i > 0; --i) {
      text += pieces[random.below(static_cast<std::uint32_t>(pieces.size()))];
    }
    for (const WordRule rule : kRules) {
      const Strings found = sources(text, rule);
      const Strings words = words_of(text, rule);
      CHECK_EQ(found.size(), words.size());
      for (std::size_t i = 0; i < words.size(); ++i) {
        const Strings again = words_of(found[i], rule);
        // Tokens may have spaces around them, which a source does not have.
        CHECK((again.size() == 1 && again[0] == words[i]) || rule == WordRule::kTokens || rule == WordRule::kSymbols);
        CHECK(!found[i].empty() || words[i].find_first_not_of(' ') == std::string::npos);
      }
    }
  }
}

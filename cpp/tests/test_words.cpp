// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "check.hpp"
#include "encode/words.hpp"

using oplt::WordRule;
using oplt::Words;
using Strings = std::vector<std::string>;

namespace {

Strings words_of(std::string_view text, WordRule rule = WordRule::kSymbols) {
  Words words;
  words.split(text, rule);
  Strings result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    result.emplace_back(words.sequence(i, 1));
  }
  return result;
}

}  // namespace

TEST("words are runs of letters, numbers and underscores, in lower case") {
  CHECK_EQ(words_of("Heap-Overflow in JRE 1.4.2_40!"), (Strings{"heap", "overflow", "in", "jre", "1", "4", "2_40"}));
  CHECK_EQ(words_of(""), Strings{});
  CHECK_EQ(words_of(" \t.,"), Strings{});
  CHECK_EQ(words_of("x"), Strings{"x"});
  CHECK_EQ(words_of(std::string_view("a\0b", 3)), (Strings{"a", "b"}));
}

TEST("words of any script are found") {
  CHECK_EQ(words_of("\u00C4RGER \u2013 \u0396\u03A9\u0397\u03A3"), (Strings{"\u00E4rger", "\u03B6\u03C9\u03B7\u03C3"}));
  CHECK_EQ(words_of("\u4E2D\u6587abc\u3042"), (Strings{"\u4E2D", "\u6587", "abc", "\u3042"}));
  CHECK_EQ(words_of("\U00010400\U00010401 x"), (Strings{"\U00010428\U00010429", "x"}));
}

TEST("marks belong to the word before them, and are ignored without one") {
  CHECK_EQ(words_of("Cafe\u0301s"), Strings{"cafe\u0301s"});
  CHECK_EQ(words_of("\u0E01\u0E31\u0E19"), (Strings{"\u0E01\u0E31", "\u0E19"}));  // each letter with its vowel sign
  CHECK_EQ(words_of(". \u0301b"), Strings{"b"});
}

TEST("plus signs and hashes at the end of a word belong to it") {
  CHECK_EQ(words_of("C++, C# and C."), (Strings{"c++", "c#", "and", "c"}));
  CHECK_EQ(words_of("C++11 g++-12 Disney+"), (Strings{"c++", "11", "g++", "12", "disney+"}));
  CHECK_EQ(words_of("a+b issue#12 x+\u00E9 #tag 2 + 2 + c+++ d## e"),
           (Strings{"a", "b", "issue", "12", "x", "\u00E9", "tag", "2", "2", "c", "d", "e"}));
  CHECK_EQ(words_of("\u4E2D+"), Strings{"\u4E2D"});
  CHECK_EQ(words_of("C++ C#", WordRule::kLetters), (Strings{"c", "c"}));
}

TEST("emoji are words") {
  CHECK_EQ(words_of("ok\U0001F600\U0001F600 \u2764\uFE0F \u2764"),
           (Strings{"ok", "\U0001F600", "\U0001F600", "\u2764", "\u2764"}));
  CHECK_EQ(words_of("\U0001F44D\U0001F3FD!"), Strings{"\U0001F44D\U0001F3FD"});  // a skin tone
  CHECK_EQ(words_of("\U0001F1EB\U0001F1F7\U0001F1E9\U0001F1EA"),                 // two flags
           (Strings{"\U0001F1EB\U0001F1F7", "\U0001F1E9\U0001F1EA"}));
  CHECK_EQ(words_of("a \U0001F600", WordRule::kLetters), Strings{"a"});
}

TEST("tokens, and text between blanks, are taken unchanged") {
  CHECK_EQ(words_of("New York\x1E.NET\x1E\x1E\u00C4+", WordRule::kTokens), (Strings{"new york", ".net", "\u00E4+"}));
  CHECK_EQ(words_of(" $100\t(NO)!\u00A0x\u3000y\n", WordRule::kBlanks), (Strings{"$100", "(no)!", "x", "y"}));
}

TEST("ignored characters do not split words") {
  CHECK_EQ(words_of("co\u00ADop \u200D\uFEFFx"), (Strings{"coop", "x"}));
  CHECK_EQ(words_of("a\u200Bb"), (Strings{"a", "b"}));  // a zero-width space does
}

TEST("invalid bytes end a word") {
  CHECK_EQ(words_of("ab\xFF"
                    "cd\xC3"),
           (Strings{"ab", "cd"}));
  CHECK_EQ(words_of("\xED\xA0\x80"
                    "z"),
           Strings{"z"});
}

TEST("sequences and padded words are views of the buffer") {
  Words words;
  words.split("One, TWO; three", WordRule::kSymbols);
  CHECK_EQ(words.size(), 3U);
  CHECK_EQ(words.sequence(0, 3), "one two three");
  CHECK_EQ(words.sequence(1, 2), "two three");
  CHECK_EQ(words.padded(0), " one ");
  CHECK_EQ(words.padded(2), " three ");
}

TEST("where words are in a text does not matter") {
  const Strings expected{"abc", "\u00E4b", "c++", "x+", "_1"};
  std::string long_word;
  for (std::size_t n = 0; n < 200; ++n) {  // texts are read in blocks of 64 bytes
    CHECK_EQ(words_of(std::string(n, ' ') + "ABC \u00C4b:C++ x+- _1"), expected);
    Strings after_word = expected;
    after_word.insert(after_word.begin(), long_word + "\u00E9");
    CHECK_EQ(words_of(long_word + "\u00C9 ABC \u00C4b:C++ x+- _1"), after_word);
    CHECK_EQ(words_of(long_word + " ").size(), n > 0 ? 1U : 0U);
    long_word += static_cast<char>('a' + n % 26);
  }
}

TEST("all ASCII characters are folded or separate words") {
  for (int c = 0; c < 0x80; ++c) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    const std::string text{'a', static_cast<char>(c), 'b'};
    const std::string folded{'a', static_cast<char>(is_upper ? c - 'A' + 'a' : c), 'b'};
    CHECK_EQ(words_of(text), is_word ? Strings{folded} : (Strings{"a", "b"}));
  }
}

TEST("a short text after a long one has only its own words") {
  Words words;
  words.split("some rather long text", WordRule::kSymbols);
  words.split("short", WordRule::kSymbols);
  CHECK_EQ(words.size(), 1U);
  CHECK_EQ(words.padded(0), " short ");
}

TEST("there is space for characters that grow when folded, and for words of one character") {
  std::string text;
  std::string folded;
  for (int i = 0; i < 1000; ++i) {
    text += "\u023A";  // 2 bytes; 3 in lower case
    folded += "\u2C65";
  }
  CHECK_EQ(words_of(text), Strings{folded});
  CHECK_EQ(words_of(text + " a b c d"), (Strings{folded, "a", "b", "c", "d"}));
  std::string alone;
  for (int i = 0; i < 1000; ++i) {
    alone += "\u4E2D";
  }
  CHECK_EQ(words_of(alone), Strings(1000, "\u4E2D"));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "encode/ascii_block.hpp"
#include "encode/unicode.hpp"

namespace oplt {

namespace {

bool is_ascii_word(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

struct CharRange {
  char32_t first;
  char32_t last;
};

/// Emoji that are used like words. Does not include all Unicode symbols, most of which are decoration.
constexpr CharRange kEmoji[] = {
    {0x231A, 0x231B}, {0x23E9, 0x23FA}, {0x2600, 0x27BF},   {0x2B05, 0x2B07},
    {0x2B1B, 0x2B1C}, {0x2B50, 0x2B55}, {0x1F000, 0x1FAFF},
};
constexpr CharRange kFlagLetters{0x1F1E6, 0x1F1FF};  // two of them form a flag
constexpr CharRange kSkinTones{0x1F3FB, 0x1F3FF};    // modify the emoji before them
constexpr char32_t kAsPicture = 0xFE0F;              // emoji variation selector: ignored

constexpr bool is_in(const CharRange& range, char32_t c) { return c >= range.first && c <= range.last; }

bool is_emoji(char32_t c) {
  for (const CharRange& range : kEmoji) {
    if (is_in(range, c)) {
      return true;
    }
  }
  return false;
}

bool is_blank(char32_t c) {
  constexpr CharRange kBlanks[] = {{0, 0x20}, {0x7F, 0xA0}, {0x2000, 0x200B}, {0x2028, 0x2029}};
  for (const CharRange& range : kBlanks) {
    if (is_in(range, c)) {
      return true;
    }
  }
  return c == 0x1680 || c == 0x202F || c == 0x205F || c == 0x3000 || c == kNoChar;
}

bool continues_word(std::string_view text, std::size_t i) {
  return i < text.size() && (is_ascii_word(text[i]) || (static_cast<unsigned char>(text[i]) >= 0x80 &&
                                                        fold_char(decode_utf8(text, i)).kind == CharKind::kWord));
}

/// Number of bytes at i, after the letters of a word, that belong to the word: "++" always, "+" and "#" only if no
/// letter follows. So `C++11` contains the word `c++`, but `a+b` does not contain `a+`.
std::size_t n_symbols_of_word(std::string_view text, std::size_t i) {
  const std::size_t end = text.find_first_not_of("+#", i);
  const std::string_view run = text.substr(i, (end == std::string_view::npos ? text.size() : end) - i);
  if (run == "++" || ((run == "+" || run == "#") && !continues_word(text, i + 1))) {
    return run.size();
  }
  return 0;
}

}  // namespace

/// Builds words character by character.
class Words::Builder {
 public:
  explicit Builder(Words& words) : words_(words), out_(words.buffer_.data()) { *out_++ = ' '; }

  void take(FoldedChar next) {
    const bool begins = next.kind == CharKind::kAlone || (next.kind == CharKind::kWord && open_ != CharKind::kWord);
    if (begins || next.kind == CharKind::kOther) {
      end_word();
    }
    if (begins) {
      begin_word(next.kind);
    }
    if (open_ != CharKind::kOther && next.kind != CharKind::kIgnored) {
      put(next.folded);
    }
  }

  /// An emoji is a word by itself; so are the two letters of a flag together.
  void take_emoji(char32_t c) {
    const bool ends_flag = flag_is_open_ && is_in(kFlagLetters, c);
    const bool belongs = open_ != CharKind::kOther && is_in(kSkinTones, c);
    if (!ends_flag && !belongs) {
      end_word();
      begin_word(CharKind::kAlone);
    }
    put(c);
    flag_is_open_ = !ends_flag && is_in(kFlagLetters, c);
  }

  /// Takes any character as part of a word.
  void take_any(char32_t c) {
    if (open_ == CharKind::kOther) {
      begin_word(CharKind::kWord);
    }
    put(fold_char(c).folded);
  }

  /// Takes the character at i, which is not ASCII, or '+' or '#' and any more of them. Returns the end.
  std::size_t take_special(std::string_view text, std::size_t i, bool with_symbols) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      const std::size_t n_symbols = with_symbols && open_ == CharKind::kWord ? n_symbols_of_word(text, i) : 0;
      for (const char symbol : text.substr(i, n_symbols)) {
        *out_++ = symbol;
      }
      end_word();
      return i + (n_symbols > 0 ? n_symbols : 1);
    }
    const char32_t c = decode_utf8(text, i);
    if (with_symbols && is_emoji(c)) {
      take_emoji(c);
    } else if (!with_symbols || c != kAsPicture) {
      take(fold_char(c));  // kNoChar has kind kOther, which ends a word
    }
    return i;
  }

  /// The fast path for most texts: takes bytes [first, last) of a block, none of which is special.
  void take_ascii(const AsciiBlock& block, std::size_t first, std::size_t last) {
    if (first == last) {
      return;
    }
    std::uint64_t rest = block.in_word << (AsciiBlock::kSize - last) >> (AsciiBlock::kSize - last) >> first << first;
    std::size_t end = first;  // of the last run of letters
    while (rest != 0) {
      const auto begin = static_cast<std::size_t>(std::countr_zero(rest));
      if (begin > first || open_ != CharKind::kWord) {
        end_word();
        begin_word(CharKind::kWord);
      }
      end = begin + static_cast<std::size_t>(std::countr_one(rest >> begin));
      put(block.folded.data() + begin, end - begin);
      rest = end == AsciiBlock::kSize ? 0 : rest >> end << end;
    }
    if (end < last) {
      end_word();
    }
  }

  void end_word() {
    if (open_ != CharKind::kOther) {
      words_.words_.push_back({begin_, position()});
      *out_++ = ' ';
      open_ = CharKind::kOther;
    }
    flag_is_open_ = false;
  }

 private:
  void put(char32_t c) { out_ = encode_utf8(c, out_); }

  /// A few bytes of constant number are copied faster than the exact number; the buffer has room for them.
  void put(const char* bytes, std::size_t n) {
    for (std::size_t i = 0; i < n; i += AsciiBlock::kSlack) {
      std::memcpy(out_ + i, bytes + i, AsciiBlock::kSlack);
    }
    out_ += n;
  }

  void begin_word(CharKind kind) {
    begin_ = position();
    open_ = kind;
  }

  std::size_t position() const { return static_cast<std::size_t>(out_ - words_.buffer_.data()); }

  Words& words_;
  char* out_;
  std::size_t begin_ = 0;
  CharKind open_ = CharKind::kOther;  // kind of the first character of the current word; kOther: between words
  bool flag_is_open_ = false;
};

void Words::split(std::string_view text, WordRule rule) {
  words_.clear();
  // Upper bound: folding adds at most one byte, only to characters of two bytes, and each may be followed by a space.
  const std::size_t most = 2 * text.size() + 2 + AsciiBlock::kSlack;
  if (buffer_.size() < most) {
    buffer_.resize(most);
  }
  Builder builder(*this);
  if (rule == WordRule::kLetters || rule == WordRule::kSymbols) {
    split_words(text, builder, rule == WordRule::kSymbols);
  } else {
    for (std::size_t i = 0; i < text.size();) {
      const char32_t c = decode_utf8(text, i);
      const bool ends = rule == WordRule::kTokens ? c == kTokenEnd || c == kNoChar : is_blank(c);
      if (ends) {
        builder.end_word();
      } else {
        builder.take_any(c);
      }
    }
  }
  builder.end_word();
}

void Words::split_words(std::string_view text, Builder& builder, bool with_symbols) {
  AsciiBlock block;
  for (std::size_t i = 0; i < text.size();) {
    block.read(text, i);
    const std::size_t n = std::min(AsciiBlock::kSize, text.size() - i);
    std::size_t k = 0;
    while (k < n) {
      const std::size_t plain_end = std::min(n, k + static_cast<std::size_t>(std::countr_zero(block.special >> k)));
      builder.take_ascii(block, k, plain_end);
      k = plain_end == n ? n : builder.take_special(text, i + plain_end, with_symbols) - i;
    }
    i += k;  // a special character may end after the block
  }
}

}  // namespace oplt

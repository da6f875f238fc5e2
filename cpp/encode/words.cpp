// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/words.hpp"

#include <array>

#include "encode/unicode.hpp"

namespace oplt {

namespace {

/// Lower-case forms of the ASCII characters that words are made of, 0 for all other bytes.
constexpr std::array<char, 256> kAscii = [] {
  std::array<char, 256> table{};
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<std::size_t>(c)] = c;
    table[static_cast<std::size_t>(c - 'a' + 'A')] = c;
  }
  for (char c = '0'; c <= '9'; ++c) {
    table[static_cast<std::size_t>(c)] = c;
  }
  table['_'] = '_';
  return table;
}();

char ascii(char byte) { return kAscii[static_cast<unsigned char>(byte)]; }

}  // namespace

/// Begins, goes on with and ends words, one character after the other.
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
      out_ = encode_utf8(next.folded, out_);
    }
  }

  /// The quick way for most texts: reads from ASCII characters that words are made of to their end, and returns that.
  std::size_t take_ascii(std::string_view text, std::size_t i) {
    if (open_ != CharKind::kWord) {
      end_word();
      begin_word(CharKind::kWord);
    }
    char* out = out_;  // a local one stays in a register
    for (char c = 0; i < text.size() && (c = ascii(text[i])) != 0; ++i) {
      *out++ = c;
    }
    out_ = out;
    return i;
  }

  void end_word() {
    if (open_ != CharKind::kOther) {
      words_.words_.push_back({begin_, position()});
      *out_++ = ' ';
      open_ = CharKind::kOther;
    }
  }

 private:
  void begin_word(CharKind kind) {
    begin_ = position();
    open_ = kind;
  }

  std::size_t position() const { return static_cast<std::size_t>(out_ - words_.buffer_.data()); }

  Words& words_;
  char* out_;
  std::size_t begin_ = 0;
  CharKind open_ = CharKind::kOther;  // what the word that is being read began with; kOther: none is
};

void Words::split(std::string_view text) {
  words_.clear();
  // A folded character is longer by a byte at most, and only one of two bytes is; each may end with a space.
  const std::size_t most = 2 * text.size() + 2;
  if (buffer_.size() < most) {
    buffer_.resize(most);
  }
  Builder builder(*this);
  for (std::size_t i = 0; i < text.size();) {
    if (ascii(text[i]) != 0) {
      i = builder.take_ascii(text, i);
    } else if (static_cast<unsigned char>(text[i]) < 0x80) {
      builder.end_word();
      ++i;
    } else {
      builder.take(fold_char(decode_utf8(text, i)));  // kNoChar is of no kind: it ends a word
    }
  }
  builder.end_word();
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/unicode.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "encode/unicode_tables.hpp"

namespace oplt {

namespace {

FoldedChar searched(char32_t c) {
  const auto ends_before = [](const auto& range, char32_t code) { return range.last < code; };
  const auto* kind = std::lower_bound(std::begin(kKindRanges), std::end(kKindRanges), c, ends_before);
  const auto* fold = std::lower_bound(std::begin(kFoldRanges), std::end(kFoldRanges), c, ends_before);
  FoldedChar result{.folded = c, .kind = CharKind::kOther};
  if (kind != std::end(kKindRanges) && c >= kind->first) {
    result.kind = kind->kind;
  }
  if (fold != std::end(kFoldRanges) && c >= fold->first && (c - fold->first) % fold->step == 0) {
    result.folded = static_cast<char32_t>(static_cast<std::int64_t>(c) + fold->distance);
  }
  return result;
}

constexpr char32_t kCommon = 0x10000;  // nearly all characters of texts are below this: they have a plain table

std::vector<FoldedChar> common_chars() {
  std::vector<FoldedChar> table;
  table.reserve(kCommon);
  for (char32_t c = 0; c < kCommon; ++c) {
    table.push_back(searched(c));
  }
  return table;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

FoldedChar fold_char(char32_t c) {
  static const std::vector<FoldedChar> common = common_chars();
  return c < kCommon ? common[c] : searched(c);
}

char32_t decode_utf8(std::string_view text, std::size_t& i) {
  const auto lead = static_cast<unsigned char>(text[i++]);
  if (lead < 0x80) {
    return lead;
  }
  const std::size_t n_more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - i < n_more) {
    return kNoChar;
  }
  char32_t c = lead & (0x3FU >> n_more);
  for (std::size_t k = 0; k < n_more; ++k) {
    if (!continues(text[i + k])) {
      return kNoChar;
    }
    c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // rejects overlong encodings
  if (c < kSmallest[n_more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
    return kNoChar;
  }
  i += n_more;
  return c;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (decode_utf8(text, i) == kNoChar) {
      return false;
    }
  }
  return true;
}

char* encode_utf8(char32_t c, char* out) {
  const auto put = [&](char32_t byte) { *out++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
    return out;
  }
  if (c < 0x800) {
    put(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
  }
  put(0x80 | (c & 0x3F));
  return out;
}

}  // namespace oplt

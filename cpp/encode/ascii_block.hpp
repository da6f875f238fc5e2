// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Most texts are mostly ASCII. 64 bytes at a time are case folded and classified here, in loops that compilers turn
// into vector instructions, so that a word costs a few instructions instead of a few per byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace oplt {

/// Up to 64 bytes of a text. Bit k of a mask is about byte k.
struct AsciiBlock {
  static constexpr std::size_t kSize = 64;
  static constexpr std::size_t kSlack = 16;  // bytes that may be read beyond the last one

  std::array<char, kSize + kSlack> folded{};  // case folded if ASCII
  std::uint64_t in_word = 0;                  // ASCII letters, digits and '_'
  std::uint64_t special = 0;                  // not ASCII, or '+' or '#', which may be part of a word

  /// Reads text[i] and the bytes after it; those beyond the end of the text count as separators.
  void read(std::string_view text, std::size_t i) {
    std::array<unsigned char, kSize> bytes;
    if (text.size() - i >= kSize) {
      std::memcpy(bytes.data(), text.data() + i, kSize);
    } else {
      bytes.fill(0);
      std::memcpy(bytes.data(), text.data() + i, text.size() - i);
    }
    std::array<unsigned char, kSize> words;
    std::array<unsigned char, kSize> specials;
    for (std::size_t k = 0; k < kSize; ++k) {
      const unsigned char c = bytes[k];
      const auto lower = static_cast<unsigned char>(c | 0x20U);
      const bool is_letter = static_cast<unsigned char>(lower - 'a') < 26;
      const bool is_word = is_letter | (static_cast<unsigned char>(c - '0') < 10) | (c == '_');
      folded[k] = static_cast<char>(is_letter ? lower : c);
      words[k] = is_word ? 0xFF : 0;
      specials[k] = (c >= 0x80) | (c == '+') | (c == '#') ? 0xFF : 0;
    }
    in_word = mask_of(words);
    special = mask_of(specials);
  }

 private:
  /// One bit for each byte, which must be 0 or 0xFF.
  static std::uint64_t mask_of(const std::array<unsigned char, kSize>& bytes) {
    std::uint64_t mask = 0;
    for (std::size_t k = 0; k < kSize / 8; ++k) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes.data() + 8 * k, 8);
      // Keeps bit j of byte j, and adds the bytes up in the highest one.
      mask |= ((eight & 0x8040201008040201ULL) * 0x0101010101010101ULL >> 56) << (8 * k);
    }
    return mask;
  }
};

}  // namespace oplt

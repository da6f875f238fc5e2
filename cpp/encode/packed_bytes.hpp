// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Numbers and texts as bytes, as compact as their values allow and independent of the machine's byte order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"

namespace oplt {

using Bytes = std::vector<std::uint8_t>;

/// In groups of 7 bits.
inline void put_number(Bytes& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) {
    bytes.push_back(static_cast<std::uint8_t>(number | 0x80));
  }
  bytes.push_back(static_cast<std::uint8_t>(number));
}

/// The lowest n bytes.
inline void put_bytes(Bytes& bytes, std::uint32_t number, int n) {
  for (int i = 0; i < n; ++i, number >>= 8) {
    bytes.push_back(static_cast<std::uint8_t>(number));
  }
}

inline void put_real(Bytes& bytes, Real value) { put_bytes(bytes, std::bit_cast<std::uint32_t>(value), 4); }

inline void put_text(Bytes& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes.insert(bytes.end(), text.begin(), text.end());
}

/// Reads what was put, in the same order. Throws FormatError, with the given message, if that is impossible.
class ByteReader {
 public:
  ByteReader(std::span<const std::uint8_t> bytes, std::size_t offset, const char* damage)
      : bytes_(bytes), offset_(offset), damage_(damage) {}

  std::uint8_t byte() {
    expect(offset_ < bytes_.size());
    return bytes_[offset_++];
  }

  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      number |= (next & 0x7f) << shift;
      if (next < 0x80) {
        return number;
      }
    }
    throw FormatError(damage_);
  }

  std::uint32_t bytes(int n) {
    std::uint32_t number = 0;
    for (int i = 0; i < n; ++i) {
      number |= std::uint32_t{byte()} << (8 * i);
    }
    return number;
  }

  Real real() { return std::bit_cast<Real>(bytes(4)); }

  std::string_view text() {
    const std::size_t n = expect_items(number());
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + offset_, n);
    offset_ += n;
    return text;
  }

  /// An id that is stored as the difference from the one before it.
  std::uint32_t id(std::uint64_t before, std::uint64_t difference) const {
    expect(difference <= kNone && before + difference < kNone);
    return static_cast<std::uint32_t>(before + difference);
  }

  /// The number of items that follow, each of which takes at least a byte.
  std::size_t expect_items(std::uint64_t n) const {
    expect(n <= bytes_.size() - offset_);
    return n;
  }

  void expect(bool holds) const { expect_format(holds, damage_); }

  std::size_t offset() const { return offset_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_;
  const char* damage_;
};

}  // namespace oplt

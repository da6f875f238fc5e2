// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// SipHash (Aumasson, Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012): without the key, nobody can choose
// inputs whose hashes collide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace oplt {

struct HashKey {
  std::uint64_t low;
  std::uint64_t high;

  /// A new random key. It must not be saved to a file.
  static HashKey draw() {
    std::random_device device;
    const auto next = [&] { return std::uint64_t{device()} << 32 | device(); };
    const std::uint64_t first = next();
    return {first, next()};
  }
};

/// SipHash-1-3 by default, as in the hash tables of Python and Rust.
template <int kRounds = 1, int kLastRounds = 3>
std::uint64_t keyed_hash(const HashKey& key, std::string_view bytes) {
  std::uint64_t a = key.low ^ 0x736F6D6570736575;
  std::uint64_t b = key.high ^ 0x646F72616E646F6D;
  std::uint64_t c = key.low ^ 0x6C7967656E657261;
  std::uint64_t d = key.high ^ 0x7465646279746573;
  const auto mix = [&](int n_rounds) {
    for (; n_rounds > 0; --n_rounds) {
      a += b;
      c += d;
      b = std::rotl(b, 13) ^ a;
      d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32) + d;
      c += b;
      d = std::rotl(d, 21) ^ a;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };
  const auto take = [&](std::uint64_t word) {
    d ^= word;
    mix(kRounds);
    a ^= word;
  };
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    take(word);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    last |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  take(last);
  c ^= 0xFF;
  mix(kLastRounds);
  return a ^ b ^ c ^ d;
}

inline std::uint64_t keyed_hash(const HashKey& key, std::uint64_t number) {
  char bytes[8];
  std::memcpy(bytes, &number, 8);
  return keyed_hash(key, std::string_view(bytes, 8));
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Our own generator, because the distributions of the standard library differ between implementations.
#pragma once

#include <cstdint>

namespace oplt {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Its whole state is one number, saved with the model.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}

  std::uint64_t state() const { return state_; }

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, n), n > 0: draws again while the draw falls into the incomplete last interval.
  std::uint32_t below(std::uint32_t n) {
    const std::uint64_t incomplete = (0 - static_cast<std::uint64_t>(n)) % n;  // 2^64 mod n
    std::uint64_t draw = next();
    while (draw < incomplete) {
      draw = next();
    }
    return static_cast<std::uint32_t>(draw % n);
  }

 private:
  std::uint64_t state_;
};

}  // namespace oplt

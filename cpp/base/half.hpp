// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/types.hpp"

namespace oplt {

/// A number in half precision (IEEE binary16), for storage only: a sign, 5 bits of exponent, 10 of fraction.
struct Half {
  std::uint16_t bits;
};

inline constexpr std::uint16_t kHalfExponent = 0x7C00;  // all ones only in infinities and NaN

/// Exact. No intermediate float is subnormal, because processors can be set to flush those to 0.
inline Real to_real(Half half) {
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  // Sign, exponent and fraction, moved to their positions in a float.
  const auto moved = static_cast<std::uint32_t>(static_cast<std::int16_t>(half.bits)) << 13 & 0x8FFFE000;
  if (((half.bits + 0x400U) & 0x7800U) == 0) [[unlikely]] {  // the exponent is all zeros or all ones
    if ((half.bits & kHalfExponent) == kHalfExponent) {      // an infinity or NaN
      return std::bit_cast<Real>(moved + 2 * kRebias);
    }
    constexpr Real kUnit = 0x1p-24F;  // 0 or subnormal: a multiple of this
    const Real magnitude = static_cast<Real>(half.bits & 0x3FF) * kUnit;
    return (half.bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<Real>(moved + kRebias);
}
inline Real to_real(Real number) { return number; }

/// Rounds to nearest, ties to even. Numbers beyond the largest finite half, infinities included, become that half.
inline Half to_half(Real number) {
  constexpr std::uint32_t kLargest = 0x477FE000;      // 65504
  constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kInfinity = 0x7F800000;
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = kHalfExponent | 0x200U;  // NaN
  } else if (magnitude < kLeastNormal) {
    // Halves are multiples of 2^-24 here, and so are floats from 1/2 to 1: the addition rounds.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<Real>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    const std::uint32_t exact = std::min(magnitude, kLargest) - ((127U - 15U) << 23);
    half = (exact + 0xFFF + ((exact >> 13) & 1)) >> 13;
  }
  return {static_cast<std::uint16_t>(bits >> 31 << 15 | half)};
}

}  // namespace oplt

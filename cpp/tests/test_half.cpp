// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/half.hpp"
#include "check.hpp"

using namespace oplt;

namespace {

constexpr std::uint16_t kLargest = 0x7BFF;
constexpr std::uint32_t kSign = 0x8000;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

Half half_of(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }

/// The value by definition; not for NaN.
Real defined(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<Real>(bits & 1023);
  const Real magnitude = exponent == 31  ? kInfinity
                         : exponent == 0 ? std::ldexp(fraction, -24)
                                         : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST("every half is converted to its exact value") {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Real number = to_real(half_of(bits));
    if ((bits & ~kSign) > kHalfExponent) {
      CHECK(std::isnan(number));
      CHECK(std::isnan(to_real(to_half(number))));
    } else {
      CHECK_EQ(std::bit_cast<std::uint32_t>(number), std::bit_cast<std::uint32_t>(defined(bits)));
      const bool finite = (bits & kHalfExponent) != kHalfExponent;
      CHECK_EQ(std::isfinite(number), finite);
      CHECK_EQ(to_half(number).bits, finite ? bits : (bits & kSign) | kLargest);
    }
  }
}

TEST("a number between two halves is rounded to the nearer one, ties to even") {
  for (std::uint32_t lower = 0; lower < kLargest; ++lower) {
    const std::uint32_t upper = lower + 1;
    const Real middle = (to_real(half_of(lower)) + to_real(half_of(upper))) / 2;  // exact
    for (const std::uint32_t sign : {0U, kSign}) {
      const auto rounded = [&](Real magnitude) {
        return static_cast<std::uint32_t>(to_half(sign == 0 ? magnitude : -magnitude).bits);
      };
      CHECK_EQ(rounded(middle), sign | (lower % 2 == 0 ? lower : upper));
      CHECK_EQ(rounded(std::nextafter(middle, Real{0})), sign | lower);
      CHECK_EQ(rounded(std::nextafter(middle, kInfinity)), sign | upper);
    }
  }
}

TEST("numbers beyond the largest half become the largest, and tiny ones become zero") {
  for (const Real number : {65504.0F, 65505.0F, 65519.99F, 65520.0F, 65536.0F, 1e30F, kInfinity}) {
    CHECK_EQ(to_half(number).bits, kLargest);
    CHECK_EQ(to_half(-number).bits, kSign | kLargest);
  }
  const Real least = std::ldexp(1.0F, -24);
  for (const Real number : {least / 2, 1e-10F, std::numeric_limits<Real>::denorm_min(), 0.0F}) {
    CHECK_EQ(to_half(number).bits, 0U);
    CHECK_EQ(to_half(-number).bits, kSign);
  }
  CHECK_EQ(to_half(std::nextafter(least / 2, 1.0F)).bits, 1U);
}

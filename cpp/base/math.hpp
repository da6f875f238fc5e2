// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// exp, sigmoid and log, built only from IEEE additions, multiplications and divisions. Those of the standard library
// differ in the last bit between platforms, which is enough to grow a different tree. Compile with -ffp-contract=off.
#pragma once

#include <bit>
#include <cstdint>

#include "base/types.hpp"

namespace oplt {

/// e^x within 2 ulp for |x| <= 87; x is clamped to that range. Branch-free, so loops over it vectorise.
inline Real exp_real(Real x) {
  constexpr Real kLimit = 87.0F;
  x = x < -kLimit ? -kLimit : x;
  x = x > kLimit ? kLimit : x;
  // x = n ln2 + r with |r| <= ln2/2. Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
  constexpr Real kLog2E = 1.44269504F;
  constexpr Real kRound = 12582912.0F;
  const Real n = (x * kLog2E + kRound) - kRound;
  constexpr Real kLn2High = 0.693359375F;  // few bits: n * kLn2High is exact
  constexpr Real kLn2Low = -2.12194440e-4F;
  const Real r = (x - n * kLn2High) - n * kLn2Low;
  // Minimax polynomial for e^r (Cephes, Moshier 1989).
  Real p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = (p * r * r + r) + 1.0F;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return p * std::bit_cast<Real>(exponent);
}

/// 1 / (1 + e^-z).
inline Real sigmoid(Real z) { return 1.0F / (1.0F + exp_real(-z)); }

/// exp(-max(0, 1 - s)²): the probability for a score s trained with the squared hinge loss, as in Parabel.
inline Real squared_hinge_probability(Real s) {
  const Real gap = s < 1.0F ? 1.0F - s : 0.0F;
  return exp_real(-gap * gap);
}

/// e^x within a few ulp for |x| <= 700.
inline double exp_double(double x) {
  // x = n ln2 + r with |r| <= ln2/2. Adding and subtracting 1.5 * 2^52 rounds to the nearest integer.
  constexpr double kRound = 6755399441055744.0;
  const double n = (x * 1.4426950408889634 + kRound) - kRound;
  constexpr double kLn2High = 0x1.62e42feep-1;  // few bits: n * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double series = 1.0;
  for (int i = 14; i >= 1; --i) {
    series = 1.0 + series * r / i;
  }
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52;
  return series * std::bit_cast<double>(exponent);
}

/// Natural logarithm of a positive, normal double, within a few ulp.
constexpr double log_double(double x) {
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)), whose series converges fast there.
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto k = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k += 1;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double t2 = t * t;
  double series = 0.0;
  for (int denominator = 23; denominator >= 1; denominator -= 2) {
    series = series * t2 + 1.0 / denominator;
  }
  return static_cast<double>(k) * 0.6931471805599453 + 2.0 * t * series;
}

}  // namespace oplt

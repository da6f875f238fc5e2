// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Decimal text to float32, correctly rounded: the same bits on every machine.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>

#include "base/types.hpp"

namespace oplt {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Appends digits to `number`, which may overflow from the 20th digit on. Returns the end of the digits.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& number) {
  for (; p != end && is_digit(*p); ++p) {
    number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  }
  return p;
}

/// Adds the integer after an "e" to `exponent`. Returns its end, or nullptr if there is no integer.
const char* read_exponent(const char* p, const char* end, std::int64_t& exponent);

/// Reads any unsigned number whose syntax read_real() has checked; infinite if it is too large.
Real read_slowly(const char* begin, const char* end);

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Computes digits · 10^exponent; false if the fast path does not apply. Both factors are exact doubles, so one
/// operation rounds the true value correctly to a double d (Clinger, 1990). Rounding d to a float is correct unless d
/// lies half-way between two floats: half-way points are doubles and rounding is monotone, so otherwise d and the true
/// value lie on the same side of each of them. All results but 0 are normal floats: 10^-22 to 2^53 · 10^22 < 10^38.
inline bool scale_quickly(std::uint64_t digits, std::int64_t exponent, Real& value) {
  constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;  // the bits that a float does not have
  constexpr std::uint64_t kHalfWay = std::uint64_t{1} << 28;
  constexpr bool kExact = FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1;  // no excess precision, unlike x87
  if (!kExact || digits > (std::uint64_t{1} << 53) || exponent < -22 || exponent > 22) {
    return false;
  }
  const auto exact = static_cast<double>(digits);
  const double scaled = exponent < 0 ? exact / kPowersOfTen[-exponent] : exact * kPowersOfTen[exponent];
  value = static_cast<Real>(scaled);
  return (std::bit_cast<std::uint64_t>(scaled) & kBelowFloat) != kHalfWay;
}

/// Reads sign, digits with or without a decimal point, and exponent. Returns the end of the number, or nullptr if there
/// is none. Numbers too large for a float become infinite, those too small become 0.
inline const char* read_real(const char* p, const char* end, Real& value) {
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) {
    ++p;
  }
  const char* const begin = p;
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  p = read_digits(p, end, digits);
  std::int64_t n_digits = p - begin;
  if (p != end && *p == '.') {
    const char* const fraction = ++p;
    p = read_digits(p, end, digits);
    exponent = fraction - p;
    n_digits += p - fraction;
  }
  if (n_digits == 0) {
    return nullptr;
  }
  if (p != end && (*p == 'e' || *p == 'E') && (p = read_exponent(p + 1, end, exponent)) == nullptr) {
    return nullptr;
  }
  if (n_digits > 19 || !scale_quickly(digits, exponent, value)) {
    value = read_slowly(begin, p);
  }
  value = negative ? -value : value;
  return p;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "io/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace oplt {

namespace {

/// Whether a number outside the range of a float is too large, rather than too small.
bool is_large(const char* begin, const char* end) {
  const char* const digits_end = std::find_if(begin, end, [](char c) { return c == 'e' || c == 'E'; });
  const char* const point = std::find(begin, digits_end, '.');
  const char* const first = std::find_if(begin, digits_end, [](char c) { return c != '0' && c != '.'; });
  std::int64_t exponent = first < point ? point - first - 1 : point - first;
  if (digits_end != end) {
    read_exponent(digits_end + 1, end, exponent);
  }
  return exponent > 0;
}

}  // namespace

const char* read_exponent(const char* p, const char* end, std::int64_t& exponent) {
  constexpr std::int64_t kEnough = 1'000'000'000'000'000;  // no text has enough digits to compensate for it
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) {
    ++p;
  }
  const char* const begin = p;
  std::int64_t size = 0;
  for (; p != end && is_digit(*p); ++p) {
    size = std::min(10 * size + (*p - '0'), kEnough);
  }
  exponent += negative ? -size : size;
  return p == begin ? nullptr : p;
}

Real read_slowly(const char* begin, const char* end) {
  Real value = 0;
  if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range) {
    return is_large(begin, end) ? std::numeric_limits<Real>::infinity() : 0;
  }
  return value;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "check.hpp"
#include "io/decimal.hpp"

using namespace oplt;

namespace {

/// The text as a number; NaN unless the whole text is one.
Real read(std::string_view text) {
  Real value = 0;
  const char* const end = text.data() + text.size();
  return read_real(text.data(), end, value) == end ? value : std::nanf("");
}

std::uint32_t bits(Real value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST("numbers in all notations") {
  CHECK_EQ(read("1"), 1.0F);
  CHECK_EQ(read("-12.5"), -12.5F);
  CHECK_EQ(read("+.5"), 0.5F);
  CHECK_EQ(read("3."), 3.0F);
  CHECK_EQ(read("2e3"), 2000.0F);
  CHECK_EQ(read("2E-03"), 0.002F);
  CHECK_EQ(read("1e+2"), 100.0F);
  CHECK_EQ(bits(read("-0")), bits(-0.0F));
}

TEST("text that is not a number is rejected") {
  for (const char* text : {"", "-", "+", ".", "-.", "e1", "1e", "1e-", "nan", "inf", "0x1", "--1", "1.2.3", "1 "}) {
    CHECK(std::isnan(read(text)));
  }
}

TEST("too large is infinite, too small is zero") {
  for (const char* text : {"1e39", "3.4028236e38", "1e99999999999999999999", "0.001e45", "100000e35"}) {
    CHECK_EQ(read(text), HUGE_VALF);
    CHECK_EQ(read("-" + std::string(text)), -HUGE_VALF);
  }
  for (const char* text : {"1e-46", "1e-400", "1e-99999999999999999999", "0.00001e-45", "100e-60", "0e9999"}) {
    CHECK_EQ(bits(read(text)), bits(0.0F));
  }
  CHECK_EQ(read("1.4e-45"), 0x1p-149F);
}

TEST("half-way cases are rounded to even, and their neighbours to the nearest float") {
  CHECK_EQ(read("16777217"), 16777216.0F);
  CHECK_EQ(read("16777219"), 16777220.0F);
  CHECK_EQ(read("16777217.0000000000000001"), 16777218.0F);
  CHECK_EQ(read("1.00000005960464477539062500"), 1.0F);                   // 1 + 2^-24
  CHECK_EQ(read("1.00000005960464477539062501"), std::nextafterf(1, 2));  // nearest double: 1 + 2^-24
  CHECK_EQ(read("1.00000005960464478"), std::nextafterf(1, 2));           // the same
  CHECK_EQ(read("1.00000017881393432617187499"), std::nextafterf(1, 2));  // below 1 + 3 · 2^-24
}

TEST("the fast path agrees with std::from_chars on random decimals") {
  Random random(3);
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (std::uint32_t i = 1 + random.below(9); i > 0; --i) {
      text += static_cast<char>('0' + random.below(10));
    }
    text += '.';
    for (std::uint32_t i = random.below(9); i > 0; --i) {
      text += static_cast<char>('0' + random.below(10));
    }
    if (random.below(4) == 0) {
      text += "e" + std::to_string(static_cast<int>(random.below(40)) - 20);
    }
    Real expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    CHECK_EQ(bits(read(text)), bits(expected));
  }
}

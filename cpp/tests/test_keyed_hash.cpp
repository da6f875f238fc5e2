// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <string>

#include "base/keyed_hash.hpp"
#include "check.hpp"

using namespace oplt;

TEST("SipHash-2-4 has the values of its paper") {
  const HashKey key{0x0706050403020100, 0x0F0E0D0C0B0A0908};
  std::string bytes;
  CHECK_EQ((keyed_hash<2, 4>(key, bytes)), 0x726FDB47DD0E0E31U);
  for (char c = 0; c < 15; ++c) {
    bytes += c;
  }
  CHECK_EQ((keyed_hash<2, 4>(key, bytes)), 0xA129CA6149BE45E5U);
}

TEST("a different key gives different hashes") {
  const HashKey one = HashKey::draw();
  const HashKey other = HashKey::draw();
  CHECK(one.low != other.low && one.high != other.high);
  CHECK(keyed_hash(one, "pear") != keyed_hash(other, "pear"));
  CHECK(keyed_hash(one, "pear") == keyed_hash(one, "pear"));
  CHECK(keyed_hash(one, std::uint64_t{1}) != keyed_hash(one, std::uint64_t{2}));
}

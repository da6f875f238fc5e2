// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <set>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "io/checksum.hpp"

using oplt::Checksum;

namespace {

std::vector<std::byte> random_bytes(std::size_t n) {
  oplt::Random random(5);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(random.below(256));
  }
  return bytes;
}

Checksum::Value checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace

TEST("a checksum does not depend on how the bytes are split") {
  const auto bytes = random_bytes(1000);
  const std::span<const std::byte> all(bytes);
  const Checksum::Value expected = checksum(bytes);
  oplt::Random random(6);
  for (int repetition = 0; repetition < 200; ++repetition) {
    Checksum sum;
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(random.below(100), bytes.size() - i);
      sum.add(all.subspan(i, n));
      i += n;
    }
    CHECK(sum.value() == expected);
    CHECK(sum.value() == expected);  // reading the value does not change it
  }
}

TEST("every changed bit, and every change of length, changes the checksum") {
  auto bytes = random_bytes(100);
  std::set<Checksum::Value> seen;
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    CHECK(seen.insert(checksum(std::span<const std::byte>(bytes).first(n))).second);
  }
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK(seen.insert(checksum(bytes)).second);
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST("zeros count, and so does the order of the bytes") {
  std::set<Checksum::Value> seen;
  for (std::size_t n = 0; n < 100; ++n) {
    CHECK(seen.insert(checksum(std::vector<std::byte>(n))).second);
  }
  auto bytes = random_bytes(64);
  const Checksum::Value before = checksum(bytes);
  std::swap_ranges(bytes.begin(), bytes.begin() + 32, bytes.begin() + 32);
  CHECK(checksum(bytes) != before);
}

TEST("the checksum is part of the file format") {
  std::vector<std::byte> bytes(45);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  const Checksum::Value value = checksum(bytes);
  CHECK_EQ(value[0], 3331461678381372309U);
  CHECK_EQ(value[1], 9216692164278286894U);
}

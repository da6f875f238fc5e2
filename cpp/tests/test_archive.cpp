// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <limits>
#include <numeric>

#include "check.hpp"
#include "helpers.hpp"
#include "io/archive.hpp"

using oplt::FormatError;
using oplt::Reader;
using oplt::Writer;
using oplt::test::saved_bytes;

namespace {

struct Numbers {
  void save(Writer& out) const {
    out.put(std::uint8_t{200});
    out.put(std::int64_t{-5});
    out.put(1.5F);
    out.put_array(std::span<const double>(doubles));
    out.put_array(std::span<const std::uint32_t>());
    out.put(std::uint32_t{7});
  }

  std::vector<double> doubles{0.1, -2.0, 1e300};
};

// More than the writer's buffer, beside things smaller than it.
struct ManyNumbers {
  void save(Writer& out) const {
    out.put(std::uint16_t{1});
    out.put_array(std::span<const std::uint32_t>(large));
    out.put_array(std::span<const std::uint32_t>(large).first(100'000));
    out.put_array(std::span<const std::uint32_t>(large).first(200'000));
    out.put(std::uint16_t{2});
  }

  std::vector<std::uint32_t> large = [] {
    std::vector<std::uint32_t> counted(600'000);
    std::iota(counted.begin(), counted.end(), 0U);
    return counted;
  }();
};

void read_numbers(std::span<const std::byte> bytes) {
  Reader in(bytes);
  CHECK_EQ(in.get<std::uint8_t>(), 200);
  CHECK_EQ(in.get<std::int64_t>(), -5);
  CHECK_EQ(in.get<float>(), 1.5F);
  CHECK_EQ(in.get_array<double>(), Numbers().doubles);
  CHECK(in.get_array<std::uint32_t>().empty());
  CHECK_EQ(in.get<std::uint32_t>(), 7U);
  in.expect_end();
}

}  // namespace

TEST("what is written is read, without padding") {
  const auto bytes = saved_bytes(Numbers());
  CHECK_EQ(bytes.size(), 1U + 8 + 4 + (8 + 3 * 8) + 8 + 4);
  CHECK_EQ(bytes[1], std::byte{0xFB});  // -5, the low byte first
  read_numbers(bytes);
}

TEST("arrays around the size of the buffer arrive whole and in order") {
  const ManyNumbers numbers;
  const auto bytes = saved_bytes(numbers);
  Reader in(bytes);
  CHECK_EQ(in.get<std::uint16_t>(), 1);
  CHECK_EQ(in.get_array<std::uint32_t>(), numbers.large);
  CHECK_EQ(in.get_array<std::uint32_t>().size(), 100'000U);
  CHECK_EQ(in.get_array<std::uint32_t>().back(), 199'999U);
  CHECK_EQ(in.get<std::uint16_t>(), 2);
  in.expect_end();
}

TEST("truncated bytes throw wherever they end") {
  const auto bytes = saved_bytes(Numbers());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS(FormatError, read_numbers(std::span(bytes).first(n)));
  }
}

TEST("an array larger than the rest throws before it is allocated") {
  for (const std::uint64_t n : {std::uint64_t{3}, std::uint64_t{1} << 61, std::numeric_limits<std::uint64_t>::max()}) {
    const std::vector<std::uint64_t> content{n, 1, 2};
    Reader in(std::as_bytes(std::span(content)));
    CHECK_THROWS_WITH(FormatError, std::to_string(n), in.get_array<std::uint64_t>());
  }
}

TEST("expect_end tells how many bytes are left") {
  const std::vector<std::byte> bytes(3);
  Reader in(bytes);
  CHECK_THROWS_WITH(FormatError, "3 bytes", in.expect_end());
  in.get<std::uint8_t>();
  CHECK_THROWS_WITH(FormatError, "2 bytes", in.expect_end());
}

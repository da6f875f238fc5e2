// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cstring>
#include <numeric>

#include "base/random.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "io/array_file.hpp"

using namespace oplt;
using test::file_of;

namespace {

using Bytes = std::vector<std::byte>;

Bytes small_file() {
  return file_of([](ArrayWriter& out) {
    out.put<std::uint32_t>("b/numbers", std::vector<std::uint32_t>{1, 2, 3});
    out.put("empty", Buffer<double>());
    out.put_one("a", std::int64_t{-5});
    out.put<char>("text",
                  std::span<const char>("0123456789012345678901234567890123456789012345678901234567890123", 64));
  });
}

/// Reads everything from the small file.
std::uint64_t read_all(const ArrayReader& in) {
  in.verify();
  return in.get<std::uint32_t>("b/numbers")[2] + in.get<double>("empty").size() +
         static_cast<std::uint64_t>(in.get_one<std::int64_t>("a")) + in.get<char>("text").size();
}

/// An entry of the table of contents.
struct Line {
  std::string name;
  std::uint32_t value_bytes;
  std::uint64_t offset;
  std::uint64_t n_bytes;
};

/// A file with `n_zeros` bytes of arrays and an arbitrary table of contents with a valid checksum.
Bytes forged(const std::vector<Line>& lines, std::size_t n_zeros, std::uint32_t n_lines) {
  Bytes file = file_of([](ArrayWriter&) {});
  file.resize(64);  // the header
  file.resize(64 + n_zeros);
  Bytes table;
  const auto put = [&](const void* data, std::size_t n) {
    table.insert(table.end(), static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + n);
  };
  put(&n_lines, 4);
  for (const Line& line : lines) {
    const auto length = static_cast<std::uint32_t>(line.name.size());
    put(&length, 4);
    put(line.name.data(), length);
    put(&line.value_bytes, 4);
    put(&line.offset, 8);
    put(&line.n_bytes, 8);
    Checksum checksum;
    checksum.add(Bytes(line.n_bytes < 1000 ? line.n_bytes : 0));
    const Checksum::Value value = checksum.value();
    put(&value, 16);
  }
  Checksum checksum;
  checksum.add(table);
  const std::uint64_t trailer[] = {file.size(), table.size(), checksum.value()[0], checksum.value()[1]};
  file.insert(file.end(), table.begin(), table.end());
  table.clear();
  put(trailer, sizeof(trailer));
  put("OPLTEND.", 8);
  file.insert(file.end(), table.begin(), table.end());
  return file;
}

void open_forged(const std::vector<Line>& lines, std::size_t n_zeros = 128) {
  test::read_arrays(forged(lines, n_zeros, static_cast<std::uint32_t>(lines.size()))).verify();
}

}  // namespace

TEST("arrays are found by name and read in place") {
  const auto owner = std::make_shared<const Bytes>(small_file());
  const ArrayReader in(*owner, owner);
  in.verify();
  CHECK_EQ(in.entries().size(), 4U);
  CHECK_EQ(in.entries()[0].name, "a");
  const Buffer<std::uint32_t> numbers = in.get<std::uint32_t>("b/numbers");
  CHECK(!numbers.is_own());
  CHECK(reinterpret_cast<const std::byte*>(numbers.data()) == owner->data() + 64);
  CHECK_EQ(std::vector(numbers.begin(), numbers.end()), (std::vector<std::uint32_t>{1, 2, 3}));
  CHECK_EQ(in.get_one<std::int64_t>("a"), -5);
  CHECK(in.get<double>("empty").empty());
  CHECK(in.has("text"));
  CHECK(!in.has("tex") && !in.has(""));
}

TEST("the layout is that of the format: arrays at multiples of 64, zeros between, a table, a trailer") {
  const Bytes file = small_file();
  CHECK_EQ(std::memcmp(file.data(), "OPLTMODL\2\0\0\0\0", 13), 0);
  const std::size_t table = 64 + 64 + 0 + 64 + 64;
  CHECK_EQ(file.size(), table + 4 + 4 * 40 + std::strlen("b/numbersemptyatext") + 40);
  CHECK_EQ(file[64 + 8], std::byte{3});
  CHECK_EQ(std::memcmp(file.data() + table, "\4\0\0\0\x9\0\0\0b/numbers\4\0\0\0\x40\0\0\0\0\0\0\0\xC\0", 31), 0);
  CHECK_EQ(std::memcmp(file.data() + file.size() - 8, "OPLTEND.", 8), 0);
}

TEST("equal arrays make equal files, and different arrays different checksums") {
  const auto checksum_of = [](std::uint32_t number) {
    ArrayWriter out([](std::span<const std::byte>) {});
    out.put_one("number", number);
    return out.finish();
  };
  CHECK(checksum_of(1) == checksum_of(1));
  CHECK(checksum_of(1) != checksum_of(2));
  CHECK(small_file() == small_file());
}

TEST("an array written in pieces equals one written as a whole, whatever its size") {
  std::vector<std::uint32_t> numbers(1'000'000);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const std::span<const std::uint32_t> all(numbers);
  const Bytes at_once = file_of([&](ArrayWriter& out) {
    out.put("x", all);
    out.put_one("y", 'y');
  });
  const Bytes in_pieces = file_of([&](ArrayWriter& out) {
    out.begin<std::uint32_t>("x");
    for (std::size_t i = 0, n = 1; i < all.size(); i += n, n = std::min(2 * n + 1, all.size() - i)) {
      out.append(all.subspan(i, n));
    }
    out.put_one("y", 'y');
  });
  CHECK(at_once == in_pieces);
  const ArrayReader in = test::read_arrays(at_once);
  in.verify();
  CHECK_EQ(in.get<std::uint32_t>("x")[999'999], 999'999U);
}

TEST("a writer rejects misuse") {
  const auto ignore = [](std::span<const std::byte>) {};
  ArrayWriter out(ignore);
  CHECK_THROWS(std::logic_error, out.append(std::span<const char>("abc", 3)));
  out.begin<std::uint32_t>("x");
  CHECK_THROWS(std::logic_error, out.append(std::span<const char>("abc", 3)));
  out.begin<std::uint32_t>("x");
  CHECK_THROWS_WITH(FormatError, "two arrays named 'x'", out.finish());
}

TEST("a reader names arrays that are missing or have a different type") {
  const ArrayReader in = test::read_arrays(small_file());
  CHECK_THROWS_WITH(FormatError, "no array 'c'", in.get<int>("c"));
  CHECK_THROWS_WITH(FormatError, "values of 4 bytes instead of 8", in.get<double>("b/numbers"));
  CHECK_THROWS_WITH(FormatError, "has 3 values instead of one", in.get_one<std::uint32_t>("b/numbers"));
  CHECK_THROWS_WITH(FormatError, "has 0 values instead of one", in.get_one<double>("empty"));
}

TEST("a file without an owner, or at an odd address, is copied") {
  Bytes shifted(1);
  const Bytes file = small_file();
  shifted.insert(shifted.end(), file.begin(), file.end());
  const auto owner = std::make_shared<const Bytes>(shifted);
  const ArrayReader odd(std::span<const std::byte>(*owner).subspan(1), owner);
  shifted.clear();
  CHECK_EQ(read_all(odd), 3U + 64 - 5);
  Buffer<std::uint32_t> numbers = ArrayReader(small_file(), nullptr).get<std::uint32_t>("b/numbers");
  numbers.own();
  numbers.push_back(4);
  CHECK_EQ(numbers[2], 3U);
}

TEST("a file truncated anywhere is rejected") {
  const Bytes file = small_file();
  for (std::size_t n = 1; n < file.size(); ++n) {
    CHECK_THROWS_WITH(FormatError, "truncated", test::read_arrays({file.begin(), file.begin() + static_cast<long>(n)}));
  }
  CHECK_THROWS_WITH(FormatError, "not an oplt model", test::read_arrays({}));
  Bytes longer = file;
  longer.push_back({});
  CHECK_THROWS_WITH(FormatError, "truncated", test::read_arrays(longer));
}

TEST("every changed byte of a file is detected") {
  const Bytes file = small_file();
  for (std::size_t i = 0; i < file.size(); ++i) {
    Bytes changed = file;
    changed[i] ^= std::byte{0x10};
    CHECK_THROWS(FormatError, test::read_arrays(changed).verify());
  }
}

TEST("a different format or version is reported") {
  Bytes file = small_file();
  test::overwrite(file, 8, std::uint32_t{1});
  CHECK_THROWS_WITH(FormatError, "format version 1", test::read_arrays(file));
  CHECK_THROWS_WITH(FormatError, "format version 1", test::read_arrays({file.begin(), file.begin() + 20}));
  test::overwrite(file, 0, 'X');
  CHECK_THROWS_WITH(FormatError, "does not begin with OPLTMODL", test::read_arrays(file));
}

TEST("a damaged array is named") {
  Bytes file = small_file();
  test::overwrite(file, 64 + 64, 'x');
  const ArrayReader in = test::read_arrays(file);
  CHECK_THROWS_WITH(FormatError, "'a'", in.verify());
}

TEST("an impossible table of contents is rejected even if its checksum is valid") {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  open_forged({{"x", 4, 64, 8}, {"y", 1, 128, 64}});
  CHECK_THROWS_WITH(FormatError, "two arrays", open_forged({{"x", 4, 64, 8}, {"x", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 4, 64, 80}, {"y", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 4, 72, 8}, {"y", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 4, 0, 8}, {"y", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 1, 64, 129}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 1, 64, kMost - 63}}));
  CHECK_THROWS_WITH(FormatError, "is misplaced", open_forged({{"x", 1, kMost, 1}}));
  CHECK_THROWS_WITH(FormatError, "not a multiple", open_forged({{"x", 3, 64, 8}, {"y", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "not a multiple", open_forged({{"x", 0, 64, 8}, {"y", 1, 128, 64}}));
  CHECK_THROWS_WITH(FormatError, "does not match", open_forged({{"x", 4, 64, 8}}));
  CHECK_THROWS_WITH(FormatError, "too short", test::read_arrays(forged({}, 0, 1)));
  CHECK_THROWS_WITH(FormatError, "too short", test::read_arrays(forged({{"x", 1, 64, 0}}, 0, 0xFFFFFFFF)));
  CHECK_THROWS_WITH(FormatError, "does not match", test::read_arrays(forged({{"x", 1, 64, 0}}, 0, 0)));
}

TEST("random bytes are rejected, and random tables do no harm") {
  Random random(9);
  for (int repetition = 0; repetition < 20'000; ++repetition) {
    Bytes file = small_file();
    const std::size_t table = 256;
    for (std::uint32_t i = 0; i <= random.below(4); ++i) {
      file[table + random.below(static_cast<std::uint32_t>(file.size() - 40 - table))] =
          static_cast<std::byte>(random.below(256));
    }
    Checksum checksum;  // makes the changed table valid
    checksum.add(std::span<const std::byte>(file).subspan(table, file.size() - 40 - table));
    test::overwrite(file, file.size() - 24, checksum.value());
    try {
      read_all(test::read_arrays(file));
    } catch (const FormatError&) {
    }
  }
}

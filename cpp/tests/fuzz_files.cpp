// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz_targets.hpp"
#include "hostile_models.hpp"
#include "io/checksum.hpp"

namespace oplt::test {

namespace {

struct SeedArray {
  ArrayEntry entry;
  std::vector<std::byte> bytes;
};

/// A small model and its arrays.
struct Seed {
  Kind kind;
  std::vector<SeedArray> arrays;
};

std::vector<Seed> make_seeds() {
  std::vector<Seed> seeds;
  for (const Kind& kind : kinds()) {
    Seed seed{kind, {}};
    const std::vector<std::byte> file = kind.file();
    const ArrayReader reader(file, nullptr);
    for (const ArrayEntry& entry : reader.entries()) {
      const auto bytes = std::span(file).subspan(entry.offset, entry.n_bytes);
      seed.arrays.push_back({entry, {bytes.begin(), bytes.end()}});
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

/// Makes one change, described by 2 bytes for the array and the kind, 2 for the place, and up to 8 for the value.
void change_array(FuzzReader& in, std::vector<SeedArray>& arrays) {
  SeedArray& array = arrays[in.take<std::uint8_t>() % arrays.size()];
  const auto what = in.take<std::uint8_t>();
  const std::size_t place = in.take<std::uint16_t>();
  std::vector<std::byte>& bytes = array.bytes;
  const std::size_t width = std::size_t{1} << (what % 4);
  if (what >= 0xF0) {  // changes the size, to at most a few kilobytes
    const std::size_t n_values = place % (bytes.size() / array.entry.value_bytes + 64);
    bytes.resize(n_values * array.entry.value_bytes, static_cast<std::byte>(in.take<std::uint8_t>()));
    return;
  }
  if (bytes.size() < width) {
    return;
  }
  std::byte* const at = bytes.data() + place % (bytes.size() / width) * width;
  std::uint64_t value = 0;
  std::memcpy(&value, at, width);
  switch (what / 4 % 4) {
    case 0:
      value = in.take<std::uint64_t>();
      break;
    case 1:
      value += static_cast<std::uint64_t>(static_cast<std::int64_t>(in.take<std::int8_t>()));
      break;
    case 2:
      value ^= std::uint64_t{1} << (in.take<std::uint8_t>() % 64);
      break;
    default:
      std::memcpy(&value, bytes.data() + in.take<std::uint16_t>() % (bytes.size() / width) * width, width);
  }
  std::memcpy(at, &value, width);
}

}  // namespace

void fuzz_model(FuzzBytes data) {
  static const std::vector<Seed> seeds = make_seeds();
  FuzzReader in(data);
  const Seed& seed = seeds[in.take<std::uint8_t>() % seeds.size()];
  std::vector<SeedArray> arrays = seed.arrays;
  for (int n_changes = 0; !in.empty() && n_changes < 16; ++n_changes) {
    change_array(in, arrays);
  }
  is_used(seed.kind, file_of([&](ArrayWriter& out) {
            for (const SeedArray& array : arrays) {
              out.put_bytes(array.entry.name, array.entry.value_bytes, array.bytes);
            }
          }));
}

void fuzz_container(FuzzBytes data) {
  constexpr std::size_t kTrailer = 40;
  std::vector<std::byte> file(data.begin(), data.end());
  if (file.size() > kTrailer) {
    std::byte* const trailer = file.data() + file.size() - kTrailer;
    std::uint64_t table[2];  // offset and length
    std::memcpy(table, trailer, sizeof(table));
    if (table[0] <= file.size() && table[1] <= file.size() - table[0]) {
      Checksum checksum;
      checksum.add(std::span(file).subspan(table[0], table[1]));
      const Checksum::Value value = checksum.value();
      std::memcpy(trailer + sizeof(table), value.data(), sizeof(value));
    }
  }
  try {
    const ArrayReader arrays = read_arrays(file);
    for (const ArrayEntry& entry : arrays.entries()) {
      expect(arrays.has(entry.name), "an array is not found by its name");
      expect(entry.offset <= file.size() && entry.n_bytes <= file.size() - entry.offset,
             "an array lies outside the file");
      const auto bytes = entry.value_bytes == 8   ? std::as_bytes(arrays.get<std::uint64_t>(entry.name).view())
                         : entry.value_bytes == 4 ? std::as_bytes(arrays.get<std::uint32_t>(entry.name).view())
                         : entry.value_bytes == 1 ? arrays.get<std::byte>(entry.name).view()
                                                  : FuzzBytes{};
      expect(std::ranges::count(bytes, std::byte{0xFF}) <= static_cast<std::ptrdiff_t>(bytes.size()), "cannot be");
    }
    arrays.verify();
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace oplt::test

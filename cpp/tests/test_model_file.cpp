// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Model files that are damaged, by accident or on purpose, are rejected or do no harm.
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "hostile_models.hpp"

using namespace oplt;
using oplt::test::is_used;
using oplt::test::Kind;
using oplt::test::kinds;

namespace {

constexpr std::byte kChanges[] = {std::byte{1}, std::byte{0x80}, std::byte{0xFF}};
constexpr std::size_t kLarge = 1000;  // bytes; each byte of a larger array is changed in one way only

/// The file with a changed array and valid checksums.
std::vector<std::byte> forged(const ArrayReader& arrays, std::span<const std::byte> file, const ArrayEntry& changed,
                              std::span<const std::byte> bytes) {
  return test::file_of([&](ArrayWriter& out) {
    for (const ArrayEntry& entry : arrays.entries()) {
      out.put_bytes(entry.name, entry.value_bytes,
                    entry.name == changed.name ? bytes : file.subspan(entry.offset, entry.n_bytes));
    }
  });
}

/// The ranker has several models of the same kind: it suffices to change the first one.
bool is_like_another(const ArrayEntry& entry) {
  return entry.name.starts_with("ranking/models/") && entry.name != "ranking/models/0";
}

std::vector<std::byte> bytes_of(std::span<const std::byte> file, const ArrayEntry& entry) {
  const auto bytes = file.subspan(entry.offset, entry.n_bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST("a model file with any changed byte is rejected") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader whole = test::read_arrays(file);
    whole.verify();
    std::vector<std::byte> changed = file;
    for (std::byte& byte : changed) {
      for (const std::byte change : kChanges) {
        byte ^= change;
        CHECK_THROWS(FormatError, test::read_arrays(changed).verify());
        byte ^= change;
      }
    }
    CHECK(changed == file);
  }
}

TEST("a truncated or extended model file is rejected, whatever its length") {
  for (const Kind& kind : kinds()) {
    std::vector<std::byte> file = kind.file();
    for (std::size_t n = 0; n < file.size(); ++n) {
      const std::vector<std::byte> first(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK_THROWS(FormatError, test::loaded(kind.params, first, kind.text));
    }
    file.push_back(std::byte{0});
    CHECK_THROWS(FormatError, test::loaded(kind.params, file, kind.text));
  }
}

TEST("a model file with a missing array, or one of a different size, is rejected or does no harm") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader arrays = test::read_arrays(file);
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      const auto without = test::file_of([&](ArrayWriter& out) {
        for (const ArrayEntry& other : arrays.entries()) {
          if (other.name != entry.name) {
            out.put_bytes(other.name, other.value_bytes, std::span(file).subspan(other.offset, other.n_bytes));
          }
        }
      });
      CHECK(!is_used(kind, without));
      const std::vector<std::byte> bytes = bytes_of(file, entry);
      for (std::size_t n = 0; n < bytes.size(); n += entry.value_bytes) {
        CHECK(!is_used(kind, forged(arrays, file, entry, std::span(bytes).first(n))));
      }
      std::vector<std::byte> longer = bytes;
      longer.resize(bytes.size() + entry.value_bytes);
      is_used(kind, forged(arrays, file, entry, longer));
      longer.resize(bytes.size());
      longer.insert(longer.end(), entry.value_bytes, std::byte{0xFF});
      is_used(kind, forged(arrays, file, entry, longer));
    }
  }
}

TEST("a model file with any changed byte and a valid checksum is rejected or does no harm") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    CHECK(is_used(kind, file));
    const ArrayReader arrays = test::read_arrays(file);
    std::size_t n_refused = 0;
    std::size_t n_used = 0;
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      std::vector<std::byte> bytes = bytes_of(file, entry);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (std::size_t way = 0; way < std::size(kChanges); ++way) {
          if (bytes.size() > kLarge && way != i % std::size(kChanges)) {
            continue;
          }
          bytes[i] ^= kChanges[way];
          ++(is_used(kind, forged(arrays, file, entry, bytes)) ? n_used : n_refused);
          bytes[i] ^= kChanges[way];
        }
      }
    }
    CHECK(n_refused > n_used / 4);
    CHECK(n_used > 0);
  }
}

TEST("a model file with changed values, extreme or plausible, is rejected or does no harm") {
  Random random(5);
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader arrays = test::read_arrays(file);
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      const std::size_t width = entry.value_bytes % 8 == 0 ? 8 : entry.value_bytes % 4 == 0 ? 4 : 1;
      const std::size_t n = entry.n_bytes / width;
      for (std::size_t repetition = 0; repetition < std::min<std::size_t>(4 * n, 300); ++repetition) {
        std::vector<std::byte> bytes = bytes_of(file, entry);
        for (std::uint32_t more = 1 + random.below(2); more > 0; --more) {
          std::byte* const at = bytes.data() + width * random.below(static_cast<std::uint32_t>(n));
          const std::byte* const other = bytes.data() + width * random.below(static_cast<std::uint32_t>(n));
          std::uint64_t value = 0;
          std::memcpy(&value, at, width);
          switch (random.below(6)) {
            case 0:
              value = 0;
              break;
            case 1:
              value = ~std::uint64_t{0};
              break;
            case 2:
              ++value;
              break;
            case 3:
              --value;
              break;
            case 4:
              value = 0x7F7FFFFF7F7FFFFF;  // the largest number, twice
              break;
            default:
              std::memcpy(&value, other, width);
          }
          std::memcpy(at, &value, width);
        }
        is_used(kind, forged(arrays, file, entry, bytes));
      }
    }
  }
}

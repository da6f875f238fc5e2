// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A file of named arrays of plain values, little-endian; docs/format.md describes it. The core opens no files: a writer
// streams bytes to a function that the caller supplies, and a reader gives views of the caller's bytes, such as a
// mapped file. Equal models write equal bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "io/checksum.hpp"

namespace oplt {

static_assert(std::endian::native == std::endian::little, "the format is little-endian; byte swapping is not written");

/// The location of an array in a file.
struct ArrayEntry {
  std::string name;
  std::uint32_t value_bytes = 0;  // size of one value
  std::uint64_t offset = 0;       // a multiple of kArrayAlignment
  std::uint64_t n_bytes = 0;
  Checksum::Value checksum{};
};

inline constexpr std::size_t kArrayAlignment = 64;
inline constexpr std::uint32_t kFormatVersion = 2;

class ArrayWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit ArrayWriter(Sink sink);

  /// Writes a whole array. Names are paths, such as "trees/0/parents", each used once.
  template <class T>
  void put(std::string_view name, std::span<const T> values) {
    begin<T>(name);
    append(values);
  }
  template <class T>
  void put(std::string_view name, const Buffer<T>& values) {
    put(name, values.view());
  }
  template <class T>
  void put_one(std::string_view name, const T& value) {
    put(name, std::span<const T>(&value, 1));
  }

  /// Writes an array whose value type is not known at compile time.
  void put_bytes(std::string_view name, std::size_t value_bytes, std::span<const std::byte> bytes) {
    begin_array(name, value_bytes);
    append_bytes(bytes);
  }

  /// Begins an array that is written in pieces, by append(), until the next array begins.
  template <class T>
  void begin(std::string_view name) {
    static_assert(std::is_trivially_copyable_v<T>);  // T must not have padding either, whose bytes are undefined
    begin_array(name, sizeof(T));
  }
  template <class T>
  void append(std::span<const T> values) {
    append_bytes(std::as_bytes(values));
  }

  /// Writes the table of contents. Returns its checksum, which covers all arrays: equal files have equal checksums.
  Checksum::Value finish();

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;

  void begin_array(std::string_view name, std::size_t value_bytes);
  void end_array();
  void append_bytes(std::span<const std::byte> bytes);
  void emit(std::span<const std::byte> bytes);
  void flush();

  Sink sink_;
  std::vector<std::byte> buffer_;
  std::vector<ArrayEntry> entries_;
  Checksum checksum_;  // of the current array
  bool in_array_ = false;
  std::uint64_t offset_ = 0;
};

/// The arrays of a file: views of its bytes, which stay alive as long as any view does.
class ArrayReader {
 public:
  /// Reads and checks the table of contents. Throws FormatError.
  ArrayReader(std::span<const std::byte> file, std::shared_ptr<const void> owner);

  /// Throws FormatError, naming the array, if the checksum of an array is wrong.
  void verify() const;

  bool has(std::string_view name) const { return find(name) != nullptr; }

  template <class T>
  Buffer<T> get(std::string_view name) const {
    const std::span<const std::byte> bytes = bytes_of(name, sizeof(T));
    return {{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)}, owner_};
  }
  template <class T>
  T get_one(std::string_view name) const {
    const Buffer<T> values = get<T>(name);
    if (values.size() != 1) {
      throw FormatError("the array '" + std::string(name) + "' has " + std::to_string(values.size()) +
                        " values instead of one");
    }
    return values[0];
  }

  std::span<const ArrayEntry> entries() const { return entries_; }

 private:
  const ArrayEntry* find(std::string_view name) const;
  std::span<const std::byte> bytes_of(std::string_view name, std::size_t value_bytes) const;

  std::span<const std::byte> file_;
  std::shared_ptr<const void> owner_;
  std::vector<ArrayEntry> entries_;  // by name
};

}  // namespace oplt

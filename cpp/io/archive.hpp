// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Little-endian bytes out and in, through functions that the caller supplies: the core opens no files.
// docs/format.md describes what is written. Equal models write equal bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace oplt {

static_assert(std::endian::native == std::endian::little, "the format is little-endian; byte swapping is not written");

class Writer {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit Writer(Sink sink) : sink_(std::move(sink)) {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);  // no padding bytes
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }

  template <class T>
  void put_array(std::span<const T> values) {
    put(static_cast<std::uint64_t>(values.size()));
    put_bytes(std::as_bytes(values));
  }

  /// Hands the last bytes to the sink.
  void flush() {
    sink_(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;

  void put_bytes(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > kChunk) {
      flush();
    }
    if (bytes.size() > kChunk) {
      sink_(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }

  Sink sink_;
  std::vector<std::byte> buffer_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    take(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  template <class T>
  std::vector<T> get_array() {
    const auto n = get<std::uint64_t>();
    if (n > rest_.size() / sizeof(T)) {  // before the allocation: n may be anything in a damaged file
      throw FormatError("an array of " + std::to_string(n) + " elements reaches beyond the end of the model");
    }
    std::vector<T> values(n);
    take(std::as_writable_bytes(std::span(values)));
    return values;
  }

  /// Throws unless everything has been read.
  void expect_end() const {
    if (!rest_.empty()) {
      throw FormatError(std::to_string(rest_.size()) + " bytes are left over after the end of the model");
    }
  }

 private:
  void take(std::span<std::byte> out) {
    if (out.size() > rest_.size()) {
      throw FormatError("the model ends too early");
    }
    std::copy_n(rest_.begin(), out.size(), out.begin());
    rest_ = rest_.subspan(out.size());
  }

  std::span<const std::byte> rest_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Called by `make fuzz` with arbitrary bytes, and by test_fuzz_corpus.cpp with the stored ones. A target must return,
// whatever the bytes are; an exception means that a guarantee is violated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace oplt::test {

using FuzzBytes = std::span<const std::byte>;

/// A model file with changed arrays and valid checksums is rejected, or works like any other model.
void fuzz_model(FuzzBytes bytes);

/// Arbitrary bytes as a file, with a valid checksum of the table of contents.
void fuzz_container(FuzzBytes bytes);

/// The text format of data sets: chunks and lines, values, limits.
void fuzz_parsers(FuzzBytes bytes);

/// Words, characters and text features.
void fuzz_text(FuzzBytes bytes);

struct FuzzTarget {
  std::string_view name;
  void (*run)(FuzzBytes);
};

inline constexpr FuzzTarget kFuzzTargets[] = {
    {"model", fuzz_model}, {"container", fuzz_container}, {"parsers", fuzz_parsers}, {"text", fuzz_text}};

/// Takes numbers from the front of the bytes; returns zeros when they are used up.
class FuzzReader {
 public:
  explicit FuzzReader(FuzzBytes bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  template <class T>
  T take() {
    T value{};
    const std::size_t n = std::min(sizeof(T), rest_.size());
    std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }

  std::string_view rest() const { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }

 private:
  FuzzBytes rest_;
};

}  // namespace oplt::test

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// What `make fuzz` calls with arbitrary bytes, and test_fuzz_corpus.cpp with those that are kept. A target returns,
// whatever the bytes are; an exception means that a promise does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace oplt::test {

using FuzzBytes = std::span<const std::byte>;

/// Changes to the arrays of a model's file, whose checksums are right: refused, or as good as any other model.
void fuzz_model(FuzzBytes bytes);

/// A file as it is, but for the checksum of its table of contents.
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

/// Takes numbers from the front of the bytes; zeros when there are none left.
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

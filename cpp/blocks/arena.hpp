// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/types.hpp"

namespace oplt {

/// Allocates runs of 8-byte words in one growing buffer, addressed by offset; freed runs are reused. The buffer may be
/// in a mapped file until it is written (Buffer).
class Arena {
 public:
  using Word = std::uint64_t;

  Arena() = default;
  explicit Arena(Buffer<Word> words) : words_(std::move(words)) {}

  Word* at(std::uint32_t offset) { return words_.data() + offset; }
  const Word* at(std::uint32_t offset) const { return words_.data() + offset; }

  /// Must be called before the first write.
  void own() { words_.own(); }
  bool is_own() const { return words_.is_own(); }

  /// Returns the offset of n > 0 uninitialised words. Invalidates pointers from at(), but not offsets.
  std::uint32_t allocate(std::size_t n) {
    if (n < free_.size() && free_[n] != kNone) {
      const std::uint32_t offset = free_[n];
      free_[n] = static_cast<std::uint32_t>(*at(offset));
      return offset;
    }
    const std::size_t offset = words_.size();
    if (offset + n >= kNone) {
      throw std::length_error("a sibling block has reached its limit of 32 GiB");
    }
    words_.resize_uninitialized(offset + n);
    return static_cast<std::uint32_t>(offset);
  }

  /// Frees the n words at an offset. The free list of each size is linked through the freed words themselves.
  void release(std::uint32_t offset, std::size_t n) {
    if (n >= free_.size()) {
      free_.resize(n + 1, kNone);
    }
    *at(offset) = free_[n];
    free_[n] = offset;
  }

  std::span<const Word> words() const { return words_.view(); }
  std::size_t memory_bytes() const { return words_.memory_bytes() + free_.capacity() * sizeof(std::uint32_t); }

 private:
  Buffer<Word> words_;
  std::vector<std::uint32_t> free_;  // by size in words: the head of the free list
};

}  // namespace oplt

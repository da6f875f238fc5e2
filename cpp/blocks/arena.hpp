// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// Pieces of 8-byte words in one growing buffer, addressed by offset; freed pieces are used again.
///
/// The buffer grows by `realloc`, which remaps the pages of a large buffer instead of copying them, so that growing
/// does not double the peak of memory.
class Arena {
 public:
  using Word = std::uint64_t;

  Word* at(std::uint32_t offset) { return words_.get() + offset; }
  const Word* at(std::uint32_t offset) const { return words_.get() + offset; }

  /// Offset of n > 0 uninitialised words. Pointers from at() are invalid afterwards, offsets stay.
  std::uint32_t allocate(std::size_t n) {
    if (n < free_.size() && free_[n] != kNone) {
      const std::uint32_t offset = free_[n];
      free_[n] = static_cast<std::uint32_t>(*at(offset));
      return offset;
    }
    reserve(size_ + n);
    const auto offset = static_cast<std::uint32_t>(size_);
    size_ += n;
    return offset;
  }

  /// Gives back the n words at an offset. The freed words themselves link the list of free pieces of this size.
  void release(std::uint32_t offset, std::size_t n) {
    if (n >= free_.size()) {
      free_.resize(n + 1, kNone);
    }
    *at(offset) = free_[n];
    free_[n] = offset;
  }

  std::size_t memory_bytes() const { return capacity_ * sizeof(Word) + free_.capacity() * sizeof(std::uint32_t); }

 private:
  struct Free {
    void operator()(Word* words) const { std::free(words); }
  };

  void reserve(std::size_t n) {
    if (n <= capacity_) {
      return;
    }
    if (n >= kNone) {
      throw std::length_error("a sibling block has reached its limit of 32 GiB");
    }
    const std::size_t capacity = std::max(n, capacity_ + capacity_ / 4);
    auto* words = static_cast<Word*>(std::realloc(words_.get(), capacity * sizeof(Word)));
    if (words == nullptr) {
      throw std::bad_alloc();
    }
    static_cast<void>(words_.release());  // realloc has freed or kept it
    words_.reset(words);
    capacity_ = capacity;
  }

  std::unique_ptr<Word, Free> words_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::uint32_t> free_;  // by size in words: the first free piece
};

}  // namespace oplt

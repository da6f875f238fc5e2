// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace oplt {

/// Many short arrays that never move and are all freed together.
template <class T>
class SpanPool {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  /// Returns n uninitialised elements.
  std::span<T> allocate(std::size_t n) {
    if (n > n_left_) {
      const std::size_t size = std::max({n, kChunk, std::min(2 * last_size_, kMostChunk)});
      chunks_.push_back(std::make_unique_for_overwrite<T[]>(size));
      next_ = chunks_.back().get();
      n_left_ = size;
      last_size_ = size;
      size_ += size;
    }
    const std::span<T> result(next_, n);
    next_ += n;
    n_left_ -= n;
    return result;
  }

  /// Keeps the last and largest chunk, because pools are filled and cleared repeatedly.
  void clear() {
    if (chunks_.size() > 1) {
      chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    }
    next_ = chunks_.empty() ? nullptr : chunks_.back().get();
    n_left_ = last_size_;
    size_ = last_size_;
  }

  std::size_t memory_bytes() const { return size_ * sizeof(T); }

 private:
  static constexpr std::size_t kChunk = 1024;
  static constexpr std::size_t kMostChunk = 65'536;

  std::vector<std::unique_ptr<T[]>> chunks_;
  T* next_ = nullptr;
  std::size_t n_left_ = 0;
  std::size_t last_size_ = 0;  // of the last chunk
  std::size_t size_ = 0;       // of all chunks
};

template <class T>
std::span<const T> keep(std::span<const T> values, SpanPool<T>& pool) {
  const std::span<T> kept = pool.allocate(values.size());
  std::copy(values.begin(), values.end(), kept.begin());
  return kept;
}

template <class T>
void sort_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "base/shared.hpp"

namespace oplt {

/// A large number of growing lists of plain values, by index.
///
/// 256 lists form a chunk. Chunks are copied on write: copying all lists copies a handle per chunk, and a later write
/// to a list copies only its chunk. The values of a loaded list stay in the mapped file until the list is written to.
template <class T>
class Lists {
 public:
  std::size_t size() const { return size_; }

  /// Total over all lists.
  std::size_t n_values() const { return n_values_; }

  std::span<const T> operator[](std::size_t i) const {
    const Piece& piece = chunks_[i / kLists]->pieces[i % kLists];
    return {piece.data, piece.size};
  }

  /// Resizes to `n` lists, if there are fewer; new lists are empty.
  void resize(std::size_t n) {
    if (n > size_) {
      chunks_.resize((n + kLists - 1) / kLists);
      size_ = n;
    }
  }

  // The members below invalidate spans of the list.

  /// The list, for writing in place.
  std::span<T> write(std::size_t i) {
    const Piece& piece = own_piece(i);
    return {piece.data, piece.size};
  }

  void push_back(std::size_t i, const T& value) {
    const T copy = value;  // it may be an element of the list
    Piece& piece = own_piece(i);
    if (piece.size == piece.capacity) {
      piece.grow(std::size_t{piece.size} + 1 + piece.size / 2);
    }
    piece.data[piece.size++] = copy;
    ++n_values_;
  }

  /// The list must not be empty.
  void pop_back(std::size_t i) {
    --own_piece(i).size;
    --n_values_;
  }

  /// Replaces the values of the list by others, which must not be part of the list.
  void assign(std::size_t i, std::span<const T> values) {
    Piece& piece = chunks_[i / kLists].write().pieces[i % kLists];
    n_values_ += values.size() - piece.size;
    if (values.size() > piece.capacity || values.size() < piece.capacity / 2) {
      piece.release();
      piece.grow(values.size());
    }
    piece.size = static_cast<std::uint32_t>(values.size());
    std::copy(values.begin(), values.end(), piece.data);
  }

  /// Excludes values that are still in a file.
  std::size_t memory_bytes() const {
    std::size_t bytes = chunks_.capacity() * sizeof(chunks_[0]);
    for (const Shared<Chunk>& chunk : chunks_) {
      bytes += sizeof(Chunk);
      for (const Piece& piece : chunk->pieces) {
        bytes += piece.capacity * sizeof(T);
      }
    }
    return bytes;
  }

  /// Memory of the lists without spare capacity, whether they are owned or in a file.
  std::size_t content_bytes() const {
    constexpr std::size_t kRounding = 16;  // of an allocation
    return size_ * (sizeof(Piece) + kRounding) + n_values_ * sizeof(T);
  }

  /// Writes two arrays: `prefix`/sizes, the size of each list, and `prefix`/values, the concatenated lists.
  template <class ArrayWriter>
  void save(ArrayWriter& out, const std::string& prefix) const {
    save(out, prefix, [](std::size_t, std::span<T>) {});
  }

  /// The same, but calls change(i, list) on a copy of each list and writes the changed copy.
  template <class ArrayWriter, class Change>
  void save(ArrayWriter& out, const std::string& prefix, Change change) const {
    std::vector<std::uint32_t> sizes(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      sizes[i] = static_cast<std::uint32_t>((*this)[i].size());
    }
    out.template put<std::uint32_t>(prefix + "/sizes", sizes);
    out.template begin<T>(prefix + "/values");
    std::vector<T> together;  // to append many short lists at a time
    for (std::size_t i = 0; i < size_; ++i) {
      const std::span<const T> list = (*this)[i];
      together.insert(together.end(), list.begin(), list.end());
      change(i, std::span<T>(together).last(list.size()));
      if (together.size() >= kAppended || i + 1 == size_) {
        out.template append<T>(together);
        together.clear();
      }
    }
  }

  /// Copies no values. Throws FormatError unless the sizes add up to the number of values.
  template <class ArrayReader>
  static Lists load(const ArrayReader& in, const std::string& prefix) {
    const Buffer<std::uint32_t> sizes = in.template get<std::uint32_t>(prefix + "/sizes");
    const Buffer<T> values = in.template get<T>(prefix + "/values");
    Lists lists;
    lists.resize(sizes.size());
    lists.n_values_ = values.size();
    std::size_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Chunk& chunk = lists.chunks_[i / kLists].write();
      if (i % kLists == 0) {
        chunk.owner = values.owner();
      }
      expect_format(sizes[i] <= values.size() - begin, "lists have fewer values than their sizes require");
      chunk.pieces[i % kLists] = {const_cast<T*>(values.data()) + begin, sizes[i], 0};
      begin += sizes[i];
    }
    expect_format(begin == values.size(), "lists have more values than their sizes require");
    return lists;
  }

 private:
  static constexpr std::size_t kLists = 256;           // lists per chunk
  static constexpr std::size_t kAppended = 1U << 14U;  // values written at a time

  /// The location of a list.
  struct Piece {
    T* data = nullptr;
    std::uint32_t size = 0;
    std::uint32_t capacity = 0;  // 0 if the values are in a file, or there are none

    void release() {
      if (capacity > 0) {
        std::free(data);
      }
      *this = {};
    }

    /// Allocates room for `n` values, plus what the allocator's rounding would waste anyway.
    void grow(std::size_t n) {
      if (n == 0) {
        return;
      }
      const std::size_t n_bytes = std::max<std::size_t>(24, (n * sizeof(T) + 7) / 16 * 16 + 8);
      auto* const grown = static_cast<T*>(std::realloc(capacity > 0 ? data : nullptr, n_bytes));
      if (grown == nullptr) {
        throw std::bad_alloc();
      }
      if (capacity == 0) {
        std::copy_n(data, size, grown);
      }
      data = grown;
      capacity = static_cast<std::uint32_t>(n_bytes / sizeof(T));
    }
  };

  struct Chunk {
    std::array<Piece, kLists> pieces;
    std::shared_ptr<const void> owner;  // owner of the mapped file

    Chunk() = default;
    /// Values in a file stay there.
    Chunk(const Chunk& other) : Chunk() {
      owner = other.owner;
      for (std::size_t j = 0; j < kLists; ++j) {
        pieces[j] = {other.pieces[j].data, other.pieces[j].size, 0};
        if (other.pieces[j].capacity > 0) {
          pieces[j].grow(pieces[j].size);
        }
      }
    }
    Chunk(Chunk&& other) noexcept : pieces(std::exchange(other.pieces, {})), owner(std::move(other.owner)) {}
    Chunk& operator=(const Chunk&) = delete;
    Chunk& operator=(Chunk&&) = delete;
    ~Chunk() {
      for (Piece& piece : pieces) {
        piece.release();
      }
    }
  };

  Piece& own_piece(std::size_t i) {
    Piece& piece = chunks_[i / kLists].write().pieces[i % kLists];
    if (piece.capacity == 0) {
      piece.grow(piece.size);
    }
    return piece;
  }

  std::vector<Shared<Chunk>> chunks_;
  std::size_t size_ = 0;
  std::size_t n_values_ = 0;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace oplt {

/// A growing array of plain values, either owned or borrowed from memory with another owner, such as a mapped file.
///
/// Borrowed values are read-only: call own(), which copies them once, before changing the array. Owned values grow by
/// `realloc`, which remaps the pages of a large array instead of copying them, so that growth does not double peak
/// memory.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Buffer() = default;

  /// Borrows values that live as long as `owner`.
  Buffer(std::span<const T> values, std::shared_ptr<const void> owner)
      : data_(const_cast<T*>(values.data())), size_(values.size()), owner_(std::move(owner)) {}

  explicit Buffer(std::span<const T> values) { append(values); }

  /// A copy owns its values and has no spare capacity.
  Buffer(const Buffer& other) { append(other.view()); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (capacity_ > 0) {
      std::free(data_);
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<const T> view() const { return {data_, size_}; }

  /// The owner of borrowed values; null if the values are owned.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// Borrows values [begin, begin + n), as values of a type of the same size. Only for a buffer with borrowed values.
  template <class U = T>
  Buffer<U> part(std::size_t begin, std::size_t n) const {
    static_assert(sizeof(U) == sizeof(T) && alignof(U) <= alignof(T));
    return {{reinterpret_cast<const U*>(data_ + begin), n}, owner_};
  }

  /// Memory of owned values; borrowed memory is not counted.
  std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

  /// Memory of the values alone, whether they are owned or borrowed.
  std::size_t content_bytes() const { return size_ * sizeof(T); }

  /// Copies borrowed values. It must be called before any of the members below.
  void own() {
    if (owner_ != nullptr) {
      *this = Buffer(*this);
    }
  }
  bool is_own() const { return owner_ == nullptr; }

  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

  void push_back(const T& value) {
    const T copy = value;  // it may be an element of this array
    make_room(size_ + 1);
    data_[size_++] = copy;
  }

  void append(std::span<const T> values) {
    if (!values.empty()) {
      make_room(size_ + values.size());
      std::memcpy(data_ + size_, values.data(), values.size_bytes());
      size_ += values.size();
    }
  }

  void resize(std::size_t n, const T& value = T{}) {
    resize_uninitialized_from(n, [&](std::size_t from) { std::fill(data_ + from, data_ + n, value); });
  }
  /// New values are not initialized.
  void resize_uninitialized(std::size_t n) {
    resize_uninitialized_from(n, [](std::size_t) {});
  }
  void reserve(std::size_t n) {
    if (n > capacity_) {
      reallocate(n);
    }
  }
  void clear() { size_ = 0; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(owner_, other.owner_);
  }

  template <class Fill>
  void resize_uninitialized_from(std::size_t n, Fill fill) {
    make_room(n);
    const std::size_t before = std::exchange(size_, n);
    if (before < n) {
      fill(before);
    }
  }

  void make_room(std::size_t n) {
    if (n > capacity_) {
      reallocate(capacity_ == 0 ? n : std::max(n, capacity_ + capacity_ / 4 + 1));
    }
  }

  void reallocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) {
      throw std::bad_alloc();
    }
    auto* data = static_cast<T*>(std::realloc(data_, n * sizeof(T)));
    if (data == nullptr) {
      throw std::bad_alloc();
    }
    data_ = data;
    capacity_ = n;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;           // 0 if the values are borrowed
  std::shared_ptr<const void> owner_;  // of borrowed values
};

}  // namespace oplt

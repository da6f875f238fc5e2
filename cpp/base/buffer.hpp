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

/// A growing array of plain values, which are its own or lie in memory that others own, such as a mapped file.
///
/// What lies elsewhere is only read: whoever wants to change the array calls own() first, which copies it once. Its own
/// values grow by `realloc`, which remaps the pages of a large array instead of copying them, so that growing does not
/// double the peak of memory.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Buffer() = default;

  /// Values that live as long as `owner` does.
  Buffer(std::span<const T> values, std::shared_ptr<const void> owner)
      : data_(const_cast<T*>(values.data())), size_(values.size()), owner_(std::move(owner)) {}

  explicit Buffer(std::span<const T> values) { append(values); }

  /// A copy has values of its own, and no room for more.
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

  /// Of values that lie elsewhere; nobody, of its own.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// Values [begin, begin + n), as values of a type of the same size, where these lie. Not for a buffer of its own
  /// values.
  template <class U = T>
  Buffer<U> part(std::size_t begin, std::size_t n) const {
    static_assert(sizeof(U) == sizeof(T) && alignof(U) <= alignof(T));
    return {{reinterpret_cast<const U*>(data_ + begin), n}, owner_};
  }

  /// Of its own values; others' memory is not counted.
  std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

  /// Copies values that lie elsewhere. Everything below needs it to have been called.
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
    const T copy = value;  // it may lie in this array
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
  /// New values are whatever the memory holds.
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
  std::size_t capacity_ = 0;           // 0 if the values lie elsewhere
  std::shared_ptr<const void> owner_;  // of values that lie elsewhere
};

}  // namespace oplt

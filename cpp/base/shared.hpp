// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace oplt {

/// A part of a model that is shared until it is written: a handle on a T that others may hold, too.
///
/// Copying a handle copies a pointer. Reading is free. Whoever wants to write calls write(), which copies the T first
/// if somebody else holds it; all others keep what they had. Different handles may be used by different threads at
/// once; one handle by one writer, or by any number of readers.
template <class T>
class Shared {
 public:
  Shared() : part_(new Part{}) {}
  explicit Shared(T value) : part_(new Part{{1}, std::move(value)}) {}
  Shared(const Shared& other) noexcept : part_(other.part_) { part_->holders.fetch_add(1, std::memory_order_relaxed); }
  Shared(Shared&& other) noexcept : part_(std::exchange(other.part_, nullptr)) {}
  ~Shared() { release(); }

  Shared& operator=(const Shared& other) noexcept {
    Shared copy(other);
    std::swap(part_, copy.part_);
    return *this;
  }
  Shared& operator=(Shared&& other) noexcept {
    std::swap(part_, other.part_);
    return *this;
  }

  const T& operator*() const { return part_->value; }
  const T* operator->() const { return &part_->value; }

  /// Nobody else holds it. What others have read from it happened before.
  bool is_unshared() const { return part_->holders.load(std::memory_order_acquire) == 1; }

  /// The part, to be changed. The reference is valid until the handle is copied or destroyed.
  T& write() {
    if (!is_unshared()) [[unlikely]] {
      copy_part();  // apart, so that what is common is short enough to be inlined
    }
    return part_->value;
  }

 private:
  struct Part {
    std::atomic<std::uint32_t> holders{1};
    T value{};
  };

  void copy_part() {
    Shared copy{T(part_->value)};
    std::swap(part_, copy.part_);
  }

  void release() {
    if (part_ != nullptr && part_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete part_;
    }
  }

  Part* part_;  // null only after having been moved from
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace oplt {

/// A copy-on-write handle to a T, a part of a model that several holders may share.
///
/// Copying a handle copies a pointer. Reading costs nothing. To write, call write(), which first copies the T if there
/// are other holders; they keep the old T. Different handles may be used by different threads concurrently; a single
/// handle may be used by one writer or by any number of readers.
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

  /// Whether there is no other holder. If so, all reads by former holders happened before this call.
  bool is_unshared() const { return part_->holders.load(std::memory_order_acquire) == 1; }

  /// The part, for writing. The reference is valid until the handle is copied or destroyed.
  T& write() {
    if (!is_unshared()) [[unlikely]] {
      copy_part();  // a separate function, so that the common path is short enough to be inlined
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

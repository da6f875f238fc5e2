// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A forked child has the memory of its parent, but only the thread that forked. All other threads vanish in the middle
// of their work.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace oplt {

/// Number of forks between the first process and this one, so that a child has a different number from its parent.
std::uint64_t n_forks();

/// An object that other threads write to until it is destroyed. In a forked child it is leaked instead of destroyed: a
/// vector whose memory was being replaced cannot be freed, and a lock that was held can never be acquired.
template <class T>
class LeftInChild {
 public:
  template <class... Args>
  explicit LeftInChild(Args&&... args) : value_(std::forward<Args>(args)...) {}
  ~LeftInChild() {
    if (!is_in_child()) {
      std::destroy_at(&value_);
    }
  }
  LeftInChild(const LeftInChild&) = delete;
  LeftInChild& operator=(const LeftInChild&) = delete;

  /// Whether this process was forked after the object was created.
  bool is_in_child() const { return n_forks() != n_forks_; }

  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  const std::uint64_t n_forks_ = n_forks();
  union {  // prevents automatic destruction
    T value_;
  };
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// Examples that somebody gets ready, in order: a helper ahead of time, or whoever needs one that is not ready yet. Any
/// number of threads may ask for them.
class ExampleQueue {
 public:
  using MakeExample = std::function<Example(std::size_t)>;

  ExampleQueue(std::size_t n, MakeExample make) : examples_(n), make_(std::move(make)) {}

  const Example& get(std::size_t i) {
    if (n_ready_.load(std::memory_order_acquire) <= i) {
      const std::scoped_lock lock(mutex_);
      get_ready(i + 1);
    }
    if (failed_.load(std::memory_order_acquire)) {
      const std::scoped_lock lock(mutex_);
      std::rethrow_exception(failure_);
    }
    return examples_[i];
  }

  void get_all_ready() {
    for (std::size_t end = 0; end < examples_.size();) {
      end = std::min(end + kAtOnce, examples_.size());
      const std::scoped_lock lock(mutex_);
      get_ready(end);
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 16;

  /// To be called with the mutex. After a failure all count as ready, and get() tells of it.
  void get_ready(std::size_t end) {
    std::size_t n = n_ready_.load(std::memory_order_relaxed);
    try {
      for (; n < end; ++n) {
        examples_[n] = make_(n);
      }
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
      n = examples_.size();
    }
    n_ready_.store(n, std::memory_order_release);
  }

  std::vector<Example> examples_;
  MakeExample make_;
  std::mutex mutex_;  // of make_ and failure_
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
  std::atomic<std::size_t> n_ready_ = 0;  // each example is made once
};

}  // namespace oplt

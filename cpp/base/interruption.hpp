// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Cancellation of long multi-threaded work from outside, such as by Ctrl-C.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>

namespace oplt {

/// Checked by all workers of a parallel_for() to see whether they should continue.
class Interruption {
 public:
  /// Thrown by check() in the other workers once the calling thread has been interrupted.
  struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped because the calling thread was interrupted"; }
  };

  /// `poll`, which may be empty, is called only in the calling thread; an exception from it ends the work.
  explicit Interruption(std::function<void()> poll) : poll_(std::move(poll)) {}

  /// Throws if the work should end. Worker 0, the calling thread, polls; the other workers follow it.
  void check(std::size_t worker) {
    if (worker != 0) {
      if (stopped_.load(std::memory_order_relaxed)) {
        throw Stopped();
      }
    } else if (poll_) {
      try {
        poll_();
      } catch (...) {
        stopped_.store(true, std::memory_order_relaxed);
        throw;
      }
    }
  }

 private:
  std::function<void()> poll_;
  std::atomic<bool> stopped_ = false;
};

/// Calls `check`, if given, after a fixed amount of work: rarely enough to cost nothing, often enough that users do not
/// notice a delay.
class WorkMeter {
 public:
  /// Unit: feature values processed, at some ten nanoseconds each.
  static constexpr std::size_t kCheckEvery = std::size_t{1} << 20;

  explicit WorkMeter(std::function<void()> check = {}) : check_(std::move(check)) {}

  void add(std::size_t n_values) {
    n_values_ += n_values;
    if (n_values_ >= kCheckEvery) {
      n_values_ = 0;
      if (check_) {
        check_();
      }
    }
  }

 private:
  std::function<void()> check_;
  std::size_t n_values_ = 0;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace oplt {

/// Threads that help the one that made them, the owner: they run tasks, the longest waiting first.
///
/// Without helpers, and where no more threads are to be had, the owner runs the tasks itself, in finish(). Tasks may
/// start others. The first exception of a task is kept for finish(), and all other tasks run nevertheless.
class HelperPool {
 public:
  /// `worker` tells the threads apart: 0 is the owner, helpers are 1, 2, …, size().
  using Task = std::function<void(std::size_t worker)>;

  explicit HelperPool(std::size_t n_helpers);
  ~HelperPool();
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;

  std::size_t size() const { return threads_.size(); }

  void start(Task task) {
    start_many(1, [&](std::size_t) { return std::move(task); });
  }

  /// Starts make(0), make(1), …, make(n - 1).
  template <class Make>
  void start_many(std::size_t n, Make make) {
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t i = 0; i < n; ++i) {
        waiting_.push_back(make(i));
      }
    }
    changed_.notify_all();
  }

  /// Runs the task that waits longest, if there is one.
  bool run_one(std::size_t worker);

  /// Runs and awaits all tasks. Rethrows what one of them threw.
  void finish();

  /// Waits a while for the helpers alone; true if all tasks have been run.
  bool wait_for(std::chrono::milliseconds patience);

 private:
  void work(std::size_t worker);
  bool run_next(std::unique_lock<std::mutex>& lock, std::size_t worker);

  std::mutex mutex_;
  std::condition_variable changed_;   // a task waits, or the pool ends
  std::condition_variable finished_;  // no task waits or runs
  std::deque<Task> waiting_;
  std::size_t n_running_ = 0;
  std::size_t n_ready_ = 0;  // threads that can run tasks
  bool closed_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace oplt

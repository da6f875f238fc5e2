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

#include "base/forks.hpp"

namespace oplt {

/// A pool of threads that help the thread that created it, the owner. Tasks run in first-in, first-out order.
///
/// Without helpers, or if no threads can be created, the owner runs the tasks itself, in finish(). Tasks may start
/// other tasks. The first exception of a task is kept for finish(); all other tasks still run.
///
/// A child forked by the owner does not have the helpers. There, everything except the destructor throws ForkedCall,
/// unless the pool has no helpers.
class HelperPool {
 public:
  /// `worker` identifies the thread: 0 is the owner, helpers are 1, 2, …, size().
  using Task = std::function<void(std::size_t worker)>;

  explicit HelperPool(std::size_t n_helpers);
  ~HelperPool();
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;

  std::size_t size() const { return crew_->n_ready; }

  /// Throws ForkedCall in a child, which does not have the helpers.
  void expect_helpers() const;

  void start(Task task) {
    start_many(1, [&](std::size_t) { return std::move(task); });
  }

  /// Starts make(0), make(1), …, make(n - 1).
  template <class Make>
  void start_many(std::size_t n, Make make) {
    expect_helpers();
    {
      const std::scoped_lock lock(crew_->mutex);
      for (std::size_t i = 0; i < n; ++i) {
        crew_->waiting.push_back(make(i));
      }
    }
    crew_->changed.notify_all();
    crew_->finished.notify_all();
  }

  /// Runs the oldest waiting task, if there is one.
  bool run_one(std::size_t worker);

  /// Runs tasks, also those that running tasks start, until all have finished. Rethrows the first exception of a task.
  void finish();

  /// Waits for the helpers for a limited time; true if all tasks have finished.
  bool wait_for(std::chrono::milliseconds patience);

 private:
  struct Crew {
    bool is_finished() const { return n_running == 0 && waiting.empty(); }

    std::mutex mutex;
    std::condition_variable changed;   // a task is waiting, or the pool is being closed
    std::condition_variable finished;  // for the owner: no task is waiting or running, or it can run one itself
    std::deque<Task> waiting;
    std::size_t n_running = 0;
    std::size_t n_ready = 0;    // threads that run tasks; constant after the constructor
    std::size_t n_useless = 0;  // threads that ended because memory ran out
    bool closed = false;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
  };

  void work();
  bool run_next(std::unique_lock<std::mutex>& lock, std::size_t worker);

  LeftInChild<Crew> crew_;
};

}  // namespace oplt

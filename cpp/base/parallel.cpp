// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace oplt {

namespace {

/// Hands out the numbers [0, n) and notes the first failure, after which there are none left.
class Handout {
 public:
  explicit Handout(std::size_t n) : n_(n) {}

  template <class Work>
  void run(Work work) {
    for (std::size_t i = next_.fetch_add(1); i < n_; i = next_.fetch_add(1)) {
      attempt([&] { work(i); });
    }
  }

  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const Interruption::Stopped&) {
      next_.store(n_);  // the calling thread knows why
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      failure_ = failure_ ? failure_ : std::current_exception();
      next_.store(n_);
    }
  }

  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  const std::size_t n_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Threads that each call run(worker) once, for worker 1, 2, …
class Helpers {
 public:
  Helpers(std::size_t n, const std::function<void(std::size_t worker)>& run) {
    threads_.reserve(n);  // so that what fails below is the start of a thread
    for (std::size_t worker = 1; worker <= n; ++worker) {
      try {
        threads_.emplace_back([this, run, worker] {
          run(worker);
          const std::scoped_lock lock(mutex_);
          ++n_finished_;
          finished_.notify_one();
        });
      } catch (const std::exception&) {
        break;  // no more threads to be had: the ones there are do all the work
      }
    }
  }

  ~Helpers() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  /// Waits a while; true if all have finished.
  bool finish(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return finished_.wait_for(lock, patience, [&] { return n_finished_ == threads_.size(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t n_finished_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

void parallel_for(std::size_t n, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t worker)>& work, Interruption* interruption) {
  constexpr std::chrono::milliseconds kPatience(50);
  Handout handout(n);
  const auto run = [&](std::size_t worker) { handout.run([&](std::size_t i) { work(i, worker); }); };
  {
    Helpers helpers(std::max<std::size_t>(std::min(threads, n), 1) - 1, run);
    run(0);
    while (interruption != nullptr && !helpers.finish(kPatience)) {
      handout.attempt([&] { interruption->check(0); });
    }
  }
  handout.rethrow();
}

}  // namespace oplt

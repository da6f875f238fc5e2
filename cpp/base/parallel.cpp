// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>

#include "base/error.hpp"
#include "base/helper_pool.hpp"

namespace oplt {

namespace {

/// Hands out the numbers [0, n). Keeps the first exception, after which no more numbers are handed out.
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
      next_.store(n_);  // the calling thread has the exception that caused it
    } catch (...) {
      if (!failed_.exchange(true)) {  // not a mutex, which would stay locked in a child if the process forks meanwhile
        failure_ = std::current_exception();
      }
      next_.store(n_);
    }
  }

  /// To be called when all workers have finished.
  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  const std::size_t n_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::size_t n, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t worker)>& work, Interruption* interruption) {
  constexpr std::chrono::milliseconds kPatience(50);
  Handout handout(n);
  HelperPool helpers(std::max<std::size_t>(std::min(threads, n), 1) - 1);
  const auto run = [&](std::size_t worker) {
    handout.run([&](std::size_t i) {
      work(i, worker);
      helpers.expect_helpers();  // the work may call Python, where a signal handler may fork
    });
  };
  for (std::size_t i = 0; i < helpers.size(); ++i) {
    helpers.start(run);
  }
  run(0);
  try {
    while (interruption != nullptr && !helpers.wait_for(kPatience)) {
      handout.attempt([&] { interruption->check(0); });
    }
    helpers.finish();
  } catch (const ForkedCall&) {
    handout.rethrow();  // an exception thrown in the child takes precedence
    throw;
  }
  handout.rethrow();
}

}  // namespace oplt

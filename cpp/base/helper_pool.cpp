// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/helper_pool.hpp"

#include <utility>

namespace oplt {

HelperPool::HelperPool(std::size_t n_helpers) {
  threads_.reserve(n_helpers);  // so that what fails below is the start of a thread
  for (std::size_t worker = 1; worker <= n_helpers; ++worker) {
    try {
      threads_.emplace_back([this, worker] { work(worker); });
    } catch (const std::exception&) {
      break;  // no more threads to be had: the ones there are do all the work
    }
  }
  // A thread's first exception needs memory of its own, without which the process is aborted. So that memory is taken
  // now, while nobody else of us allocates any.
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return n_ready_ == threads_.size(); });
}

HelperPool::~HelperPool() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    waiting_.clear();  // not empty only after a failure
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

bool HelperPool::run_one(std::size_t worker) {
  std::unique_lock lock(mutex_);
  return run_next(lock, worker);
}

bool HelperPool::run_next(std::unique_lock<std::mutex>& lock, std::size_t worker) {
  if (waiting_.empty()) {
    return false;
  }
  const Task task = std::move(waiting_.front());
  waiting_.pop_front();
  ++n_running_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    task(worker);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  failure_ = failure_ ? failure_ : failure;
  if (--n_running_ == 0 && waiting_.empty()) {
    finished_.notify_all();
  }
  return true;
}

void HelperPool::finish() {
  std::unique_lock lock(mutex_);
  while (run_next(lock, 0)) {
  }
  finished_.wait(lock, [&] { return n_running_ == 0 && waiting_.empty(); });
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

bool HelperPool::wait_for(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return finished_.wait_for(lock, patience, [&] { return n_running_ == 0 && waiting_.empty(); });
}

void HelperPool::work(std::size_t worker) {
  static_cast<void>(std::uncaught_exceptions());
  std::unique_lock lock(mutex_);
  ++n_ready_;
  finished_.notify_all();
  while (!closed_) {
    if (!run_next(lock, worker)) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    }
  }
}

}  // namespace oplt

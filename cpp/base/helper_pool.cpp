// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/helper_pool.hpp"

#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace oplt {

namespace {

/// A thread's first exception allocates memory, and the process is aborted if that fails. So that memory is allocated
/// when the thread starts, after a trial allocation; false if the trial fails.
bool is_ready_to_throw() {
  constexpr std::size_t kFarMore = 65'536;
  void* volatile trial = std::malloc(kFarMore);  // volatile, or the compiler would optimise it away
  std::free(trial);
  return trial != nullptr && std::uncaught_exceptions() == 0;
}

}  // namespace

HelperPool::HelperPool(std::size_t n_helpers) {
  static_cast<void>(std::uncaught_exceptions());
  crew_->threads.reserve(n_helpers);    // so that only starting a thread can fail below
  std::unique_lock lock(crew_->mutex);  // helpers wait for it, so they do not allocate while threads are started
  for (std::size_t i = 0; i < n_helpers; ++i) {
    try {
      crew_->threads.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      break;  // no more threads can be created: the existing ones do all the work
    }
  }
  crew_->finished.wait(lock, [&] { return crew_->n_ready + crew_->n_useless == crew_->threads.size(); });
}

HelperPool::~HelperPool() {
  if (crew_.is_in_child()) {
    return;
  }
  {
    const std::scoped_lock lock(crew_->mutex);
    crew_->closed = true;
    crew_->waiting.clear();  // not empty only after a failure
  }
  crew_->changed.notify_all();
  for (std::thread& thread : crew_->threads) {
    thread.join();
  }
}

void HelperPool::expect_helpers() const {
  if (crew_.is_in_child() && size() > 0) {
    throw ForkedCall(
        "the process was forked during this call, and its helper threads do not exist in the child process; repeat the "
        "call");
  }
}

bool HelperPool::run_one(std::size_t worker) {
  expect_helpers();
  std::unique_lock lock(crew_->mutex);
  return run_next(lock, worker);
}

bool HelperPool::run_next(std::unique_lock<std::mutex>& lock, std::size_t worker) {
  if (crew_->waiting.empty()) {
    return false;
  }
  const Task task = std::move(crew_->waiting.front());
  crew_->waiting.pop_front();
  ++crew_->n_running;
  lock.unlock();
  std::exception_ptr failure;
  try {
    task(worker);
  } catch (...) {
    failure = std::current_exception();
  }
  expect_helpers();  // the task may have forked: then a helper that does not exist here may hold the lock
  lock.lock();
  crew_->failure = crew_->failure ? crew_->failure : failure;
  if (--crew_->n_running == 0 && crew_->waiting.empty()) {
    crew_->finished.notify_all();
  }
  return true;
}

void HelperPool::finish() {
  expect_helpers();
  std::unique_lock lock(crew_->mutex);
  while (!crew_->is_finished()) {
    if (!run_next(lock, 0)) {
      crew_->finished.wait(lock, [&] { return crew_->is_finished() || !crew_->waiting.empty(); });
    }
  }
  if (crew_->failure) {
    std::rethrow_exception(std::exchange(crew_->failure, nullptr));
  }
}

bool HelperPool::wait_for(std::chrono::milliseconds patience) {
  expect_helpers();
  std::unique_lock lock(crew_->mutex);
  return crew_->finished.wait_for(lock, patience, [&] { return crew_->is_finished(); });
}

void HelperPool::work() {
  std::unique_lock lock(crew_->mutex);
  const bool is_ready = is_ready_to_throw();
  const std::size_t worker = is_ready ? ++crew_->n_ready : 0;
  crew_->n_useless += is_ready ? 0 : 1;
  crew_->finished.notify_all();
  while (is_ready && !crew_->closed) {
    if (!run_next(lock, worker)) {
      crew_->changed.wait(lock, [&] { return crew_->closed || !crew_->waiting.empty(); });
    }
  }
}

}  // namespace oplt

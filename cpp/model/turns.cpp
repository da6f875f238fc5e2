// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/turns.hpp"

#include <utility>

#include "base/error.hpp"

namespace oplt {

Turns::Published Turns::enter_reading() {
  std::unique_lock lock(mutex_);
  if (std::this_thread::get_id() != writer_) {
    last_read_ = Clock::now();
  }
  if (!published_ && !may_read()) {
    ++n_readers_waiting_;
    readers_.wait(lock, [&] { return published_ || may_read(); });
    --n_readers_waiting_;
  }
  if (published_) {  // even while its writer pauses: a thread that has read the live state must not see an older one
    return published_;
  }
  n_admitted_ -= n_admitted_ > 0 ? 1 : 0;
  ++n_reading_;
  return nullptr;
}

void Turns::leave_reading() {
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    --n_reading_;
    wake = n_writers_waiting_ > 0 && may_write();
  }
  if (wake) {
    writers_.notify_all();
  }
}

void Turns::enter_writing() {
  std::unique_lock lock(mutex_);
  if (is_held_here()) {
    return;
  }
  const std::uint64_t mine = n_writers_come_++;
  ++n_writers_waiting_;
  writers_.wait(lock, [&] { return may_write() && n_writers_gone_ == mine; });
  --n_writers_waiting_;
  is_writing_ = true;
  writer_ = std::this_thread::get_id();
}

void Turns::leave_writing() {
  Published former;
  {
    const std::scoped_lock lock(mutex_);
    former = std::exchange(published_, nullptr);
  }
  pause_writing();
  retire(std::move(former));
}

void Turns::pause_writing() {
  {
    const std::scoped_lock lock(mutex_);
    if (is_held_here()) {
      return;
    }
    is_writing_ = false;
    ++n_writers_gone_;
    n_admitted_ = published_ ? 0 : n_readers_waiting_;  // if a copy is published, waiting readers get that instead
  }
  readers_.notify_all();
  writers_.notify_all();
}

void Turns::publish(Published state) {
  {
    const std::scoped_lock lock(mutex_);
    std::swap(published_, state);
    published_at_ = Clock::now();
  }
  readers_.notify_all();
  retire(std::move(state));
}

/// Waits for the readers of the copy, which are short. If one takes longer, because it gets no CPU time, the copy is
/// left for that reader to free.
void Turns::retire(Published former) {
  constexpr std::chrono::milliseconds kPatience(100);
  const Clock::time_point begin = Clock::now();
  while (former.use_count() > 1 && Clock::now() - begin < kPatience) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

bool Turns::is_read_waiting() const {
  const std::scoped_lock lock(mutex_);
  return n_readers_waiting_ > 0;
}

bool Turns::is_read_lately() const {
  const std::scoped_lock lock(mutex_);
  return n_readers_waiting_ > 0 || (last_read_ != Clock::time_point{} && Clock::now() - last_read_ < kLately);
}

bool Turns::is_renewal_due() const {
  const std::scoped_lock lock(mutex_);
  return published_ && Clock::now() - published_at_ > kLately && last_read_ > published_at_;
}

bool Turns::is_writer_waiting() const {
  const std::scoped_lock lock(mutex_);
  return n_writers_waiting_ > 0;
}

bool Turns::enter_rebuilding(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (is_rebuilding() && (rebuilder_ == std::this_thread::get_id() || is_held_here())) {
    throw InvalidInput(
        "regrow() or forget() was called by a signal handler or a fork hook while the model is being rebuilt: call it "
        "when that call has returned");
  }
  if (!rebuilders_.wait_for(lock, patience, [&] { return !is_rebuilding(); })) {
    return false;
  }
  rebuilder_ = std::this_thread::get_id();
  return true;
}

void Turns::leave_rebuilding() {
  {
    const std::scoped_lock lock(mutex_);
    rebuilder_ = {};
  }
  rebuilders_.notify_one();
}

void Turns::hold() {
  enter_writing();
  const std::scoped_lock lock(mutex_);
  ++n_holds_;
}

void Turns::release() {
  {
    const std::scoped_lock lock(mutex_);
    if (!is_held_here()) {
      return;
    }
    --n_holds_;
  }
  pause_writing();
}

void Turns::release_in_child() {
  std::construct_at(&mutex_);
  std::construct_at(&readers_);
  std::construct_at(&writers_);
  std::construct_at(&rebuilders_);
  n_readers_waiting_ = 0;
  n_writers_waiting_ = 0;
  n_writers_come_ = n_writers_gone_ + 1;  // only this thread is left
  n_admitted_ = 0;
  n_reading_ = 0;
  if (rebuilder_ != std::this_thread::get_id()) {
    rebuilder_ = {};
  }
  published_ = nullptr;  // its writer does not exist here, or is this thread, which has paused
  release();
}

}  // namespace oplt

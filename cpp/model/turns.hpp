// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "model/model_state.hpp"

namespace oplt {

/// A reader-writer lock for the live state of a model: one writer, or any number of readers. Readers are short: they
/// make one prediction, or copy the state, which shares all parts.
///
/// Turns alternate: when a writer ends, the waiting readers go first, then the next writer, in order of arrival. A long
/// writer *publishes* a copy of the state; while there is one, readers do not wait for the writer. A published copy
/// includes at least all calls that had returned when it was taken, and it is withdrawn when another call returns. So a
/// reader sees the updates of every call that returned before it arrived. While a copy is published, all readers get
/// it, even when the writer pauses, so that nobody sees an older state after a newer one.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;
  using Published = std::shared_ptr<const ModelState>;

  /// Returns the published copy, if there is one. Otherwise waits for a reader's turn and returns null; leave_reading()
  /// must then end the turn.
  Published enter_reading();
  void leave_reading();

  void enter_writing();
  void leave_writing();

  /// Lets others have a turn before the writer has finished. Its published copy stays.
  void pause_writing();
  void resume_writing() { enter_writing(); }

  // For the writer, during its turn:

  void publish(Published state);
  /// Whether a reader is waiting for a published copy.
  bool is_read_waiting() const;
  /// Whether another thread has read in the last second, or is waiting to. Reads of the writer's own thread do not
  /// count: a thread that alternates between predicting and learning would pay for copies that nobody reads.
  bool is_read_lately() const;
  /// Whether the published copy is a second old and has been read.
  bool is_renewal_due() const;
  bool is_writer_waiting() const;

  /// Waits for the turn to rebuild the model. One thread at a time has it, for many of its writer's turns; take it
  /// before the first of them. Returns false if it has not come within `patience`. Throws InvalidInput instead of
  /// waiting forever: if this thread has the turn already, or holds the lock, for which the rebuilding thread waits.
  bool enter_rebuilding(std::chrono::milliseconds patience);
  void leave_rebuilding();

  /// Takes the writer's turn for the duration of a fork. Until release(), the same thread may still read, write and
  /// hold again, because Python may run signal handlers in it.
  void hold();
  /// Does nothing if this thread does not hold the lock.
  void release();
  /// The same in the child process, where no other thread exists any more: resets all that they held or waited for.
  void release_in_child();

 private:
  static constexpr std::chrono::seconds kLately{1};

  /// Frees a formerly published copy in the writer rather than in a reader: it may hold the last reference to large
  /// parts of the model.
  static void retire(Published former);

  bool may_write() const { return !is_writing_ && n_reading_ == 0 && n_admitted_ == 0; }
  bool may_read() const { return is_held_here() || (!is_writing_ && (n_writers_waiting_ == 0 || n_admitted_ > 0)); }
  bool is_held_here() const { return n_holds_ > 0 && writer_ == std::this_thread::get_id(); }
  bool is_rebuilding() const { return rebuilder_ != std::thread::id(); }

  mutable std::mutex mutex_;  // held for a few instructions only
  std::condition_variable readers_;
  std::condition_variable writers_;
  std::condition_variable rebuilders_;
  bool is_writing_ = false;
  std::size_t n_holds_ = 0;  // nested calls of hold() by the writer
  std::size_t n_reading_ = 0;
  std::size_t n_readers_waiting_ = 0;
  std::size_t n_writers_waiting_ = 0;
  std::size_t n_admitted_ = 0;  // readers that go before the next writer
  std::thread::id writer_;      // the current or last writer
  std::thread::id rebuilder_;   // the thread that rebuilds the model, if any
  std::uint64_t n_writers_come_ = 0;
  std::uint64_t n_writers_gone_ = 0;  // also the arrival number of the next writer
  Clock::time_point last_read_{};     // by a thread other than the last writer
  Clock::time_point published_at_{};
  Published published_;
};

}  // namespace oplt

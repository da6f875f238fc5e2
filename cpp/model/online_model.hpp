// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "encode/encoder.hpp"
#include "encode/named_rows.hpp"
#include "model/learner.hpp"
#include "model/model_state.hpp"
#include "model/turns.hpp"

namespace oplt {

/// A model that learns while it is read: a learner, and what it has learnt.
///
/// Any number of threads may use it at once. One at a time learns. Who reads waits for a few examples to be learnt at
/// most; only the first one to read during a long learn(), after a second in which nobody has, waits for the end of the
/// batch, and of the next one if that is being encoded already. Who has learnt something sees it in all that it asks
/// afterwards. A snapshot holds no lock and never changes.
class OnlineModel {
 public:
  /// `state`: what Learner::start() gave, or what was loaded.
  OnlineModel(const ModelParams& params, ModelState state);

  /// See Learner::learn(). Calls `poll`, if given, in the calling thread every now and then, while others may use the
  /// model; what it throws ends the learning, with the examples that were learnt until then.
  void learn(const Inputs& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads,
             const std::function<void()>& poll = {});

  /// It never changes.
  bool takes_texts() const { return takes_texts_; }

  /// Calls read(state), which must be short, and returns what it returns.
  template <class Read>
  auto read(Read read) const {
    const Reading reading(*this);
    return read(reading.state());
  }

  /// What has been learnt so far.
  ModelState snapshot() const {
    return read([](const ModelState& state) { return state; });
  }

  /// Waits until nobody learns, and lets no other thread begin: before a fork. Then one of the other two, in either
  /// process.
  void hold() { turns_.hold(); }
  void release() { turns_.release(); }
  void release_in_child() { turns_.release_in_child(); }

 private:
  class Break;

  class Reading {
   public:
    explicit Reading(const OnlineModel& model) : model_(model), published_(model.turns_.enter_reading()) {}
    ~Reading() {
      if (!published_) {
        model_.turns_.leave_reading();
      }
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    /// Throws BrokenModel if there is none.
    const ModelState& state() const;

   private:
    const OnlineModel& model_;
    Turns::Published published_;
  };

  void expect_whole() const;

  mutable Turns turns_;
  ModelState state_;
  Learner learner_;
  bool takes_texts_;
  bool broken_ = false;  // learning has failed half-way
};

}  // namespace oplt

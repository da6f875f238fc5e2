// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/named_rows.hpp"
#include "model/learner.hpp"
#include "model/model_state.hpp"
#include "model/turns.hpp"

namespace oplt {

/// A model that can be read while it is trained: a learner, and its state.
///
/// Any number of threads may use it concurrently; one at a time trains. A reader waits for a few examples at most, with
/// one exception: the first reader during a long learn(), after a second without readers, waits for the end of the
/// current batch, and of the next one if that is already being encoded. A thread sees its own updates in all later
/// reads. A snapshot holds no lock and never changes.
class OnlineModel {
 public:
  /// `state` comes from Learner::start() or was loaded.
  OnlineModel(const ModelParams& params, ModelState state);

  /// See Learner::learn(). Calls `poll`, if given, regularly in the calling thread, while other threads may use the
  /// model. An exception from `poll` ends the training; all examples before it have been learnt.
  void learn(const Inputs& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads,
             const std::function<void()>& poll = {});

  /// Closes the model (ModelState::closed_at), whatever its size. For tests.
  void close();

  /// See Learner::can_cut() and cut(). Readers must not use the model until set_subtrees() has been called.
  bool can_cut() const;
  std::vector<Plt> cut();
  void set_subtrees(std::shared_ptr<Subtrees> subtrees);

  /// Regrows the trees from the history (Regrowth). Until it returns, readers see the model as it was, and others may
  /// train it; calls of regrow() and forget() wait for each other. Calls `poll`, if given, regularly; an exception from
  /// it leaves the model unchanged. Throws InvalidInput if the history does not have all examples.
  void regrow(std::size_t threads, const std::function<void()>& poll = {});

  /// Performs operations on labels: all of them, or none if one is impossible. See Learner::change_labels(). Returns
  /// the number of those that have had an effect.
  std::size_t change_labels(std::span<const LabelOperation> operations);

  /// Forgets the examples with these numbers, counted from 0, ascending: the model is then bit for bit the one that
  /// never learnt them. Throws InvalidInput if the numbers mean other examples by now, because n_forgettings() is not
  /// `n_forgettings` any more. Otherwise as regrow().
  void forget(std::span<const std::uint64_t> numbers, std::size_t n_forgettings, std::size_t threads,
              const std::function<void()>& poll = {});

  /// How many times examples have been forgotten, and so got other numbers.
  std::size_t n_forgettings() const { return n_forgettings_; }

  /// Needs no lock, because it never changes.
  bool takes_texts() const { return takes_texts_; }

  /// Calls read(state), which must be short, and returns its result.
  template <class Read>
  auto read(Read read) const {
    const Reading reading(*this);
    return read(reading.state());
  }

  /// A copy of the current state.
  ModelState snapshot() const {
    return read([](const ModelState& state) { return state; });
  }

  /// Includes a regrowth in progress. The working memory of a call, such as regrow(), is not counted.
  MemoryUse memory_use() const;

  /// hold() is called before a fork: it waits until no thread is training, and blocks others from starting. After the
  /// fork, call release() in the parent and release_in_child() in the child.
  void hold() { turns_.hold(); }
  void release() { turns_.release(); }
  void release_in_child() { turns_.release_in_child(); }

 private:
  class Break;
  class Turn;
  class Pause;
  class RebuilderTurn;
  class Rebuilding;

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

    /// Throws BrokenModel if a failed training has left no usable state.
    const ModelState& state() const;
    /// Whether it is the live state, so that nobody trains the model meanwhile; otherwise it is a published copy.
    bool is_live() const { return !published_; }

   private:
    const OnlineModel& model_;
    Turns::Published published_;
  };

  /// Publishes a copy of the state, in the writer's turn.
  void publish();
  void expect_whole() const;
  /// Throw InvalidInput unless the history has all examples, and all that is needed to learn them again.
  void expect_history() const;
  void expect_relearnable() const;

  ModelParams params_;
  mutable Turns turns_;
  ModelState state_;
  Learner learner_;
  bool takes_texts_;
  bool broken_ = false;  // training failed part-way
  std::atomic<std::size_t> n_forgettings_ = 0;
  std::atomic<std::size_t> published_regrowth_ = 0;  // bytes of the regrowth when a copy was published
  Turns::Clock::time_point regrowth_counted_at_{};
};

}  // namespace oplt

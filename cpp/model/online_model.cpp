// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/online_model.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace oplt {

namespace {

// A call with at most this many examples does not publish a copy first: learning them takes less time than copying the
// parts that they change.
constexpr std::size_t kShort = 256;
constexpr std::chrono::milliseconds kPollEvery(100);
constexpr std::chrono::seconds kCountEvery(1);       // the memory of a regrowth, since that visits all its blocks
constexpr std::chrono::milliseconds kPauseEvery(1);  // if others wait to train a model that is being rebuilt

}  // namespace

/// Lets others have a turn. Takes it back even after an exception, because the caller then ends the turn.
class OnlineModel::Pause {
 public:
  explicit Pause(Turns& turns) : turns_(turns) { turns_.pause_writing(); }
  ~Pause() { turns_.resume_writing(); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  Turns& turns_;
};

/// Between two batches, publishes a newer state for readers, lets other writers have a turn, and polls the caller for
/// an interruption.
class OnlineModel::Break : public BatchBreak {
 public:
  Break(OnlineModel& model, const std::function<void()>& poll) : model_(model), poll_(poll) {}

  bool is_due() override {
    const Turns& turns = model_.turns_;
    is_poll_due_ = is_poll_due_ || (poll_ && Turns::Clock::now() - last_poll_ > kPollEvery);
    return is_poll_due_ || turns.is_read_waiting() || turns.is_renewal_due() || turns.is_writer_waiting();
  }

  void take(const HelperPool& helpers) override {
    Turns& turns = model_.turns_;
    model_.broken_ = false;  // a failure during the break does not affect the model
    if (turns.is_read_waiting() || turns.is_renewal_due()) {
      model_.publish();
    }
    if (is_poll_due_ || turns.is_writer_waiting()) {
      pause();
      helpers.expect_helpers();
      model_.expect_whole();
    }
    model_.broken_ = true;
  }

 private:
  void pause() {
    const Pause pause(model_.turns_);
    if (is_poll_due_) {
      poll_();
      is_poll_due_ = false;
      last_poll_ = Turns::Clock::now();
    }
  }

  OnlineModel& model_;
  const std::function<void()>& poll_;
  bool is_poll_due_ = false;
  Turns::Clock::time_point last_poll_ = Turns::Clock::now();
};

/// Takes the writer's turn.
class OnlineModel::Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) { turns_.enter_writing(); }
  ~Turn() { turns_.leave_writing(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

/// Takes the turn to rebuild the model. Polls while it waits.
class OnlineModel::RebuilderTurn {
 public:
  RebuilderTurn(Turns& turns, const std::function<void()>& poll) : turns_(turns) {
    while (!turns_.enter_rebuilding(kPollEvery)) {
      if (poll) {
        poll();
      }
    }
  }
  ~RebuilderTurn() { turns_.leave_rebuilding(); }
  RebuilderTurn(const RebuilderTurn&) = delete;
  RebuilderTurn& operator=(const RebuilderTurn&) = delete;

 private:
  Turns& turns_;
};

/// A turn in which the model is rebuilt from its history, while readers see it as it was. During its breaks, others may
/// train the model, but not rebuild it.
class OnlineModel::Rebuilding : public BatchBreak {
 public:
  Rebuilding(OnlineModel& model, const std::function<void()>& poll)
      : model_(model), rebuilder_turn_(model.turns_, poll), turn_(model.turns_), poll_(poll) {
    model_.expect_whole();
    model_.expect_history();
    model_.publish();
  }

  bool is_due() override {
    const auto since = Turns::Clock::now() - last_;
    return since > kPollEvery || (since > kPauseEvery && model_.turns_.is_writer_waiting());
  }

  void take(const HelperPool& helpers) override {
    {
      const Pause pause(model_.turns_);
      if (poll_) {
        poll_();
      }
    }
    helpers.expect_helpers();
    model_.expect_whole();
    model_.expect_history();
    model_.publish();
    last_ = Turns::Clock::now();
  }

 private:
  OnlineModel& model_;
  RebuilderTurn rebuilder_turn_;
  Turn turn_;
  const std::function<void()>& poll_;
  Turns::Clock::time_point last_ = Turns::Clock::now();
};

OnlineModel::OnlineModel(const ModelParams& params, ModelState state)
    : params_(params), state_(std::move(state)), learner_(params), takes_texts_(state_.encoder->takes_texts()) {
  learner_.expect_learnable(state_);
  learner_.prepare(state_);
}

void OnlineModel::learn(const Inputs& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads,
                        const std::function<void()>& poll) {
  const Turn turn(turns_);
  expect_whole();
  if (x.size() > kShort && turns_.is_read_lately()) {
    publish();
  }
  Break between(*this, poll);
  broken_ = true;  // unless learn() returns normally
  learner_.learn(state_, x, y, weights, threads, between);
  broken_ = false;
}

std::size_t OnlineModel::change_labels(std::span<const LabelOperation> operations) {
  const Turn turn(turns_);
  expect_whole();
  if (operations.size() > 1) {  // a single one has no effect if it fails
    LabelBook trial(*state_.labels);
    for (const LabelOperation& operation : operations) {
      learner_.expect_performable(trial, operation, state_.closed_at.has_value());
      trial.apply(operation);
    }
  }
  std::size_t n_effective = 0;
  try {
    for (const LabelOperation& operation : operations) {
      n_effective += learner_.change_labels(state_, operation) ? 1 : 0;
    }
    return n_effective;
  } catch (const InvalidInput&) {
    throw;
  } catch (...) {
    broken_ = true;
    throw;
  }
}

bool OnlineModel::can_cut() const {
  return read([this](const ModelState& state) { return learner_.can_cut(state); });
}

std::vector<Plt> OnlineModel::cut() {
  const Turn turn(turns_);
  expect_whole();
  if (!learner_.can_cut(state_)) {
    throw InvalidInput("the tree of the model cannot be cut yet");
  }
  return learner_.cut(state_);
}

void OnlineModel::set_subtrees(std::shared_ptr<Subtrees> subtrees) {
  const Turn turn(turns_);
  state_.forest.trees.front().set_subtrees(std::move(subtrees));
}

void OnlineModel::close() {
  const Turn turn(turns_);
  expect_whole();
  if (!state_.closed_at) {
    state_.close();
  }
}

void OnlineModel::regrow(std::size_t threads, const std::function<void()>& poll) {
  Rebuilding rebuilding(*this, poll);
  learner_.regrow(state_, threads, rebuilding);
}

void OnlineModel::forget(std::span<const std::uint64_t> numbers, std::size_t n_forgettings, std::size_t threads,
                         const std::function<void()>& poll) {
  Rebuilding rebuilding(*this, poll);
  expect_relearnable();
  if (!numbers.empty() && n_forgettings != n_forgettings_) {
    throw InvalidInput(
        "the numbers of the examples have changed, because another call of forget() has just ended: look them up "
        "again");
  }
  Learner learner(params_);
  const TextFeatures* text = state_.encoder->text_features();
  ModelState state = learner.start(text != nullptr ? Encoder(TextFeatures(text->params())) : Encoder());
  for (Learner::Relearnt relearnt; !relearnt.is_all_of(state_);) {  // others may add examples meanwhile
    learner.relearn(state, ModelState(state_), relearnt, numbers, threads, rebuilding);
    expect_relearnable();
  }
  n_forgettings_ += numbers.empty() ? 0 : 1;
  state_ = std::move(state);
  learner_ = std::move(learner);
}

MemoryUse OnlineModel::memory_use() const {
  const Reading reading(*this);
  MemoryUse use = reading.state().memory_use();
  use.regrowth = reading.is_live() ? learner_.memory_of_regrowth() : published_regrowth_.load();
  return use;
}

void OnlineModel::publish() {
  const Turns::Clock::time_point now = Turns::Clock::now();
  if (now - regrowth_counted_at_ > kCountEvery) {
    published_regrowth_ = learner_.memory_of_regrowth();
    regrowth_counted_at_ = now;
  }
  turns_.publish(std::make_shared<const ModelState>(state_));
}

const ModelState& OnlineModel::Reading::state() const {
  if (published_) {
    return *published_;
  }
  model_.expect_whole();
  return model_.state_;
}

void OnlineModel::expect_whole() const {
  if (broken_) {
    throw BrokenModel("an earlier failure during training left the model partly updated: reload it from a file");
  }
}

void OnlineModel::expect_history() const {
  if (params_.forest.history == 0 || state_.history->size() != state_.n_examples()) {
    throw InvalidInput("the model has no history of its examples");
  }
}

void OnlineModel::expect_relearnable() const {
  const TextFeatures* text = state_.encoder->text_features();
  if (text == nullptr) {
    return;
  }
  if (!text->terms().is_complete()) {
    const std::string limit = std::to_string(text->params().max_features);
    throw TextsNotForgettable(
        "forget needs all terms of the texts, but some have been dropped because of max_features=" + limit,
        "Train a new model without these examples, and without max_features if it is to forget further ones; "
        "hash_bits limits memory, too.");
  }
  const std::uint64_t n_texts = text->terms().n_texts();
  const std::uint64_t n_own = state_.n_examples() + state_.labels->log().n_texts();
  if (n_texts != n_own) {
    throw TextsNotForgettable(
        "forget needs text features that were trained on the texts of this model only, but the model has " +
            std::to_string(n_own) + " texts and its text features have learned " + std::to_string(n_texts),
        "Train a new model without these examples, from untrained TextFeatures if it is to forget further ones.");
  }
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/online_model.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "base/error.hpp"

namespace oplt {

namespace {

// A call with at most this many examples does not publish a copy first: learning them takes less time than copying the
// parts that they change.
constexpr std::size_t kShort = 256;
constexpr std::chrono::milliseconds kPollEvery(100);
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
      turns.publish(std::make_shared<const ModelState>(model_.state_));
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

/// A turn in which the model is rebuilt from its history, while readers see it as it was. During its breaks, others may
/// train the model, but not rebuild it.
class OnlineModel::Rebuilding : public BatchBreak {
 public:
  Rebuilding(OnlineModel& model, const std::function<void()>& poll) : model_(model), turn_(model.turns_), poll_(poll) {
    model_.expect_whole();
    if (model_.is_rebuilding_) {
      throw InvalidInput("the model is being rebuilt from its history by another call");
    }
    model_.expect_history();
    publish();
    model_.is_rebuilding_ = true;
  }
  ~Rebuilding() override { model_.is_rebuilding_ = false; }

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
    publish();
    last_ = Turns::Clock::now();
  }

 private:
  void publish() { model_.turns_.publish(std::make_shared<const ModelState>(model_.state_)); }

  OnlineModel& model_;
  Turn turn_;
  const std::function<void()>& poll_;
  Turns::Clock::time_point last_ = Turns::Clock::now();
};

OnlineModel::OnlineModel(const ModelParams& params, ModelState state)
    : params_(params), state_(std::move(state)), learner_(params), takes_texts_(state_.encoder->takes_texts()) {
  learner_.expect_learnable(state_);
}

void OnlineModel::learn(const Inputs& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads,
                        const std::function<void()>& poll) {
  const Turn turn(turns_);
  expect_whole();
  if (x.size() > kShort && turns_.is_read_lately()) {
    turns_.publish(std::make_shared<const ModelState>(state_));
  }
  Break between(*this, poll);
  broken_ = true;  // unless learn() returns normally
  learner_.learn(state_, x, y, weights, threads, between);
  broken_ = false;
}

void OnlineModel::regrow(std::size_t threads, const std::function<void()>& poll) {
  Rebuilding rebuilding(*this, poll);
  learner_.regrow(state_, threads, rebuilding);
}

void OnlineModel::forget(std::span<const std::uint64_t> numbers, std::size_t threads,
                         const std::function<void()>& poll) {
  Rebuilding rebuilding(*this, poll);
  expect_relearnable();
  Learner learner(params_);
  const TextFeatures* text = state_.encoder->text_features();
  ModelState state = learner.start(text != nullptr ? Encoder(TextFeatures(text->params())) : Encoder());
  for (History::Reader reader; reader.n_read() < state_.n_examples();) {  // others may add examples meanwhile
    learner.relearn(state, ModelState(state_), reader, numbers, threads, rebuilding);
    expect_relearnable();
  }
  state_ = std::move(state);
  learner_ = std::move(learner);
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
    throw InvalidInput("the history lacks terms of texts that were dropped because of max_features");
  }
  if (text->terms().n_texts() != state_.n_examples()) {
    throw InvalidInput("the text features had been trained before the model, on texts that are not in its history");
  }
}

}  // namespace oplt

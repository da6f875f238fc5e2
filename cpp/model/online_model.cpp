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

}  // namespace

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
    struct Pause {
      explicit Pause(Turns& turns) : turns_(turns) { turns_.pause_writing(); }
      ~Pause() { turns_.resume_writing(); }  // even after an exception, because learn() then ends the turn
      Turns& turns_;
    };
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

OnlineModel::OnlineModel(const ModelParams& params, ModelState state)
    : state_(std::move(state)), learner_(params), takes_texts_(state_.encoder->takes_texts()) {
  learner_.expect_learnable(state_);
}

void OnlineModel::learn(const Inputs& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads,
                        const std::function<void()>& poll) {
  struct Turn {
    explicit Turn(Turns& turns) : turns_(turns) { turns_.enter_writing(); }
    ~Turn() { turns_.leave_writing(); }
    Turns& turns_;
  };
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

}  // namespace oplt

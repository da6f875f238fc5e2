// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/deferred_steps.hpp"

#include <memory>
#include <utility>

namespace oplt {

namespace {

void pause() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// A spin lock instead of a mutex, because it is held for a few instructions only.
class DeferredSteps::QueueLock {
 public:
  explicit QueueLock(Queue& queue) : queue_(queue) {
    while (queue_.locked.test_and_set(std::memory_order_acquire)) {
      pause();
    }
  }
  ~QueueLock() { queue_.locked.clear(std::memory_order_release); }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  Queue& queue_;
};

void DeferredSteps::begin_batch(Blocks& blocks, HelperPool& helpers, std::size_t worker) {
  forget_batch();  // if the last one failed
  if (blocks_ != &blocks) {
    queues_.clear();  // they point to blocks of another tree, or of this tree before it was copied
    blocks_ = &blocks;
  }
  helpers_ = &helpers;
  owner_ = worker;
  if (scratches_.size() <= helpers.size()) {
    scratches_.resize(helpers.size() + 1);
  }
}

DeferredSteps::Queue& DeferredSteps::queue_of(BlockId id) {
  for (std::size_t next = queues_.size(); next <= id; ++next) {
    queues_.emplace_back().block = &(*blocks_)[next];
  }
  return queues_[id];
}

void DeferredSteps::defer(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight) {
  Queue& queue = queue_of(id);
  Step* step = std::construct_at(steps_.allocate(1).data(), Step{x, positives, weight, nullptr});
  const QueueLock lock(queue);
  if (queue.first == nullptr) {
    touched_.push_back(&queue);
    queue.first = step;
  } else {
    queue.last->next = step;
  }
  queue.last = step;
}

void DeferredSteps::take(const Step* steps, Queue& queue, BlockScratch& scratch) const {
  for (const Step* step = steps; step != nullptr; step = step->next) {
    learn(*queue.block, step->x, step->weight, step->positives, params_, scratch);
    queue.n_updates += (*queue.block)->n_classifiers();
  }
}

/// Applies the updates of a queue until it is empty. Returns at once if another thread is already doing so.
void DeferredSteps::help(Queue& queue, BlockScratch& scratch) const {
  bool mine = false;
  while (true) {
    const Step* steps = nullptr;
    {
      const QueueLock lock(queue);
      if (!mine && queue.busy.load(std::memory_order_acquire)) {
        return;
      }
      steps = std::exchange(queue.first, nullptr);
      mine = steps != nullptr;
      queue.busy.store(mine, std::memory_order_release);
    }
    if (!mine) {
      queue.busy.notify_one();
      return;
    }
    try {
      take(steps, queue, scratch);
    } catch (...) {
      queue.busy.store(false, std::memory_order_release);  // the updates are lost, but the whole batch fails anyway
      queue.busy.notify_one();
      throw;
    }
  }
}

/// Only the owner adds updates, so once the queue is empty and no helper is busy with it, the owner has exclusive
/// access to the block.
void DeferredSteps::make_ready(Queue& queue) {
  const Step* steps = nullptr;
  for (bool taken = false; !taken;) {
    queue.busy.wait(true, std::memory_order_acquire);
    const QueueLock lock(queue);
    taken = !queue.busy.load(std::memory_order_acquire);  // a helper may have taken it since
    steps = taken ? std::exchange(queue.first, nullptr) : nullptr;
  }
  take(steps, queue, scratches_[owner_]);
}

Shared<SiblingBlock>& DeferredSteps::ready(BlockId id) {
  make_ready(queue_of(id));
  return (*blocks_)[id];
}

void DeferredSteps::take_now(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight,
                             BlockScratch& scratch) {
  Shared<SiblingBlock>& block = (*blocks_)[id];
  learn_scored(block, x, weight, positives, params_, scratch);
  n_updates_now_ += block->n_classifiers();
}

void DeferredSteps::offer() {
  if (helpers_->size() == 0) {
    return;
  }
  helpers_->start_many(touched_.size() - n_offered_, [&](std::size_t i) {
    return [this, queue = touched_[n_offered_ + i]](std::size_t worker) { help(*queue, scratches_[worker]); };
  });
  n_offered_ = touched_.size();
}

std::uint64_t DeferredSteps::end_batch() {
  offer();
  while (helpers_->run_one(owner_)) {
  }
  for (Queue* queue : touched_) {
    make_ready(*queue);
  }
  return forget_batch();
}

std::uint64_t DeferredSteps::forget_batch() {
  std::uint64_t n_updates = std::exchange(n_updates_now_, 0);
  for (Queue* queue : touched_) {
    const QueueLock lock(*queue);  // helpers may still look for work
    queue->first = nullptr;        // not empty only after a failure
    n_updates += std::exchange(queue->n_updates, 0);
  }
  touched_.clear();
  n_offered_ = 0;
  steps_.clear();
  return n_updates;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "blocks/block_file.hpp"
#include "blocks/sibling_block.hpp"

namespace oplt {

/// The pending updates of the sibling blocks of a tree.
///
/// The classifiers of different blocks are independent of each other. So an update need not be applied immediately: it
/// waits in the queue of its block, which is processed, in order, when the block is needed or the batch ends. The
/// result is the same bit for bit, but a block gets many updates while it is in the cache, and different threads can
/// update different blocks: the thread that has taken a queue has exclusive access to its block and needs no lock.
///
/// One thread, the owner of the batch, calls the members; helpers apply the updates offered to them.
class DeferredSteps {
 public:
  explicit DeferredSteps(const LearningParams& params) : params_(params) {}

  /// From the next batch on, no weights are started.
  void close() { params_ = closed(params_); }

  /// `blocks` and `helpers` must live until the end of the batch; the owner may add blocks. `worker` is the owner's
  /// index among the threads of the pool.
  void begin_batch(Blocks& blocks, HelperPool& helpers, std::size_t worker);

  /// Adds an update of the block. The row and the positives must live until the end of the batch.
  void defer(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight);

  /// The block, after all its pending updates.
  Shared<SiblingBlock>& ready(BlockId id);

  /// Applies an update of a block that has no pending ones, given the scores of x in `scratch`.
  void take_now(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight, BlockScratch& scratch);

  /// Offers the pending updates to helpers, while the owner continues. Call it rarely, so that each block accumulates
  /// some work.
  void offer();

  /// Applies all pending updates. Afterwards no helper is working on a block, but some may still look for work, so this
  /// object must live until the pool has finished. Returns the number of updates of single classifiers in the batch.
  std::uint64_t end_batch();

 private:
  struct Step {
    RowView x;
    std::span<const std::uint32_t> positives;
    Real weight;
    Step* next;
  };

  struct Queue {
    // Two cache lines: a helper writes to the first one while the owner adds to the queue in the second one.
    alignas(64) Shared<SiblingBlock>* block = nullptr;
    std::uint64_t n_updates = 0;
    alignas(64) std::atomic<bool> busy{false};  // a helper is updating the block
    std::atomic_flag locked;                    // guards the list, and setting busy to true
    Step* first = nullptr;
    Step* last = nullptr;
  };

  class QueueLock;

  Queue& queue_of(BlockId id);
  void take(const Step* steps, Queue& queue, BlockScratch& scratch) const;
  void help(Queue& queue, BlockScratch& scratch) const;
  void make_ready(Queue& queue);
  std::uint64_t forget_batch();

  LearningParams params_;
  Blocks* blocks_ = nullptr;
  HelperPool* helpers_ = nullptr;
  std::size_t owner_ = 0;
  std::uint64_t n_updates_now_ = 0;      // in the batch, by take_now()
  std::deque<Queue> queues_;             // by block; a deque, because helpers keep pointers to them
  SpanPool<Step> steps_;                 // of the batch
  std::vector<Queue*> touched_;          // queues that got updates in the batch; some are listed more than once
  std::size_t n_offered_ = 0;            // how many of touched_ have been offered
  std::vector<BlockScratch> scratches_;  // by worker
};

}  // namespace oplt

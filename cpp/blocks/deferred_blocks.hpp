// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/params.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "blocks/sibling_block.hpp"

namespace oplt {

/// All sibling blocks of a model, and the steps that they have yet to take.
///
/// The classifiers of different blocks never read each other. So a step need not be taken at once: it waits in the
/// queue of its block, and the queue is worked off, in order, when somebody needs the block or the batch ends. The
/// result is the same to the bit, but a block is worked on while it is in the cache, and different blocks can be
/// worked on by different threads: whoever has taken a queue is alone with its block, and needs no lock.
///
/// One thread, the owner, calls the members; helpers live from begin_batch() to end_batch().
class DeferredBlocks {
 public:
  explicit DeferredBlocks(const TrainParams& params);
  ~DeferredBlocks();
  DeferredBlocks(DeferredBlocks&&) noexcept;
  DeferredBlocks& operator=(DeferredBlocks&&) noexcept;

  BlockId add(SiblingBlock block);

  /// The block as it is; outside of a batch no steps wait.
  const SiblingBlock& operator[](BlockId id) const { return entries_[id].block; }

  /// The block with all its steps taken.
  SiblingBlock& ready(BlockId id);

  /// Starts `threads` - 1 helpers. One of them, if there is one, begins with `first`.
  void begin_batch(std::size_t threads, std::function<void()> first);

  /// A step for the block to take. The row and the positives must live until the end of the batch.
  void defer(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight);

  /// Lets helpers take the steps that wait now, while the owner goes on. To be called seldom, so that each block has
  /// some work together.
  void offer();

  /// Takes all steps that wait, and ends the helpers. If a step fails, steps may be missing; it rethrows what was
  /// thrown.
  void end_batch();

  /// Steps of single classifiers that were taken so far.
  std::uint64_t n_updates() const { return n_updates_; }
  std::size_t n_cells() const;
  std::size_t memory_bytes() const;

 private:
  struct Step {
    RowView x;
    std::span<const std::uint32_t> positives;
    Real weight;
    Step* next;
  };

  struct Entry {
    alignas(64) SiblingBlock block;  // apart from what follows: a helper writes here while the owner adds to the queue
    std::uint64_t n_updates = 0;
    alignas(64) std::atomic<bool> busy{false};  // a helper takes steps of the block
    std::atomic_flag locked;                    // guards the queue, and the change of busy to true
    Step* first = nullptr;                      // the queue
    Step* last = nullptr;

    explicit Entry(SiblingBlock b) : block(std::move(b)) {}
  };

  class QueueLock;
  class Helpers;

  void take(const Step* steps, Entry& entry, BlockScratch& scratch) const;
  void help(Entry& entry, BlockScratch& scratch) const;
  void make_ready(Entry& entry);

  TrainParams params_;
  std::deque<Entry> entries_;    // entries never move: helpers hold on to them
  SpanPool<Step> steps_;         // of the batch
  std::vector<Entry*> touched_;  // entries that have got steps in the batch, some more than once
  std::size_t n_offered_ = 0;    // of these
  std::uint64_t n_updates_ = 0;
  std::unique_ptr<Helpers> helpers_;
  BlockScratch scratch_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/deferred_blocks.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace oplt {

namespace {

// Blocks that are offered to the helpers at once, to save locking.
constexpr std::size_t kOfferTogether = 16;

constexpr int kLooks = 2000;

void pause() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// Makes an entry one's own for a while. Nobody holds a claim for longer than a queue takes.
class DeferredBlocks::Claim {
 public:
  explicit Claim(Entry& entry) : entry_(entry) {
    // A queue takes microseconds, less than to fall asleep and to be woken: look again and again first.
    for (int i = 0; entry_.claimed.exchange(true, std::memory_order_acquire); ++i) {
      if (i < kLooks) {
        pause();
      } else {
        entry_.claimed.wait(true, std::memory_order_relaxed);
      }
    }
  }
  ~Claim() {
    entry_.claimed.store(false, std::memory_order_release);
    entry_.claimed.notify_one();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  Entry& entry_;
};

/// Threads that take the steps of blocks that were offered, the longest waiting first.
class DeferredBlocks::Helpers {
 public:
  Helpers(const DeferredBlocks& blocks, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      try {
        threads_.emplace_back([this, &blocks] { work(blocks); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: the owner does their work
      }
    }
  }

  /// Lets the helpers finish what was offered.
  ~Helpers() {
    publish();
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void offer(Entry& entry) {
    unpublished_.push_back(&entry);
    if (unpublished_.size() >= kOfferTogether) {
      publish();
    }
  }

  void publish() {
    {
      const std::scoped_lock lock(mutex_);
      offered_.insert(offered_.end(), unpublished_.begin(), unpublished_.end());
    }
    unpublished_.clear();
    changed_.notify_all();
  }

  /// The entry that was offered first, or null.
  Entry* accept() {
    const std::scoped_lock lock(mutex_);
    return pop();
  }

  void rethrow_failure() {
    const std::scoped_lock lock(mutex_);
    if (failure_) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  }

 private:
  Entry* pop() {
    if (offered_.empty()) {
      return nullptr;
    }
    Entry* entry = offered_.front();
    offered_.pop_front();
    return entry;
  }

  void work(const DeferredBlocks& blocks) {
    BlockScratch scratch;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return closed_ || !offered_.empty(); });
      Entry* entry = pop();
      if (entry == nullptr) {
        return;
      }
      lock.unlock();
      try {
        const Claim claim(*entry);
        blocks.take_steps(*entry, scratch);
      } catch (...) {
        const std::scoped_lock failing(mutex_);
        failure_ = failure_ ? failure_ : std::current_exception();
      }
      lock.lock();
    }
  }

  std::vector<Entry*> unpublished_;  // the owner's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry*> offered_;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

DeferredBlocks::DeferredBlocks(const TrainParams& params) : params_(params) {}
DeferredBlocks::~DeferredBlocks() = default;
DeferredBlocks::DeferredBlocks(DeferredBlocks&&) noexcept = default;
DeferredBlocks& DeferredBlocks::operator=(DeferredBlocks&&) noexcept = default;

BlockId DeferredBlocks::add(SiblingBlock block) {
  entries_.emplace_back(std::move(block));
  return static_cast<BlockId>(entries_.size() - 1);
}

std::size_t DeferredBlocks::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) {
    bytes += sizeof(Entry) + entry.block.memory_bytes();
  }
  return bytes;
}

void DeferredBlocks::begin_batch(std::size_t threads) {
  if (threads > 1) {
    helpers_ = std::make_unique<Helpers>(*this, threads - 1);
  }
}

void DeferredBlocks::defer(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight) {
  Entry& entry = entries_[id];
  Step* step = &steps_.emplace_back(Step{x, positives, weight, nullptr});
  const Claim claim(entry);
  if (entry.first == nullptr) {
    entry.first = step;
    touched_.push_back(&entry);
    if (helpers_) {
      helpers_->offer(entry);
    }
  } else {
    entry.last->next = step;
  }
  entry.last = step;
}

void DeferredBlocks::take_steps(Entry& entry, BlockScratch& scratch) const {
  for (const Step* step = std::exchange(entry.first, nullptr); step != nullptr; step = step->next) {
    entry.block.learn(step->x, step->weight, step->positives, params_, scratch);
  }
}

SiblingBlock& DeferredBlocks::ready(BlockId id) {
  Entry& entry = entries_[id];
  const Claim claim(entry);
  take_steps(entry, scratch_);
  return entry.block;  // nobody else touches it until the next step is deferred
}

void DeferredBlocks::end_batch() {
  if (helpers_) {
    helpers_->publish();
    while (Entry* entry = helpers_->accept()) {
      const Claim claim(*entry);
      take_steps(*entry, scratch_);
    }
  }
  for (Entry* entry : touched_) {
    const Claim claim(*entry);
    take_steps(*entry, scratch_);
  }
  touched_.clear();
  steps_.clear();
  if (helpers_) {
    const std::unique_ptr<Helpers> helpers = std::exchange(helpers_, nullptr);
    helpers->rethrow_failure();
  }
}

}  // namespace oplt

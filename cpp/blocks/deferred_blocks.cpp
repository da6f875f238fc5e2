// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/deferred_blocks.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace oplt {

namespace {

void pause() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// Held for a few instructions only, hence a loop instead of a mutex.
class DeferredBlocks::QueueLock {
 public:
  explicit QueueLock(Entry& entry) : entry_(entry) {
    while (entry_.locked.test_and_set(std::memory_order_acquire)) {
      pause();
    }
  }
  ~QueueLock() { entry_.locked.clear(std::memory_order_release); }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  Entry& entry_;
};

/// Threads that take the steps of blocks that were offered, the longest waiting first.
class DeferredBlocks::Helpers {
 public:
  Helpers(const DeferredBlocks& blocks, std::size_t n, std::function<void()> first) : first_(std::move(first)) {
    threads_.reserve(n);  // so that what fails below is the start of a thread
    for (std::size_t i = 0; i < n; ++i) {
      try {
        threads_.emplace_back([this, &blocks, i] { work(blocks, i == 0); });
      } catch (const std::exception&) {
        break;  // no more threads to be had: the owner does their work
      }
    }
  }

  ~Helpers() { finish(); }

  /// Lets the helpers finish what was offered; returns what one of them threw.
  std::exception_ptr finish() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    return failure_;
  }

  void offer(std::span<Entry* const> entries) {
    {
      const std::scoped_lock lock(mutex_);
      offered_.insert(offered_.end(), entries.begin(), entries.end());
    }
    changed_.notify_all();
  }

  /// The entry that was offered first, or null.
  Entry* accept() {
    const std::scoped_lock lock(mutex_);
    return pop();
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

  template <class Job>
  void attempt(Job job) {
    try {
      job();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      failure_ = failure_ ? failure_ : std::current_exception();
    }
  }

  void work(const DeferredBlocks& blocks, bool begins) {
    if (begins && first_) {
      attempt(first_);
    }
    BlockScratch scratch;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return closed_ || !offered_.empty(); });
      Entry* entry = pop();
      if (entry == nullptr) {
        return;
      }
      lock.unlock();
      attempt([&] { blocks.help(*entry, scratch); });
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry*> offered_;
  std::function<void()> first_;
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

std::size_t DeferredBlocks::n_cells() const {
  std::size_t n = 0;
  for (const Entry& entry : entries_) {
    n += entry.block.n_cells();
  }
  return n;
}

std::size_t DeferredBlocks::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) {
    bytes += sizeof(Entry) + entry.block.memory_bytes();
  }
  return bytes;
}

void DeferredBlocks::begin_batch(std::size_t threads, std::function<void()> first) {
  if (threads > 1) {
    helpers_ = std::make_unique<Helpers>(*this, threads - 1, std::move(first));
  }
}

void DeferredBlocks::defer(BlockId id, RowView x, std::span<const std::uint32_t> positives, Real weight) {
  Entry& entry = entries_[id];
  Step* step = std::construct_at(steps_.allocate(1).data(), Step{x, positives, weight, nullptr});
  const QueueLock lock(entry);
  if (entry.first == nullptr) {
    touched_.push_back(&entry);
    entry.first = step;
  } else {
    entry.last->next = step;
  }
  entry.last = step;
}

void DeferredBlocks::take(const Step* steps, Entry& entry, BlockScratch& scratch) const {
  for (const Step* step = steps; step != nullptr; step = step->next) {
    entry.block.learn(step->x, step->weight, step->positives, params_, scratch);
    entry.n_updates += entry.block.n_classifiers();
  }
}

/// Takes the steps of an entry until none wait, unless somebody is at it already, who will go on with them.
void DeferredBlocks::help(Entry& entry, BlockScratch& scratch) const {
  bool mine = false;
  while (true) {
    const Step* steps = nullptr;
    {
      const QueueLock lock(entry);
      if (!mine && entry.busy.load(std::memory_order_acquire)) {
        return;
      }
      steps = std::exchange(entry.first, nullptr);
      mine = steps != nullptr;
      entry.busy.store(mine, std::memory_order_release);
    }
    if (!mine) {
      entry.busy.notify_one();
      return;
    }
    try {
      take(steps, entry, scratch);
    } catch (...) {
      entry.busy.store(false, std::memory_order_release);  // the steps are lost, and the batch fails
      entry.busy.notify_one();
      throw;
    }
  }
}

/// The owner alone adds steps, so once none wait and no helper is at it, the block is the owner's.
void DeferredBlocks::make_ready(Entry& entry) {
  const Step* steps = nullptr;
  for (bool taken = false; !taken;) {
    entry.busy.wait(true, std::memory_order_acquire);
    const QueueLock lock(entry);
    taken = !entry.busy.load(std::memory_order_acquire);  // a helper may have come first
    steps = taken ? std::exchange(entry.first, nullptr) : nullptr;
  }
  take(steps, entry, scratch_);
}

SiblingBlock& DeferredBlocks::ready(BlockId id) {
  make_ready(entries_[id]);
  return entries_[id].block;
}

void DeferredBlocks::offer() {
  if (helpers_) {
    helpers_->offer(std::span(touched_).subspan(n_offered_));
    n_offered_ = touched_.size();
  }
}

void DeferredBlocks::end_batch() {
  std::exception_ptr failure;
  try {
    offer();
    while (Entry* entry = helpers_ ? helpers_->accept() : nullptr) {
      help(*entry, scratch_);
    }
    for (Entry* entry : touched_) {
      make_ready(*entry);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (helpers_) {  // they end in any case: the steps, and what these refer to, are freed next
    const std::exception_ptr theirs = std::exchange(helpers_, nullptr)->finish();
    failure = failure ? failure : theirs;
  }
  for (Entry* entry : touched_) {
    entry->first = nullptr;  // not empty only after a failure
    n_updates_ += std::exchange(entry->n_updates, 0);
  }
  touched_.clear();
  n_offered_ = 0;
  steps_.clear();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace oplt

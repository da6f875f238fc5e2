// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace oplt {

/// Working memory that threads borrow and give back, so that a small question need not make all of it anew.
template <class Scratch>
class ScratchPool {
 public:
  /// Gives the scratch back at its end.
  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<Scratch> scratch) : pool_(&pool), scratch_(std::move(scratch)) {}
    Loan(Loan&&) noexcept = default;
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (scratch_) {
        pool_->take_back(std::move(scratch_));
      }
    }

    Scratch& operator*() const { return *scratch_; }

   private:
    ScratchPool* pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Loan borrow() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      free_.reserve(++n_made_);  // so that giving back cannot fail
      return Loan(*this, std::make_unique<Scratch>());
    }
    std::unique_ptr<Scratch> scratch = std::move(free_.back());
    free_.pop_back();
    return Loan(*this, std::move(scratch));
  }

 private:
  void take_back(std::unique_ptr<Scratch> scratch) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
  std::size_t n_made_ = 0;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/forks.hpp"

#include <atomic>

#if __has_include(<unistd.h>)
#include <pthread.h>
#endif

namespace oplt {

namespace {

std::atomic<std::uint64_t> forks{0};

#if __has_include(<unistd.h>)
[[maybe_unused]] const int kCounted =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
#endif

}  // namespace

std::uint64_t n_forks() { return forks.load(std::memory_order_relaxed); }

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace oplt {

void parallel_for(std::size_t n, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t worker)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;

  const auto run = [&](std::size_t worker) {
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      try {
        work(i, worker);
      } catch (...) {
        const std::scoped_lock lock(failure_mutex);
        if (!failure) {
          failure = std::current_exception();
        }
        next.store(n);
      }
    }
  };

  std::vector<std::thread> helpers;
  helpers.reserve(std::min(threads, n));  // so that what fails below is the start of a thread
  for (std::size_t worker = 1; worker < std::min(threads, n); ++worker) {
    try {
      helpers.emplace_back(run, worker);
    } catch (const std::exception&) {
      break;  // no more threads to be had: the ones there are do all the work
    }
  }
  run(0);
  for (auto& helper : helpers) {
    helper.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/forks.hpp"
#include "base/parallel.hpp"
#include "check.hpp"
#include "in_child.hpp"

using oplt::Interruption;
using oplt::parallel_for;

TEST("every index is worked on exactly once, by a worker below the number of threads") {
  for (const std::size_t threads : {1U, 2U, 3U, 8U, 50U}) {
    for (const std::size_t n : {1U, 2U, 7U, 1000U}) {
      std::vector<int> calls(n);  // not atomic: each belongs to one thread, so TSan would report an error
      std::vector<std::size_t> by_worker(threads);
      std::atomic<bool> worker_in_range = true;
      parallel_for(n, threads, [&](std::size_t i, std::size_t worker) {
        ++calls[i];
        if (worker < threads) {
          ++by_worker[worker];
        } else {
          worker_in_range = false;
        }
      });
      CHECK_EQ(std::count(calls.begin(), calls.end(), 1), static_cast<std::ptrdiff_t>(n));
      CHECK(worker_in_range);
    }
  }
}

TEST("without indices, nothing is called") {
  int calls = 0;
  parallel_for(0, 8, [&](std::size_t, std::size_t) { ++calls; });
  CHECK_EQ(calls, 0);
}

TEST("an exception ends the work of a single thread at once") {
  int calls = 0;
  CHECK_THROWS_WITH(std::runtime_error, "row 3", parallel_for(100, 1, [&](std::size_t i, std::size_t) {
                      ++calls;
                      if (i == 3) {
                        throw std::runtime_error("row 3");
                      }
                    }));
  CHECK_EQ(calls, 4);
}

TEST("an exception stops the hand-out of work to the other threads") {
  for (const std::size_t threads : {2U, 8U}) {
    std::atomic<int> calls = 0;
    CHECK_THROWS_WITH(std::out_of_range, "first", parallel_for(20'000, threads, [&](std::size_t i, std::size_t) {
                        ++calls;
                        if (i == 0) {
                          throw std::out_of_range("first");
                        }
                        std::this_thread::sleep_for(std::chrono::microseconds(100));  // all would take seconds
                      }));
    CHECK(calls < 20'000);
  }
}

TEST("one exception of many is rethrown") {
  CHECK_THROWS(std::runtime_error,
               parallel_for(100, 8, [](std::size_t, std::size_t) { throw std::runtime_error("each"); }));
}

TEST("an exception from poll during work ends the work of all threads") {
  for (const std::size_t threads : {1U, 2U, 3U}) {
    int polls = 0;
    Interruption interruption([&] {
      if (++polls == 3) {
        throw std::runtime_error("Ctrl-C");
      }
    });
    CHECK_THROWS_WITH(std::runtime_error, "Ctrl-C",
                      parallel_for(
                          threads, threads,
                          [&](std::size_t, std::size_t worker) {
                            while (true) {  // no worker ends by itself
                              interruption.check(worker);
                            }
                          },
                          &interruption));
    CHECK(polls >= 3);
  }
}

TEST("the calling thread keeps polling while it waits for the others") {
  std::atomic<bool> helper_is_at_work = false;
  Interruption interruption([&] {
    if (helper_is_at_work) {
      throw std::runtime_error("Ctrl-C");
    }
  });
  CHECK_THROWS_WITH(std::runtime_error, "Ctrl-C",
                    parallel_for(
                        2, 2,
                        [&](std::size_t, std::size_t worker) {
                          while (worker == 0 && !helper_is_at_work) {  // leaves the other index to the helper
                            std::this_thread::yield();
                          }
                          while (worker != 0) {
                            helper_is_at_work = true;
                            interruption.check(worker);
                          }
                        },
                        &interruption));
}

TEST("an exception in another thread is rethrown even if polling finds nothing") {
  Interruption interruption([] {});
  CHECK_THROWS_WITH(std::out_of_range, "helper",
                    parallel_for(
                        2, 2,
                        [&](std::size_t i, std::size_t) {
                          if (i == 1) {
                            throw std::out_of_range("helper");
                          }
                        },
                        &interruption));
}

TEST("without a poll nothing is interrupted") {
  Interruption interruption({});
  std::atomic<int> calls = 0;
  parallel_for(
      100, 3,
      [&](std::size_t, std::size_t worker) {
        interruption.check(worker);
        ++calls;
      },
      &interruption);
  CHECK_EQ(calls.load(), 100);
}

#ifdef OPLT_CAN_FORK
TEST("if the calling thread forks, the parent does all the work and the child's call throws soon") {
  for (const bool throws : {false, true}) {
    for (int round = 0; round < 10; ++round) {
      pid_t child = -1;
      std::size_t n_own = 0;
      int code = 3;
      oplt::LeftInChild<std::vector<std::vector<std::size_t>>> made(2000);
      try {
        parallel_for(made->size(), 3, [&](std::size_t i, std::size_t worker) {
          for (std::size_t value = 0; value < 100; ++value) {
            (*made)[i].push_back(value);  // much memory is being reallocated when the process forks
          }
          if (worker == 0 && ++n_own == 10) {
            child = oplt::test::fork_here();
            if (child == 0 && throws) {
              throw std::out_of_range("of the child");
            }
          }
        });
      } catch (const oplt::ForkedCall&) {
        code = throws ? 1 : 0;
      } catch (const std::out_of_range&) {
        code = throws ? 0 : 1;
      }
      if (child == 0) {
        _exit(n_own == 10 ? code : 2);
      }
      CHECK_EQ(code, 3);
      CHECK(std::all_of(made->begin(), made->end(), [](const auto& row) { return row.size() == 100; }));
      CHECK(child < 0 || oplt::test::ended_well(child));  // negative if the others have done nearly all the work
    }
  }
}
#endif

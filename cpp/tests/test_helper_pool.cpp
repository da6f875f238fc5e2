// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/helper_pool.hpp"
#include "check.hpp"
#include "in_child.hpp"

using namespace std::chrono_literals;
using oplt::HelperPool;

namespace {

constexpr std::size_t kSizes[] = {0, 1, 2, 7};

}  // namespace

TEST("all tasks are run once, whatever the number of helpers") {
  for (const std::size_t n_helpers : kSizes) {
    HelperPool pool(n_helpers);
    CHECK_EQ(pool.size(), n_helpers);
    for (int round = 0; round < 3; ++round) {
      std::vector<int> runs(100);  // not atomic: each belongs to one task, so TSan would report an error
      std::atomic<bool> worker_in_range = true;
      pool.start_many(runs.size(), [&](std::size_t i) {
        return [&, i](std::size_t worker) {
          ++runs[i];
          worker_in_range = worker_in_range && worker <= n_helpers;
        };
      });
      pool.finish();
      CHECK_EQ(std::count(runs.begin(), runs.end(), 1), 100);
      CHECK(worker_in_range);
    }
  }
}

TEST("a pool without tasks has nothing to finish") {
  for (const std::size_t n_helpers : kSizes) {
    HelperPool pool(n_helpers);
    pool.finish();
    CHECK(!pool.run_one(0));
    CHECK(pool.wait_for(0ms));
  }
}

TEST("without helpers, tasks wait until their owner runs them, in order") {
  HelperPool pool(0);
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) {
    pool.start([&order, i](std::size_t worker) {
      CHECK_EQ(worker, 0U);
      order.push_back(i);
    });
  }
  CHECK(order.empty());
  CHECK(!pool.wait_for(1ms));
  CHECK(pool.run_one(0));
  CHECK_EQ(order, std::vector<int>{0});
  CHECK(!pool.wait_for(1ms));
  pool.finish();
  CHECK_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  CHECK(!pool.run_one(0));
  CHECK(pool.wait_for(0ms));
}

TEST("helpers work while the owner does something else, each with its own number") {
  HelperPool pool(3);
  std::latch all_there(3);
  std::vector<std::size_t> workers(3);
  pool.start_many(3, [&](std::size_t i) {
    return [&, i](std::size_t worker) {
      workers[i] = worker;
      all_there.arrive_and_wait();  // so that each task has its own thread
    };
  });
  CHECK(pool.wait_for(10s));
  CHECK_EQ(std::set<std::size_t>(workers.begin(), workers.end()), (std::set<std::size_t>{1, 2, 3}));
  pool.finish();
}

TEST("in finish(), the owner runs tasks, and waits for those of the helpers") {
  HelperPool pool(1);
  std::latch begun(1);
  std::latch may_end(1);
  bool ended = false;
  pool.start([&](std::size_t) {
    begun.count_down();
    may_end.wait();
    ended = true;
  });
  begun.wait();
  CHECK(!pool.wait_for(1ms));
  pool.start([&](std::size_t worker) {
    CHECK_EQ(worker, 0U);  // the helper is blocked until this task has run
    may_end.count_down();
  });
  pool.finish();
  CHECK(ended);
}

TEST("finish() also runs tasks that were started by tasks") {
  for (const std::size_t n_helpers : kSizes) {
    HelperPool pool(n_helpers);
    std::atomic<int> n_run = 0;
    HelperPool::Task split;  // a tree of tasks: each starts two
    std::atomic<int> n_left = 1000;
    split = [&](std::size_t) {
      ++n_run;
      for (int i = 0; i < 2; ++i) {
        if (--n_left >= 0) {
          pool.start(split);
        }
      }
    };
    pool.start(split);
    pool.finish();
    CHECK_EQ(n_run.load(), 1001);
  }
}

TEST("a task can run waiting tasks") {
  for (const std::size_t n_helpers : kSizes) {
    HelperPool pool(n_helpers);
    std::atomic<int> n_run = 0;
    pool.start([&](std::size_t worker) {
      for (int i = 0; i < 50; ++i) {
        pool.start([&](std::size_t) { ++n_run; });
      }
      while (pool.run_one(worker)) {
      }
    });
    pool.finish();
    CHECK_EQ(n_run.load(), 50);
  }
}

TEST("finish() rethrows the first exception, and the other tasks still run") {
  for (const std::size_t n_helpers : kSizes) {
    HelperPool pool(n_helpers);
    for (int round = 0; round < 3; ++round) {
      std::atomic<int> n_run = 0;
      pool.start_many(50, [&](std::size_t i) {
        return [&, i](std::size_t) {
          ++n_run;
          if (i % 10 == 3) {
            throw std::runtime_error("task " + std::to_string(i));
          }
        };
      });
      CHECK_THROWS_WITH(std::runtime_error, n_helpers == 0 ? "task 3" : "task ", pool.finish());
      CHECK_EQ(n_run.load(), 50);
      pool.finish();  // it is thrown only once
    }
  }
}

TEST("an exception of a task that another task runs is kept for finish(), too") {
  HelperPool pool(0);
  bool went_on = false;
  pool.start([&](std::size_t worker) {
    pool.start([](std::size_t) { throw std::out_of_range("inner"); });
    CHECK(pool.run_one(worker));
    went_on = true;
  });
  CHECK_THROWS_WITH(std::out_of_range, "inner", pool.finish());
  CHECK(went_on);
}

TEST("a pool waits for its running tasks when destroyed, and drops those that have not started") {
  std::latch begun(2);
  std::latch may_end(1);
  std::atomic<int> n_ended = 0;
  std::atomic<int> n_others = 0;
  std::thread opener;
  {
    HelperPool pool(2);
    for (int i = 0; i < 2; ++i) {
      pool.start([&](std::size_t) {
        begun.count_down();
        may_end.wait();
        ++n_ended;
      });
    }
    begun.wait();
    pool.start([&](std::size_t) { ++n_others; });
    opener = std::thread([&] {
      std::this_thread::sleep_for(20ms);  // the pool is being destroyed meanwhile
      may_end.count_down();
    });
  }
  opener.join();
  CHECK_EQ(n_ended.load(), 2);
  CHECK_EQ(n_others.load(), 0);
}

#ifdef OPLT_CAN_FORK
TEST("in a forked child, a pool throws because its helpers do not exist, and can be destroyed") {
  const auto throws = [](const auto& call) {
    try {
      call();
    } catch (const oplt::ForkedCall&) {
      return true;
    }
    return false;
  };
  for (int round = 0; round < 20; ++round) {  // the helpers are in a different state in each
    std::atomic<int> n_run = 0;
    const auto child = [&] {
      HelperPool pool(3);
      pool.start_many(200, [&](std::size_t) { return [&](std::size_t) { ++n_run; }; });
      const pid_t forked = oplt::test::fork_here();
      if (forked == 0) {
        const bool all_throw = throws([&] { pool.start([](std::size_t) {}); }) && throws([&] { pool.run_one(0); }) &&
                               throws([&] { pool.wait_for(1ms); }) && throws([&] { pool.finish(); });
        n_run = all_throw ? -1 : -2;
        return forked;
      }
      pool.finish();
      return forked;
    }();
    if (child == 0) {
      _exit(n_run == -1 ? 0 : 1);  // the pool has been destroyed
    }
    CHECK_EQ(n_run.load(), 200);
    CHECK(oplt::test::ended_well(child));
  }
}

TEST("a task of the owner that forks ends the work in the child") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<pid_t> child = -1;
    const bool is_forked = [&] {
      HelperPool pool(2);
      pool.start_many(100, [&](std::size_t) {
        return [&](std::size_t worker) {
          if (worker == 0 && child < 0) {
            child = oplt::test::fork_here();
          }
        };
      });
      try {
        pool.finish();
      } catch (const oplt::ForkedCall&) {
        return true;
      }
      return false;
    }();
    if (child == 0) {
      _exit(is_forked ? 0 : 1);
    }
    CHECK(!is_forked);
    CHECK(child < 0 || oplt::test::ended_well(child));  // negative if the helpers have run all tasks
  }
}

TEST("a pool without helpers continues in a forked child") {
  HelperPool pool(0);
  int n_run = 0;
  pool.start([&](std::size_t) { ++n_run; });
  CHECK(oplt::test::holds_in_child([&] {
    pool.start([&](std::size_t) { ++n_run; });
    pool.finish();
    return n_run == 2;
  }));
  pool.finish();
  CHECK_EQ(n_run, 1);
}
#endif

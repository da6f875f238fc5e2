// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The order in which threads use a model's state. No test depends on the speed of the machine.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "in_child.hpp"
#include "model/turns.hpp"

using namespace oplt;
using namespace std::chrono_literals;

namespace {

/// Far longer than anything that should happen takes.
constexpr auto kLong = 10s;

/// Waits until a condition holds; false if it does not within kLong.
bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(100us);
  }
  return true;
}

/// Waits long enough for something that must not happen.
void wait_a_while() { std::this_thread::sleep_for(30ms); }

Turns::Published some_state() { return std::make_shared<const ModelState>(); }

/// A thread that waits for a turn, and keeps it until it is told to leave.
class Visitor {
 public:
  static Visitor reader(Turns& turns) {
    return Visitor([&turns](Visit& visit) {
      visit.published = turns.enter_reading();
      visit.stay();
      if (!visit.published) {
        turns.leave_reading();
      }
    });
  }
  static Visitor writer(Turns& turns) {
    return Visitor([&turns](Visit& visit) {
      turns.enter_writing();
      visit.stay();
      turns.leave_writing();
    });
  }

  ~Visitor() {
    if (thread_.joinable()) {
      leave();
    }
  }
  Visitor(Visitor&&) = default;

  bool is_in() const { return visit_->is_in; }
  bool comes_in() const {
    return comes_true([&] { return is_in(); });
  }
  /// Whether a reader that is in reads a published copy.
  bool has_published() const { return visit_->published != nullptr; }

  void leave() {
    visit_->may_leave.count_down();
    thread_.join();
  }

 private:
  struct Visit {
    std::atomic<bool> is_in = false;
    std::latch may_leave{1};
    Turns::Published published;

    void stay() {
      is_in = true;
      may_leave.wait();
    }
  };

  explicit Visitor(std::function<void(Visit&)> run)
      : visit_(std::make_unique<Visit>()), thread_([run = std::move(run), visit = visit_.get()] { run(*visit); }) {}

  std::unique_ptr<Visit> visit_;
  std::thread thread_;
};

}  // namespace

TEST("any number of readers, or one writer") {
  Turns turns;
  Visitor one = Visitor::reader(turns);
  Visitor other = Visitor::reader(turns);
  CHECK(one.comes_in() && other.comes_in());
  Visitor writer = Visitor::writer(turns);
  wait_a_while();
  CHECK(!writer.is_in());
  one.leave();
  wait_a_while();
  CHECK(!writer.is_in());
  other.leave();
  CHECK(writer.comes_in());
  Visitor second_writer = Visitor::writer(turns);
  Visitor reader = Visitor::reader(turns);
  wait_a_while();
  CHECK(!second_writer.is_in() && !reader.is_in());
  writer.leave();
  CHECK(reader.comes_in());
  reader.leave();
  CHECK(second_writer.comes_in());
}

TEST("a waiting writer goes before later readers; readers that waited for a writer go before the next writer") {
  Turns turns;
  Visitor early = Visitor::reader(turns);
  CHECK(early.comes_in());
  Visitor writer = Visitor::writer(turns);
  CHECK(comes_true([&] { return turns.is_writer_waiting(); }));
  Visitor late = Visitor::reader(turns);
  wait_a_while();
  CHECK(!late.is_in());  // although only readers have turns
  Visitor second_writer = Visitor::writer(turns);
  early.leave();
  CHECK(writer.comes_in());
  CHECK(comes_true([&] { return turns.is_read_waiting() && turns.is_writer_waiting(); }));
  writer.leave();
  CHECK(late.comes_in());  // before the second writer
  CHECK(!second_writer.is_in());
  late.leave();
  CHECK(second_writer.comes_in());
}

TEST("while a copy is published, readers do not wait for the writer") {
  Turns turns;
  turns.enter_writing();
  Visitor waiting = Visitor::reader(turns);
  CHECK(comes_true([&] { return turns.is_read_waiting(); }));
  const Turns::Published state = some_state();
  turns.publish(state);
  CHECK(waiting.comes_in());  // it waited for the copy
  CHECK(waiting.has_published());
  CHECK(!turns.is_read_waiting());
  CHECK(turns.enter_reading() == state);  // other readers get it, too
  turns.leave_writing();
  CHECK(turns.enter_reading() == nullptr);  // it has been withdrawn
  turns.leave_reading();
}

TEST("a published copy is withdrawn when another call returns, because it lacks the updates of that call") {
  Turns turns;
  turns.enter_writing();
  turns.publish(some_state());
  turns.pause_writing();
  Visitor other = Visitor::writer(turns);
  CHECK(other.comes_in());
  CHECK(turns.enter_reading() != nullptr);  // while the other learns
  other.leave();
  turns.resume_writing();
  Visitor reader = Visitor::reader(turns);
  wait_a_while();
  CHECK(!reader.is_in());
  turns.publish(some_state());
  CHECK(reader.comes_in());
  turns.leave_writing();
}

TEST("nobody sees an older state after a newer one: during a pause, readers still get the published copy") {
  Turns turns;
  turns.enter_writing();
  const Turns::Published state = some_state();
  turns.publish(state);
  turns.pause_writing();  // the live state is newer now
  CHECK(turns.enter_reading() == state);
  turns.resume_writing();
  CHECK(turns.enter_reading() == state);
  const Turns::Published newer = some_state();
  turns.publish(newer);
  CHECK(turns.enter_reading() == newer);
  turns.leave_writing();
  CHECK(turns.enter_reading() == nullptr);
  turns.leave_reading();
}

TEST("a waiting reader gets the copy published just before a pause, and does not block writers") {
  for (int round = 0; round < 50; ++round) {
    Turns turns;
    turns.enter_writing();
    Visitor reader = Visitor::reader(turns);
    CHECK(comes_true([&] { return turns.is_read_waiting(); }));
    turns.publish(some_state());
    turns.pause_writing();
    turns.resume_writing();
    CHECK(reader.comes_in());
    CHECK(reader.has_published());
    turns.leave_writing();
    turns.enter_writing();
    turns.leave_writing();
  }
}

TEST("writers take turns in order of arrival, also if one of them pauses") {
  Turns turns;
  for (int round = 0; round < 20; ++round) {
    turns.enter_writing();
    Visitor first = Visitor::writer(turns);
    CHECK(comes_true([&] { return turns.is_writer_waiting(); }));
    turns.pause_writing();
    std::atomic<bool> is_back = false;
    std::thread pausing([&] {
      turns.resume_writing();
      is_back = true;
      turns.leave_writing();
    });
    CHECK(first.comes_in());
    CHECK(!is_back);
    first.leave();
    pausing.join();
  }
}

TEST("a writer that pauses repeatedly lets another one in at the first pause") {
  Turns turns;
  turns.enter_writing();
  Visitor other = Visitor::writer(turns);
  CHECK(comes_true([&] { return turns.is_writer_waiting(); }));
  std::thread leaver([&] {
    CHECK(other.comes_in());
    other.leave();
  });
  turns.pause_writing();
  turns.resume_writing();
  CHECK(other.is_in());  // it had its turn
  turns.leave_writing();
  leaver.join();
}

TEST("neither readers nor writers starve") {
  Turns turns;
  constexpr int kTurns = 300;
  std::atomic<bool> done = false;
  std::atomic<int> n_inside = 0;  // writers
  std::atomic<int> n_wrong = 0;
  std::atomic<int> n_reads = 0;
  std::atomic<int> n_writes = 0;
  const auto read = [&] {
    if (!turns.enter_reading()) {
      n_wrong += n_inside.load();
      turns.leave_reading();
    }
    ++n_reads;
  };
  const auto write = [&] {
    turns.enter_writing();
    n_wrong += n_inside.fetch_add(1);
    for (int i = 0; i < 2; ++i) {
      --n_inside;
      turns.pause_writing();
      turns.resume_writing();
      n_wrong += n_inside.fetch_add(1);
    }
    --n_inside;
    turns.leave_writing();
    ++n_writes;
  };
  std::vector<std::thread> busy;  // until the others have had their turns
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!done) {
        read();
      }
    });
    busy.emplace_back([&] {
      while (!done) {
        write();
      }
    });
  }
  std::thread reader([&] {
    for (int i = 0; i < kTurns; ++i) {
      read();
    }
  });
  std::thread writer([&] {
    for (int i = 0; i < kTurns; ++i) {
      write();
    }
  });
  reader.join();
  writer.join();
  done = true;
  for (std::thread& thread : busy) {
    thread.join();
  }
  CHECK_EQ(n_wrong.load(), 0);
  CHECK(n_reads >= kTurns && n_writes >= kTurns);
}

TEST("a published copy is renewed if it is a second old and has been read") {
  Turns turns;
  CHECK(!turns.is_read_lately());
  turns.enter_writing();
  turns.publish(some_state());
  CHECK(!turns.is_renewal_due());
  std::this_thread::sleep_for(1100ms);
  CHECK(!turns.is_renewal_due());  // nobody has read it
  turns.enter_reading();           // reads of the writer itself do not count
  CHECK(!turns.is_renewal_due() && !turns.is_read_lately());
  std::thread([&] { turns.enter_reading(); }).join();
  CHECK(turns.is_renewal_due());
  CHECK(turns.is_read_lately());
  turns.publish(some_state());
  CHECK(!turns.is_renewal_due());
  turns.leave_writing();
  std::this_thread::sleep_for(1100ms);
  CHECK(!turns.is_read_lately());
}

TEST("the writer frees the published copy when its readers have finished") {
  Turns turns;
  turns.enter_writing();
  std::atomic<std::thread::id> freed_by;
  turns.publish(Turns::Published(new ModelState, [&](const ModelState* state) {
    freed_by = std::this_thread::get_id();
    delete state;
  }));
  std::atomic<bool> has_read = false;
  std::thread reader([&] {
    const Turns::Published published = turns.enter_reading();
    has_read = true;
    std::this_thread::sleep_for(2ms);
  });
  CHECK(comes_true([&] { return has_read.load(); }));
  turns.leave_writing();
  reader.join();
  CHECK(freed_by.load() == std::this_thread::get_id());
}

TEST("a thread that holds may read, write and hold again; others wait until it has released all holds") {
  Turns turns;
  turns.hold();
  Visitor reader = Visitor::reader(turns);
  Visitor writer = Visitor::writer(turns);
  const auto use = [&] {  // as a signal handler does
    CHECK(turns.enter_reading() == nullptr);
    turns.leave_reading();
    turns.enter_writing();
    turns.pause_writing();
    turns.resume_writing();
    turns.leave_writing();
  };
  use();
  turns.hold();
  use();
  turns.release();
  use();
  wait_a_while();
  CHECK(!reader.is_in() && !writer.is_in());
  turns.release();
  CHECK(reader.comes_in());
  reader.leave();
  CHECK(writer.comes_in());
  turns.release();  // does nothing: this thread does not hold
  wait_a_while();
  CHECK(writer.is_in());
}

TEST("a thread that holds reads the copy of a paused writer, until it has written itself") {
  Turns turns;
  turns.enter_writing();
  turns.publish(some_state());
  turns.pause_writing();
  turns.hold();
  CHECK(turns.enter_reading() != nullptr);
  turns.enter_writing();
  turns.leave_writing();
  CHECK(turns.enter_reading() == nullptr);
  turns.leave_reading();
  turns.release();
  turns.resume_writing();
  turns.leave_writing();
}

TEST("one thread at a time rebuilds, and none waits for itself") {
  Turns turns;
  CHECK(turns.enter_rebuilding(0ms));
  CHECK_THROWS_WITH(InvalidInput, "signal handler", turns.enter_rebuilding(0ms));
  turns.enter_writing();
  std::atomic<bool> has_come = false;
  std::thread other([&] {
    CHECK(!turns.enter_rebuilding(1ms));
    has_come = turns.enter_rebuilding(kLong);
    turns.leave_rebuilding();
  });
  wait_a_while();
  CHECK(!has_come);
  turns.leave_writing();
  turns.leave_rebuilding();
  other.join();
  CHECK(has_come);
}

TEST("a thread that holds does not wait for one that rebuilds, which waits for it") {
  Turns turns;
  std::thread([&] { turns.enter_rebuilding(0ms); }).join();
  turns.hold();
  CHECK_THROWS_WITH(InvalidInput, "fork hook", turns.enter_rebuilding(kLong));
  turns.release();
}

#ifdef OPLT_CAN_FORK
TEST("a child may rebuild if another thread did so in its parent; a thread that forks keeps its turn") {
  Turns turns;
  std::thread([&] { turns.enter_rebuilding(0ms); }).join();
  turns.hold();
  CHECK(test::holds_in_child([&] {
    turns.release_in_child();
    return turns.enter_rebuilding(0ms);
  }));
  turns.release();
  turns.leave_rebuilding();  // for the thread that has ended
  CHECK(turns.enter_rebuilding(0ms));
  turns.hold();
  CHECK(test::holds_in_child([&] {
    turns.release_in_child();
    try {
      turns.enter_rebuilding(0ms);
    } catch (const InvalidInput&) {
      return true;
    }
    return false;
  }));
  turns.release();
}

TEST("a child continues without the waiting threads, also in nested forks") {
  Turns turns;
  turns.hold();
  Visitor reader = Visitor::reader(turns);
  Visitor writer = Visitor::writer(turns);
  CHECK(comes_true([&] { return turns.is_read_waiting() && turns.is_writer_waiting(); }));
  const auto use = [&] {
    turns.enter_reading();
    turns.leave_reading();
    turns.enter_writing();
    turns.leave_writing();
    return true;
  };
  CHECK(test::holds_in_child([&] {
    turns.release_in_child();
    return use();
  }));
  turns.hold();
  CHECK(test::holds_in_child([&] {
    turns.release_in_child();
    const bool is_well = use() && !turns.is_writer_waiting();
    turns.release();  // the outer one
    return is_well && use();
  }));
  turns.release();
  turns.release();
  reader.leave();  // before the writer, which waits for it
}
#endif

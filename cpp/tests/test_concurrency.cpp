// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Many threads use one model: every prediction is that of the model after a whole number of examples, no thread sees an
// older state after a newer one, and none waits for the end of a long call. Work takes milliseconds, deadlines seconds.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "named_examples.hpp"

using namespace oplt;
using namespace std::chrono_literals;
using oplt::test::Answers;
using oplt::test::ask;
using oplt::test::make_params;
using oplt::test::NamedExamples;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

/// A model with all options.
ModelParams with_all() {
  ModelParams params = make_params(Policy::kBestGreedy, 3, 5, test::arow(0.5F));
  params.label_memory = 8;
  params.forest.trees = 2;
  params.forest.history = 1000;
  params.forest.first_regrowth = 40;
  return params;
}

struct Seen {
  Answers answers;
  std::optional<std::vector<std::byte>> bytes;  // of a snapshot
};

/// What a reader sees until it is told to stop, and once afterwards.
std::vector<Seen> watch(const OnlineModel& model, const Inputs& questions, bool saves, const std::atomic<bool>& done) {
  std::vector<Seen> result;
  for (bool last = false; !last;) {
    last = done;
    if (saves) {
      const ModelState snapshot = model.snapshot();
      std::this_thread::yield();
      result.push_back({ask(snapshot, questions), saved_bytes(snapshot)});
    } else {
      result.push_back({ask(model, questions), {}});
    }
  }
  return result;
}

/// Runs readers of both kinds during `work`. Returns what each has seen.
std::vector<std::vector<Seen>> watched(const OnlineModel& model, const Inputs& questions,
                                       const std::function<void()>& work) {
  constexpr std::size_t kReaders = 4;
  std::vector<std::vector<Seen>> seen(kReaders);
  std::atomic<bool> done = false;
  std::latch all_started(kReaders);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      all_started.count_down();
      seen[i] = watch(model, questions, i % 2 == 1, done);
    });
  }
  all_started.wait();
  work();
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  return seen;
}

/// What readers should see, by number of examples.
using Expected = std::vector<Seen>;

Seen expected_of(const OnlineModel& model, const Inputs& questions) {
  const ModelState snapshot = model.snapshot();
  return {ask(snapshot, questions), saved_bytes(snapshot)};
}

void check_seen(const std::vector<std::vector<Seen>>& seen, const Expected& expected, std::uint64_t n_before,
                std::uint64_t n_after) {
  for (const std::vector<Seen>& mine : seen) {
    std::uint64_t previous = n_before;
    for (const Seen& one : mine) {
      const std::uint64_t n = one.answers.n_examples;
      CHECK(n >= previous && n <= n_after);
      CHECK(one.answers == expected.at(n - n_before).answers);
      CHECK(!one.bytes || one.bytes == expected.at(n - n_before).bytes);
      previous = n;
    }
    CHECK_EQ(previous, n_after);
  }
}

/// Very many short examples of the same few features and labels.
struct LongStream {
  static constexpr std::size_t kExamples = 2'000'000;

  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> features;
  std::vector<Real> values = std::vector<Real>(3 * kExamples, 1);
  std::vector<std::int64_t> y_indptr;
  std::vector<std::int32_t> labels;

  LongStream() {
    for (std::size_t i = 0; i <= kExamples; ++i) {
      indptr.push_back(static_cast<std::int64_t>(3 * i));
      y_indptr.push_back(static_cast<std::int64_t>(i));
    }
    Random random(1);
    for (std::size_t i = 0; i < kExamples; ++i) {
      const auto label = static_cast<std::int32_t>(random.below(20));
      features.insert(features.end(), {label, 20 + static_cast<std::int32_t>(random.below(30)), 50 + label % 3});
      labels.push_back(label);
    }
  }

  Inputs inputs(std::size_t n) const {
    return {.rows = {{std::span(indptr).first(n + 1)}, {.names = {}, .numbers = features}, values}, .texts = {}};
  }
  void update(OnlineModel& model, std::size_t n, std::size_t threads, const std::function<void()>& poll = {}) const {
    model.learn(inputs(n), {{std::span(y_indptr).first(n + 1)}, {.names = {}, .numbers = labels}}, {}, threads, poll);
  }
};

const LongStream& long_stream() {
  static const LongStream made;
  return made;
}

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("the others are done") {}
};

/// Learns in another thread, in one call that would take very long, until it is told to stop.
class LongCall {
 public:
  LongCall(OnlineModel& model, std::size_t threads)
      : thread_([this, &model, threads] {
          try {
            long_stream().update(model, LongStream::kExamples, threads, [this] {
              begun_ = true;
              if (stop_) {
                throw Stop();
              }
            });
          } catch (const Stop&) {
            was_stopped_ = true;
          }
          begun_ = true;  // in case the call has ended: nobody should wait for it
        }) {
    while (!begun_) {
      std::this_thread::sleep_for(1ms);
    }
  }

  ~LongCall() {
    if (thread_.joinable()) {
      stop();
    }
  }

  /// Returns true if the call had not ended by itself.
  bool stop() {
    stop_ = true;
    thread_.join();
    return was_stopped_;
  }

 private:
  std::atomic<bool> begun_ = false;
  std::atomic<bool> stop_ = false;
  bool was_stopped_ = false;
  std::thread thread_;
};

}  // namespace

TEST("readers and snapshots beside a writer of one example at a time, and of many") {
  constexpr std::size_t kExamples = 200;
  const NamedExamples examples(41, kExamples);
  const Inputs questions = examples.rows(150, 10);
  for (const ModelParams& params : {make_params(), with_all()}) {
    Expected expected;
    OnlineModel alone(params, started(params));
    expected.push_back(expected_of(alone, questions));
    for (std::size_t i = 0; i < kExamples; ++i) {
      examples.update(alone, i, 1, 1);
      expected.push_back(expected_of(alone, questions));
    }
    for (const std::size_t threads : {1U, 3U}) {
      OnlineModel model(params, started(params));
      const auto seen = watched(model, questions, [&] {
        for (std::size_t t = 0; t < kExamples;) {
          const std::size_t n = t < 40 ? 1 : std::min<std::size_t>(t == 40 ? 1 : 50, kExamples - t);
          examples.update(model, t, n, threads);
          t += n;
          CHECK_EQ(model.read([](const ModelState& state) { return state.n_examples(); }), t);
          CHECK(ask(model, questions) == expected[t].answers);
        }
      });
      check_seen(seen, expected, 0, kExamples);
      CHECK(saved_bytes(model) == *expected.back().bytes);
    }
  }
}

TEST("the same beside a writer of texts") {
  constexpr std::size_t kTexts = 120;
  const test::LabelledTexts texts(kTexts);
  const Inputs questions = texts.inputs(80, 90);
  const ModelParams params = with_all();
  Expected expected;
  OnlineModel alone(params, started(params, test::crowded_text()));
  expected.push_back(expected_of(alone, questions));
  for (std::size_t i = 0; i < kTexts; ++i) {
    texts.update(alone, i, i + 1, 1);
    expected.push_back(expected_of(alone, questions));
  }
  OnlineModel model(params, started(params, test::crowded_text()));
  const auto seen = watched(model, questions, [&] {
    for (std::size_t t = 0; t < kTexts; t += 40) {
      texts.update(model, t, t + 40, 3);
    }
  });
  check_seen(seen, expected, 0, kTexts);
}

TEST("two writers and readers: a thread sees its own updates immediately, and nobody sees an older state later") {
  // After the first ones, all examples are equal, so that the order of the writers does not matter.
  constexpr std::size_t kFirst = 100;
  constexpr std::size_t kEach = 150;
  const NamedExamples examples(42, kFirst + 1);
  const Inputs questions = examples.rows(kFirst - 10, 11);
  std::vector<std::int64_t> bounds;
  std::vector<Name> names;
  std::vector<Real> values;
  std::vector<Name> labels;
  const auto make_name = [](std::int64_t number) { return Name{.text = {}, .number = number}; };
  for (std::int64_t i = 0; i <= 40; ++i) {
    bounds.push_back(2 * i);
    if (i < 40) {
      names.insert(names.end(), {make_name(-10), make_name(-6)});
      values.insert(values.end(), {1, 0.5F});
      labels.insert(labels.end(), {make_name(-10), make_name(-8)});
    }
  }
  const auto update = [&](OnlineModel& model, std::size_t n, std::size_t threads) {
    const RowBounds rows{std::span(bounds).first(n + 1)};
    model.learn({.rows = {rows, {.names = names, .numbers = {}}, values}, .texts = {}},
                {rows, {.names = labels, .numbers = {}}}, {}, threads);
  };
  ModelParams params = with_all();
  params.forest.history = 0;
  OnlineModel alone(params, started(params));
  examples.update(alone, 0, kFirst);
  Expected expected{expected_of(alone, questions)};
  for (std::size_t i = 0; i < 2 * kEach; ++i) {
    update(alone, 1, 1);
    expected.push_back(expected_of(alone, questions));
  }

  OnlineModel model(params, started(params));
  examples.update(model, 0, kFirst);
  const auto write = [&](std::size_t n_together, std::size_t threads) {
    const auto n_examples = [&] { return model.read([](const ModelState& state) { return state.n_examples(); }); };
    std::uint64_t previous = n_examples();
    for (std::size_t n = 0; n < kEach; n += n_together) {
      update(model, n_together, threads);
      const std::uint64_t now = n_examples();
      CHECK(now >= previous + n_together);
      CHECK(model.snapshot().n_examples() >= now);
      previous = now;
    }
  };
  const auto seen = watched(model, questions, [&] {
    std::thread other([&] { write(30, 2); });
    write(1, 1);
    other.join();
  });
  check_seen(seen, expected, kFirst, kFirst + 2 * kEach);
}

TEST("during a long call, nobody waits for its end, neither to read, nor to save, nor to learn") {
  for (const std::size_t threads : {1U, 3U}) {
    for (const ModelParams& params : {make_params(), with_all()}) {
      OnlineModel model(params, started(params));
      long_stream().update(model, 200, 1);
      const ModelState held = model.snapshot();
      const auto bytes = saved_bytes(held);
      const Inputs questions = long_stream().inputs(5);
      std::uint64_t n_learnt = 200;
      const auto deadline = std::chrono::steady_clock::now() + 30s;  // 20 ms each are a lot
      {
        LongCall call(model, threads);
        for (int i = 0; i < 20; ++i) {
          const Answers answers = ask(model, questions);
          CHECK(answers.n_examples >= n_learnt);
          long_stream().update(model, 1, 1);
          n_learnt = answers.n_examples + 1;
          const ModelState snapshot = model.snapshot();
          CHECK(snapshot.n_examples() >= n_learnt);
          n_learnt = snapshot.n_examples();
          if (i % 5 == 0) {
            CHECK(saved_bytes(snapshot) == saved_bytes(snapshot));
          }
        }
        CHECK(call.stop());
      }
      CHECK(std::chrono::steady_clock::now() < deadline);
      CHECK(saved_bytes(held) == bytes);
      CHECK(model.snapshot().n_examples() >= n_learnt);
    }
  }
}

TEST("two long calls take turns, and readers see the progress of both") {
  OnlineModel model(make_params(), started(make_params()));
  LongCall one(model, 1);
  LongCall other(model, 2);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  std::uint64_t previous = 0;
  for (int n_newer = 0; n_newer < 3 && std::chrono::steady_clock::now() < deadline;) {
    const std::uint64_t n = model.snapshot().n_examples();
    CHECK(n >= previous);
    n_newer += n > previous ? 1 : 0;
    previous = n;
  }
  CHECK(std::chrono::steady_clock::now() < deadline);
  CHECK(one.stop());
  CHECK(other.stop());
}

TEST("while a caller is polled, others read and learn") {
  OnlineModel model(make_params(), started(make_params()));
  std::latch asked(1);
  std::latch may_go_on(1);
  bool first = true;
  std::thread writer([&] {
    try {
      long_stream().update(model, LongStream::kExamples, 2, [&] {
        if (!first) {
          throw Stop();
        }
        first = false;
        asked.count_down();
        may_go_on.wait();
      });
    } catch (const Stop&) {
    }
  });
  asked.wait();
  const std::uint64_t n = model.snapshot().n_examples();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    long_stream().update(model, 1, 1);
    CHECK_EQ(ask(model, long_stream().inputs(1)).n_examples, n + i);
  }
  may_go_on.count_down();
  writer.join();
  CHECK(model.snapshot().n_examples() >= n + 3);
}

TEST("many threads copy, query, save and drop a snapshot concurrently") {
  const NamedExamples examples(43, 100);
  OnlineModel model(with_all(), started(with_all()));
  examples.update(model);
  const ModelState snapshot = model.snapshot();
  const Answers expected = ask(snapshot, examples.rows(0, 20));
  const auto bytes = saved_bytes(snapshot);
  std::atomic<int> n_wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const ModelState copy = snapshot;
        n_wrong += ask(copy, examples.rows(0, 20)) == expected ? 0 : 1;
        n_wrong += saved_bytes(copy) == bytes ? 0 : 1;
        OnlineModel branch(with_all(), copy);  // each branch learns different examples
        examples.update(branch, 10 * static_cast<std::size_t>(round), 10, 1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK_EQ(n_wrong.load(), 0);
  CHECK(saved_bytes(snapshot) == bytes);
}

TEST("a held model lets nobody learn; after a fork, parent and child continue independently") {
  const NamedExamples examples(44, 60);
  OnlineModel expected(make_params(), started(make_params()));
  examples.update(expected, 0, 50, 1);
  const auto expected_bytes = saved_bytes(expected);

  OnlineModel model(make_params(), started(make_params()));
  examples.update(model, 0, 40, 1);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      ask(model, examples.rows(0, 5));
    }
  });
  model.hold();
  std::atomic<bool> has_learnt = false;
  std::thread writer([&] {
    examples.update(model, 40, 10, 1);
    has_learnt = true;
  });
  std::this_thread::sleep_for(30ms);
  CHECK(!has_learnt);
  const pid_t child = fork();
  if (child == 0) {  // the other threads do not exist here
    model.release_in_child();
    examples.update(model, 40, 10, 1);
    _exit(saved_bytes(model) == expected_bytes ? 0 : 1);
  }
  model.release();
  writer.join();
  done = true;
  reader.join();
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(saved_bytes(model) == expected_bytes);
}

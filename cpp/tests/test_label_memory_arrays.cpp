// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The label memory in a file of arrays.
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "ranking/label_memory.hpp"

using namespace oplt;
using test::saved_bytes;
using test::with_array;
using test::with_value;

namespace {

constexpr std::uint32_t kBound = 16;
constexpr LabelMemory::Limits kNoLimits = {LabelMemory::kAll, LabelMemory::kAll, ~0ULL};
constexpr Real kNoNumber = std::numeric_limits<Real>::quiet_NaN();

// The values in a file for a label, for its features, and for postings.
struct SavedLabel {
  std::uint64_t last;
  Real norm;
  std::uint32_t count;
};
struct SavedCell {
  FeatureId feature;
  Real sum;
  std::uint32_t posting;
};
struct SavedPosting {
  LabelId label;
  Real share;
};

void update(LabelMemory& memory, const std::vector<test::StreamExample>& stream) {
  for (const test::StreamExample& example : stream) {
    memory.learn(example.row(), example.labels, example.weight);
  }
}

LabelMemory taught(std::size_t n_examples, std::uint32_t bound = kBound) {
  LabelMemory memory(bound);
  update(memory, test::random_stream(9, n_examples));
  return memory;
}

LabelMemory open(const std::vector<std::byte>& file, std::uint32_t bound = kBound) {
  return LabelMemory::load(test::read_arrays(file), "thing", bound);
}

void open_and_check(const std::vector<std::byte>& file) { open(file).check(kNoLimits); }

/// Checks that both give the same results for the examples of a stream.
void check_same_answers(const LabelMemory& a, const LabelMemory& b, const std::vector<test::StreamExample>& stream) {
  LabelMemory::Query query_a;
  LabelMemory::Query query_b;
  for (const test::StreamExample& example : stream) {
    std::vector<LabelId> found_a;
    std::vector<LabelId> found_b;
    a.ask(example.row(), query_a);
    b.ask(example.row(), query_b);
    a.find_nearest(7, query_a, found_a);
    b.find_nearest(7, query_b, found_b);
    CHECK_EQ(found_a, found_b);
    for (const LabelId label : found_a) {
      CHECK_EQ(a.similarity(label, query_a).cosine, b.similarity(label, query_b).cosine);
      CHECK_EQ(a.similarity(label, query_a).mean_share, b.similarity(label, query_b).mean_share);
    }
  }
}

/// Queries, updates and queries again: nothing may crash, and no result may be NaN.
void use(LabelMemory& memory) {
  const auto stream = test::random_stream(12, 40);
  for (int round = 0; round < 2; ++round) {
    LabelMemory::Query query;
    for (const test::StreamExample& example : stream) {
      std::vector<LabelId> found;
      memory.ask(example.row(), query);
      memory.find_nearest(5, query, found);
      for (const LabelId label : found) {
        const Similarity s = memory.similarity(label, query);
        CHECK(std::isfinite(s.cosine) && std::isfinite(s.coverage));
        CHECK(std::isfinite(s.mean_share) && std::isfinite(s.largest_share));
      }
    }
    update(memory, stream);
  }
}

}  // namespace

TEST("a memory is used in place in a file, and can be updated") {
  for (const std::uint32_t bound : {1U, 3U, kBound, 1000U}) {
    for (const std::size_t n : {0U, 1U, 600U}) {
      LabelMemory memory = taught(n, bound);
      memory.check(kNoLimits);
      const auto file = saved_bytes(memory);
      LabelMemory loaded = open(file, bound);
      loaded.check(kNoLimits);
      CHECK_EQ(loaded.n_cells(), memory.n_cells());
      CHECK(saved_bytes(loaded) == file);
      const LabelMemory untouched = loaded;
      check_same_answers(memory, loaded, test::random_stream(10, 50));
      for (std::uint64_t seed = 10; seed < 13; ++seed) {
        update(memory, test::random_stream(seed, 200));
        update(loaded, test::random_stream(seed, 200));
        check_same_answers(memory, loaded, test::random_stream(10, 50));
      }
      loaded.check(kNoLimits);
      CHECK(saved_bytes(loaded) == saved_bytes(memory));
      CHECK(saved_bytes(untouched) == file);
    }
  }
}

TEST("a copy of a memory does not change") {
  LabelMemory memory = taught(300);
  const LabelMemory snapshot = memory;
  const auto before = saved_bytes(memory);
  update(memory, test::random_stream(13, 300));
  CHECK(saved_bytes(snapshot) == before);
  snapshot.check(kNoLimits);
  memory.check(kNoLimits);
  CHECK(saved_bytes(memory) != before);
}

TEST("equal memories write equal arrays, whatever the order of their postings") {
  const LabelMemory memory = taught(600);
  CHECK(saved_bytes(open(saved_bytes(memory))) == saved_bytes(memory));  // postings of the loaded one are ascending
}

TEST("the largest and smallest possible numbers pass the check") {
  const std::vector<Real> sizes = {1e-45F, 1e-38F, 1e-30F, 1e-12F, 1, 1e12F, 1e30F, 1e38F};
  LabelMemory memory(kBound);
  for (LabelId label = 0; label < sizes.size(); ++label) {
    for (const Real weight : sizes) {
      memory.learn({std::vector<FeatureId>{0, label + 1}, std::vector<Real>{sizes[label], -sizes[7 - label]}},
                   std::vector<LabelId>{label}, weight);
      memory.check(kNoLimits);
    }
  }
}

TEST("arrays of the wrong sizes are rejected when a memory is loaded") {
  const auto file = saved_bytes(taught(50));
  CHECK_THROWS_WITH(FormatError, "labels differ",
                    open(with_array<SavedLabel>(file, "thing/labels", std::vector<SavedLabel>(3))));
  CHECK_THROWS_WITH(FormatError, "features differ",
                    open(with_array<Real>(file, "thing/weights", std::vector<Real>(3))));
  CHECK_THROWS_WITH(FormatError, "features differ",
                    open(with_array<double>(file, "thing/totals", std::vector<double>(3))));
  CHECK_THROWS_WITH(FormatError, "sizes",
                    open(with_array<SavedCell>(file, "thing/cells/values", std::vector<SavedCell>(3))));
}

TEST("a memory of more labels, features or examples than the model's does not pass the check") {
  const LabelMemory memory = taught(50);
  CHECK_THROWS_WITH(FormatError, "more features", memory.check({1, LabelMemory::kAll, 50}));
  CHECK_THROWS_WITH(FormatError, "more labels", memory.check({LabelMemory::kAll, 1, 50}));
  CHECK_THROWS_WITH(FormatError, "more examples", memory.check({LabelMemory::kAll, LabelMemory::kAll, 49}));
  memory.check({LabelMemory::kAll, LabelMemory::kAll, 50});
}

TEST("content that could do harm does not pass the check of a memory") {
  const auto file = saved_bytes(taught(200));
  const auto arrays = test::read_arrays(file);
  const auto refuses = [&](const char* name, auto value, auto change, const char* text) {
    change(value);
    CHECK_THROWS_WITH(FormatError, text, open_and_check(with_value(file, name, 0, value)));
  };
  const auto label = arrays.get<SavedLabel>("thing/labels")[0];
  refuses("thing/labels", label, [](SavedLabel& l) { l.last = 1000; }, "beyond the last example");
  refuses("thing/labels", label, [](SavedLabel& l) { l.count = 1000; }, "beyond the last example");
  refuses("thing/labels", label, [](SavedLabel& l) { l.norm = kNoNumber; }, "norm");
  refuses("thing/labels", label, [](SavedLabel& l) { l.norm = std::numeric_limits<Real>::infinity(); }, "norm");
  refuses("thing/labels", label, [](SavedLabel& l) { l.norm = 1e-10F; }, "norm");
  const auto cell = arrays.get<SavedCell>("thing/cells/values")[0];
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.feature = 1'000'000; }, "out of order");
  refuses(
      "thing/cells/values", cell,
      [&](SavedCell& c) { c.feature = arrays.get<SavedCell>("thing/cells/values")[1].feature; }, "order");
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.sum = 1e20F; }, "a sum");
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.sum = kNoNumber; }, "a sum");
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.posting = 100'000; }, "another label");
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.posting = 1; }, "another label");
  refuses("thing/cells/values", cell, [](SavedCell& c) { c.posting = kNone; }, "belong to no");
  const auto posting = arrays.get<SavedPosting>("thing/postings/values")[0];
  refuses("thing/postings/values", posting, [](SavedPosting& p) { p.label = 100'000; }, "without a label");
  refuses("thing/postings/values", posting, [](SavedPosting& p) { ++p.label; }, "another label");
  refuses("thing/postings/values", posting, [](SavedPosting& p) { p.share = kNoNumber; }, "share");
  refuses("thing/postings/values", posting, [](SavedPosting& p) { p.share = -1e9F; }, "share");
  const auto set = [](auto wanted) { return [wanted](auto& value) { value = wanted; }; };
  for (const Real weight : {kNoNumber, Real{-1}, Real{1e-9F}, Real{1e9F}}) {
    refuses("thing/weights", Real{1}, set(weight), "weight");
  }
  refuses("thing/weights", Real{1}, set(Real{0}), "a sum");
  refuses("thing/totals", 1.0, set(-1.0), "total");
  refuses("thing/totals", 1.0, set(std::numeric_limits<double>::infinity()), "total");
  refuses("thing/totals", 1.0, set(0.0), "a sum");
  refuses("thing/n_known", std::uint64_t{0}, set(std::uint64_t{0}), "wrong number of labels");
  refuses("thing/n_renewed", std::uint64_t{0}, set(~std::uint64_t{0}), "wrong number of labels");
}

TEST("whatever passes the check does no harm") {
  const auto file = saved_bytes(taught(100));
  const auto arrays = test::read_arrays(file);
  Random random(14);
  int n_passed = 0;
  for (int repetition = 0; repetition < 3000; ++repetition) {
    const ArrayEntry& entry = arrays.entries()[random.below(static_cast<std::uint32_t>(arrays.entries().size()))];
    std::vector<std::byte> bytes(file.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                                 file.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.n_bytes));
    if (!bytes.empty()) {
      bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::byte>(random.below(256));
    }
    const auto damaged = test::file_of([&](ArrayWriter& out) {
      for (const ArrayEntry& other : arrays.entries()) {
        const auto old = std::span(file).subspan(other.offset, other.n_bytes);
        out.put_bytes(other.name, other.value_bytes,
                      other.name == entry.name ? std::span<const std::byte>(bytes) : old);
      }
    });
    try {
      LabelMemory memory = open(damaged);
      memory.check(kNoLimits);
      ++n_passed;
      use(memory);
    } catch (const FormatError&) {
    }
  }
  CHECK(n_passed > 100);
}

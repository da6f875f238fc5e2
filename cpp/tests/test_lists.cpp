// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <vector>

#include "base/lists.hpp"
#include "base/random.hpp"
#include "check.hpp"
#include "helpers.hpp"

using namespace oplt;

namespace {

using Plain = std::vector<std::vector<int>>;
using IntLists = Lists<int>;

Plain content(const IntLists& lists) {
  Plain result;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    result.emplace_back(lists[i].begin(), lists[i].end());
  }
  return result;
}

std::size_t n_values(const Plain& plain) {
  std::size_t n = 0;
  for (const auto& list : plain) {
    n += list.size();
  }
  return n;
}

/// Makes the same changes to both. Few lists get most values.
void change_both(IntLists& lists, Plain& plain, Random& random) {
  const std::size_t i = random.below(1 + random.below(static_cast<std::uint32_t>(plain.size())));
  const int value = static_cast<int>(random.below(1000));
  switch (random.below(8)) {
    case 0:
      if (!plain[i].empty()) {
        lists.pop_back(i);
        plain[i].pop_back();
      }
      break;
    case 1:
      plain[i].assign(random.below(30), value);
      lists.assign(i, plain[i]);
      break;
    case 2:
      for (int& number : lists.write(i)) {
        number += value;
      }
      for (int& number : plain[i]) {
        number += value;
      }
      break;
    default:
      lists.push_back(i, value);
      plain[i].push_back(value);
  }
}

IntLists load(const std::vector<std::byte>& file) { return IntLists::load(test::read_arrays(file), "thing"); }

void grow_both(IntLists& lists, Plain& plain, std::uint64_t seed) {
  Random random(seed);
  for (int step = 0; step < 20'000; ++step) {
    if (step % 20 == 0) {
      plain.emplace_back();
      lists.resize(plain.size());
    }
    change_both(lists, plain, random);
  }
}

}  // namespace

TEST("lists behave like vectors") {
  IntLists lists;
  Plain plain;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    grow_both(lists, plain, seed);
    CHECK(content(lists) == plain);
    CHECK_EQ(lists.n_values(), n_values(plain));
  }
}

TEST("an element of a list may be appended to it") {
  IntLists lists;
  lists.resize(1);
  lists.push_back(0, 5);
  for (int i = 0; i < 1000; ++i) {
    lists.push_back(0, lists[0][0]);
  }
  CHECK(content(lists) == Plain{std::vector(1001, 5)});
}

TEST("lists that grow and shrink repeatedly do not accumulate memory") {
  IntLists lists;
  lists.resize(300);
  std::size_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    for (int n = 1; n < 200; ++n) {
      for (std::size_t i = 0; i < lists.size(); ++i) {
        lists.assign(i, std::vector(static_cast<std::size_t>(n), n));
      }
    }
    for (std::size_t i = 0; i < lists.size(); ++i) {
      lists.assign(i, {});
    }
    after_first = round == 0 ? lists.memory_bytes() : after_first;
  }
  CHECK(lists.memory_bytes() <= after_first);
  CHECK(after_first < 2 * 300 * 200 * sizeof(int));
}

TEST("copies share unwritten chunks, and do not see each other's writes") {
  IntLists lists;
  Plain plain;
  grow_both(lists, plain, 4);
  const IntLists snapshot = lists;
  const Plain then = plain;
  CHECK(snapshot[999].data() == lists[999].data());
  lists.push_back(0, 1);
  plain[0].push_back(1);
  CHECK(snapshot[999].data() == lists[999].data());
  CHECK(snapshot[1].data() != lists[1].data());  // in the same chunk as list 0
  grow_both(lists, plain, 5);
  CHECK(content(lists) == plain);
  CHECK(content(snapshot) == then);
}

TEST("loaded lists stay in the file until they are written to") {
  IntLists lists;
  Plain plain;
  grow_both(lists, plain, 6);
  const auto file = test::saved_bytes(lists);
  IntLists loaded = load(file);
  CHECK(content(loaded) == plain);
  CHECK_EQ(loaded.n_values(), lists.n_values());
  const IntLists untouched = loaded;
  const int* const before = loaded[999].data();
  loaded.push_back(0, 1);
  plain[0].push_back(1);
  CHECK(loaded[999].data() == before);
  CHECK(content(loaded) == plain);
  grow_both(loaded, plain, 7);
  CHECK(content(loaded) == plain);
  CHECK(test::saved_bytes(untouched) == file);
}

TEST("equal lists are saved as equal bytes, whatever their history") {
  IntLists lists;
  Plain plain;
  grow_both(lists, plain, 8);
  IntLists at_once;
  at_once.resize(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    at_once.assign(i, plain[i]);
  }
  const auto file = test::saved_bytes(lists);
  CHECK(test::saved_bytes(at_once) == file);
  CHECK(test::saved_bytes(load(file)) == file);
  CHECK(content(load(test::saved_bytes(IntLists()))).empty());
}

TEST("lists can be saved with changes, without being changed themselves") {
  IntLists lists;
  Plain plain;
  grow_both(lists, plain, 9);
  const auto file = test::file_of([&](ArrayWriter& out) {
    lists.save(out, "thing", [](std::size_t i, std::span<int> list) {
      for (int& number : list) {
        number += static_cast<int>(i);
      }
    });
  });
  CHECK(content(lists) == plain);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (int& number : plain[i]) {
      number += static_cast<int>(i);
    }
  }
  CHECK(content(load(file)) == plain);
}

TEST("sizes that do not match the values are rejected") {
  IntLists lists;
  lists.resize(600);
  lists.push_back(3, 1);
  lists.push_back(599, 2);
  const auto file = test::saved_bytes(lists);
  for (const std::size_t i : {0U, 3U, 300U, 599U}) {
    CHECK_THROWS_WITH(FormatError, "sizes", load(test::with_value(file, "thing/sizes", i, 2U)));
    CHECK_THROWS_WITH(FormatError, "sizes", load(test::with_value(file, "thing/sizes", i, 0xFFFFFFFFU)));
  }
  CHECK_THROWS_WITH(FormatError, "sizes", load(test::with_value(file, "thing/sizes", 3, 0U)));
  CHECK_THROWS_WITH(FormatError, "sizes", load(test::with_value(file, "thing/sizes", 599, 0U)));
}

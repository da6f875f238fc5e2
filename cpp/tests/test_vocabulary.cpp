// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "check.hpp"
#include "encode/vocabulary.hpp"
#include "helpers.hpp"

using oplt::FormatError;
using oplt::kNone;
using oplt::Name;
using oplt::Vocabulary;
using oplt::test::saved_bytes;
using oplt::test::with_array;
using oplt::test::with_value;
using Ids = std::vector<std::uint32_t>;

namespace {

Name text(std::string_view s) { return {.text = s, .number = 0}; }
Name number(std::int64_t n) { return {.text = {}, .number = n}; }

Ids add_together(Vocabulary& vocabulary, const std::vector<Name>& names) {
  Ids ids;
  vocabulary.add_row({.names = names, .numbers = {}}, 0, names.size(), ids);
  return ids;
}

Vocabulary open(const std::vector<std::byte>& file) { return Vocabulary::load(oplt::test::read_arrays(file), "thing"); }

Vocabulary load(const std::vector<std::byte>& bytes) {
  Vocabulary vocabulary = open(bytes);
  vocabulary.check();
  return vocabulary;
}

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST("ids are dense and in order of arrival") {
  Vocabulary vocabulary;
  CHECK_EQ(add_together(vocabulary, {text("pear")}), Ids{0});
  CHECK_EQ(add_together(vocabulary, {text("apple")}), Ids{1});
  CHECK_EQ(add_together(vocabulary, {number(5), text("pear")}), (Ids{2, 0}));
  CHECK_EQ(add_together(vocabulary, {}), Ids{});
  CHECK_EQ(vocabulary.size(), 3U);
  CHECK(vocabulary.name(1) == text("apple"));
  CHECK(vocabulary.name(2) == number(5));
}

TEST("names that arrive together get ids in sorted order, integers before strings") {
  const std::vector<Name> sorted{number(kSmallest), number(-3),  number(2),  number(10),
                                 number(kLargest),  text("10"),  text("2"),  text("B"),
                                 text("a"),         text("a b"), text("ab"), text("\xC3\xA4")};
  oplt::Random random(4);
  for (int repetition = 0; repetition < 50; ++repetition) {
    std::vector<Name> shuffled = sorted;
    for (std::uint32_t i = 1; i < shuffled.size(); ++i) {
      std::swap(shuffled[i], shuffled[random.below(i + 1)]);
    }
    Vocabulary vocabulary;
    const Ids ids = add_together(vocabulary, shuffled);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      CHECK(sorted[ids[i]] == shuffled[i]);
    }
  }
}

TEST("duplicates in a row are one name") {
  Vocabulary vocabulary;
  CHECK_EQ(add_together(vocabulary, {text("b"), number(7), text("b"), text("a"), number(7)}), (Ids{2, 0, 2, 1, 0}));
  CHECK_EQ(vocabulary.size(), 3U);
}

TEST("a number and its text are different names") {
  Vocabulary vocabulary;
  CHECK_EQ(add_together(vocabulary, {text("5"), number(5)}), (Ids{1, 0}));
}

TEST("negative and huge integers are found") {
  const std::vector<Name> names{number(kSmallest),     number(-1),      number(0),
                                number((1 << 22) - 1), number(1 << 22), number(1'000'000'000'000),
                                number(kLargest)};
  Vocabulary vocabulary;
  CHECK_EQ(add_together(vocabulary, names), (Ids{0, 1, 2, 3, 4, 5, 6}));
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    CHECK_EQ(vocabulary.find(names[id]), id);
    CHECK(vocabulary.name(id) == names[id]);
  }
}

TEST("unknown names are not found, and a lookup does not add them") {
  Vocabulary vocabulary;
  CHECK_EQ(vocabulary.find(text("a")), kNone);
  CHECK_EQ(vocabulary.find(number(3)), kNone);
  CHECK_EQ(vocabulary.find(number(-3)), kNone);
  add_together(vocabulary, {text("a"), number(3), number(-4)});
  const std::vector<Name> asked{text("b"), number(3), number(2), number(-3), text("a"), number(kLargest)};
  Ids ids{99};
  vocabulary.find_row({.names = asked, .numbers = {}}, 0, asked.size(), ids);
  CHECK_EQ(ids, (Ids{kNone, 1, kNone, kNone, 2, kNone}));
  CHECK_EQ(vocabulary.size(), 3U);
}

TEST("a part of a list of column numbers can be added") {
  const std::vector<std::int32_t> columns{8, 7, 6, 5};
  Vocabulary vocabulary;
  Ids ids;
  vocabulary.add_row({.names = {}, .numbers = columns}, 1, 3, ids);
  CHECK_EQ(ids, (Ids{1, 0}));
  CHECK_EQ(vocabulary.find(number(6)), 0U);
  CHECK_EQ(vocabulary.find(number(8)), kNone);
}

TEST("many names survive growth") {
  Vocabulary vocabulary;
  const auto name_of = [](std::uint32_t i) { return "name " + std::to_string(i * 7919); };
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::string name = name_of(i);
    CHECK_EQ(add_together(vocabulary, {text(name)}), Ids{i});
  }
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    CHECK_EQ(vocabulary.find(text(name_of(i))), i);
    CHECK_EQ(vocabulary.name(i).text, name_of(i));
  }
  CHECK(vocabulary.memory_bytes() > 1'000'000);
}

TEST("a loaded vocabulary equals the saved one and grows identically") {
  Vocabulary vocabulary;
  add_together(vocabulary, {text("pear"), number(-1), number(12)});
  add_together(vocabulary, {text("apple"), number(kLargest)});
  const auto bytes = saved_bytes(vocabulary);
  Vocabulary loaded = load(bytes);
  CHECK(saved_bytes(loaded) == bytes);
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    CHECK_EQ(loaded.find(vocabulary.name(id)), id);
  }
  CHECK_EQ(add_together(loaded, {text("kiwi"), text("apple")}),
           add_together(vocabulary, {text("kiwi"), text("apple")}));
  CHECK(saved_bytes(load(saved_bytes(Vocabulary()))) == saved_bytes(Vocabulary()));
}

namespace {

/// Names of all kinds, in rows of three.
Vocabulary many_names(std::uint32_t n) {
  Vocabulary vocabulary;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::string name = "name " + std::to_string(i * 7919);
    add_together(vocabulary, {text(name), number(i * 31 % 1009), number(-std::int64_t{i})});
  }
  return vocabulary;
}

void open_and_check(const std::vector<std::byte>& file) { load(file); }

}  // namespace

TEST("a vocabulary is used in place in a file, and can grow") {
  for (const std::uint32_t n : {0U, 1U, 7U, 8U, 9U, 1000U}) {
    Vocabulary vocabulary = many_names(n);
    vocabulary.check();
    const auto file = saved_bytes(vocabulary);
    Vocabulary loaded = open(file);
    loaded.check();
    CHECK_EQ(loaded.memory_bytes(), 0U);
    CHECK_EQ(loaded.size(), vocabulary.size());
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      CHECK(loaded.name(id) == vocabulary.name(id));
      CHECK_EQ(loaded.find(vocabulary.name(id)), id);
    }
    CHECK(saved_bytes(loaded) == file);
    const Vocabulary untouched = loaded;
    for (const Name& name : {text("kiwi"), number(kLargest), number(3), number(5000)}) {
      CHECK_EQ(add_together(loaded, {name, text("plum")}), add_together(vocabulary, {name, text("plum")}));
    }
    loaded.check();
    CHECK(saved_bytes(loaded) == saved_bytes(vocabulary));
    CHECK(saved_bytes(untouched) == file);
  }
}

TEST("names that arrived one by one are saved like those that arrived together") {
  const Vocabulary together = many_names(500);
  Vocabulary singly;
  for (std::uint32_t id = 0; id < together.size(); ++id) {
    add_together(singly, {together.name(id)});
  }
  CHECK(saved_bytes(singly) == saved_bytes(together));
}

TEST("arrays of the wrong sizes are rejected when a vocabulary is loaded") {
  const auto file = saved_bytes(many_names(100));
  CHECK_THROWS_WITH(FormatError, "hash table", open(with_value(file, "thing/n_hashed", 0, 1000U)));
  CHECK_THROWS_WITH(FormatError, "hash table", open(with_value(file, "thing/n_hashed", 0, 1U)));
  CHECK_THROWS_WITH(FormatError, "hash table", open(with_array<std::uint32_t>(file, "thing/slots", Ids(300, kNone))));
  CHECK_THROWS_WITH(FormatError, "too large",
                    open(with_array<std::uint32_t>(file, "thing/direct", Ids(5'000'000, kNone))));
}

TEST("content that could do harm does not pass the check of a vocabulary") {
  struct Entry {
    std::uint64_t begin_or_number;
    std::uint32_t length;
    std::uint32_t unused;
  };
  Vocabulary vocabulary;
  add_together(vocabulary, {number(-7), number(3), number(5), text("aa"), text("ba"), text("c")});
  const auto file = saved_bytes(vocabulary);
  open_and_check(file);
  const auto slots = oplt::test::read_arrays(file).get<std::uint32_t>("thing/slots");
  const auto free_slot = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), kNone) - slots.begin());
  const auto used_slot = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), 4U) - slots.begin());
  CHECK_THROWS_WITH(FormatError, "not contiguous", open_and_check(with_value(file, "thing/names", 3, Entry{1, 2, 0})));
  CHECK_THROWS_WITH(FormatError, "not contiguous",
                    open_and_check(with_value(file, "thing/names", 3, Entry{1ULL << 60, 2, 0})));
  CHECK_THROWS_WITH(FormatError, "not contiguous", open_and_check(with_value(file, "thing/names", 3, Entry{0, 1, 0})));
  CHECK_THROWS_WITH(FormatError, "not contiguous", open_and_check(with_value(file, "thing/names", 3, Entry{0, 2, 1})));
  CHECK_THROWS_WITH(FormatError, "length", open_and_check(with_value(file, "thing/names", 5, Entry{4, 2, 0})));
  CHECK_THROWS_WITH(FormatError, "wrong number", open_and_check(with_value(file, "thing/slots", free_slot, 4U)));
  CHECK_THROWS_WITH(FormatError, "wrong number", open_and_check(with_value(file, "thing/slots", used_slot, kNone)));
  CHECK_THROWS_WITH(FormatError, "does not exist", open_and_check(with_value(file, "thing/slots", used_slot, 6U)));
  CHECK_THROWS_WITH(FormatError, "cannot be found", open_and_check(with_value(file, "thing/slots", used_slot, 5U)));
  CHECK_THROWS_WITH(FormatError, "does not exist", open_and_check(with_value(file, "thing/direct", 3, 99U)));
  CHECK_THROWS_WITH(FormatError, "wrong number", open_and_check(with_value(file, "thing/direct", 3, kNone)));
  CHECK_THROWS_WITH(FormatError, "cannot be found", open_and_check(with_value(file, "thing/direct", 3, 2U)));
  CHECK_THROWS_WITH(FormatError, "twice", open_and_check(with_value(file, "thing/names", 0, Entry{5, 0, 0})));
  CHECK_THROWS_WITH(FormatError, "twice", open_and_check(with_value(file, "thing/text", 2, 'a')));
  CHECK_THROWS_WITH(FormatError, "wrong number",
                    open_and_check(with_array<std::uint32_t>(file, "thing/slots", Ids(16, 3))));
  CHECK_THROWS_WITH(FormatError, "UTF-8", open_and_check(with_value(file, "thing/text", 4, '\xFF')));
}

TEST("a vocabulary without the hash table that its names need does not pass the check") {
  Vocabulary vocabulary;
  add_together(vocabulary, {text("a")});
  auto file = with_value(saved_bytes(vocabulary), "thing/n_hashed", 0, 0U);
  file = with_array<std::uint32_t>(with_array<std::uint32_t>(file, "thing/slots", {}), "thing/direct", Ids{0});
  CHECK_THROWS_WITH(FormatError, "cannot be found", open_and_check(file));
}

TEST("whatever passes the check of a vocabulary does no harm") {
  CHECK(oplt::test::n_harmless(saved_bytes(many_names(30)), 3000, [](const std::vector<std::byte>& file) {
          Vocabulary vocabulary = open(file);
          vocabulary.check();
          for (std::uint32_t i = 0; i < 100; ++i) {
            CHECK(vocabulary.find(number(i)) == kNone || vocabulary.find(number(i)) < vocabulary.size());
            const std::string name = "name " + std::to_string(i * 7919);
            add_together(vocabulary, {text(name), number(-std::int64_t{i})});
          }
          vocabulary.check();
        }) > 50);
}

namespace {

/// Integers whose public hashes differ only in the upper bits (docs/format.md).
std::vector<Name> colliding(std::size_t n) {
  std::uint64_t inverse = 1;  // inverse of the multiplier, by Newton's method
  for (int i = 0; i < 6; ++i) {
    inverse *= 2 - 0x9E3779B97F4A7C15ULL * inverse;
  }
  std::vector<Name> names;
  for (std::uint64_t i = 1; i <= n; ++i) {
    const std::uint64_t wanted = i << 32;
    std::uint64_t h = wanted ^ (wanted >> 29);
    h = wanted ^ (h >> 29);
    h *= inverse;
    names.push_back(number(static_cast<std::int64_t>(h ^ (h >> 32))));
  }
  return names;
}

}  // namespace

TEST("colliding names take linear time, and give the same file") {
  constexpr std::size_t kMany = 200'000;  // would take minutes in quadratic time
  const std::vector<Name> names = colliding(kMany);
  Vocabulary vocabulary;
  add_together(vocabulary, {text("pear"), number(3)});
  add_together(vocabulary, names);
  CHECK_EQ(vocabulary.size(), kMany + 2);
  const auto bytes = saved_bytes(vocabulary);
  Vocabulary again = load(bytes);
  CHECK(saved_bytes(again) == bytes);
  std::vector<std::uint32_t> ids;
  vocabulary.find_row({.names = names, .numbers = {}}, 0, kMany, ids);
  CHECK(std::ranges::none_of(ids, [](std::uint32_t id) { return id == kNone; }));
  const std::vector<Name> more = colliding(2 * kMany);
  std::vector<std::uint32_t> others;
  again.find_row({.names = more, .numbers = {}}, 0, 2 * kMany, others);
  CHECK(std::equal(ids.begin(), ids.end(), others.begin()));
  CHECK(std::all_of(others.begin() + kMany, others.end(), [](std::uint32_t id) { return id == kNone; }));
  for (Vocabulary* one : {&vocabulary, &again}) {
    add_together(*one, {text("apple"), more.back()});
  }
  CHECK(saved_bytes(again) == saved_bytes(vocabulary));
}

TEST("the file of colliding names is that of linear probing") {
  constexpr std::size_t kSome = 300;
  Vocabulary vocabulary;
  add_together(vocabulary, colliding(kSome));
  const auto slots = oplt::test::read_arrays(saved_bytes(vocabulary)).get<std::uint32_t>("thing/slots");
  CHECK_EQ(slots.size(), 1024U);
  for (std::uint32_t id = 0; id < kSome; ++id) {
    CHECK_EQ(slots[id], id);  // the first slot of all of them is 0
  }
}

TEST("a file with colliding duplicate names is rejected") {
  Vocabulary vocabulary;
  add_together(vocabulary, colliding(300));
  struct Entry {
    std::uint64_t number;
    std::uint64_t length;
  };
  const auto bytes = saved_bytes(vocabulary);
  const auto first = oplt::test::read_arrays(bytes).get<Entry>("thing/names")[0];
  CHECK_THROWS_WITH(FormatError, "wrong number of names", load(with_value(bytes, "thing/names", 7, first)));
  CHECK_THROWS_WITH(FormatError, "different numbers",
                    open(with_value(bytes, "thing/names", 7, Entry{.number = 5, .length = 0})));
}

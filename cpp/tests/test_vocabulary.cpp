// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <limits>
#include <string>

#include "base/error.hpp"
#include "check.hpp"
#include "encode/vocabulary.hpp"
#include "helpers.hpp"

using oplt::FormatError;
using oplt::kNone;
using oplt::Name;
using oplt::Reader;
using oplt::Vocabulary;
using oplt::test::saved_bytes;
using Ids = std::vector<std::uint32_t>;

namespace {

Name text(std::string_view s) { return {.text = s, .number = 0}; }
Name number(std::int64_t n) { return {.text = {}, .number = n}; }

Ids add_together(Vocabulary& vocabulary, const std::vector<Name>& names) {
  Ids ids;
  vocabulary.add_row({.names = names, .numbers = {}}, 0, names.size(), ids);
  return ids;
}

Vocabulary load(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Vocabulary vocabulary = Vocabulary::load(in);
  in.expect_end();
  return vocabulary;
}

/// A saved vocabulary in which each entry is (begin of the text or number, length of the text).
std::vector<std::byte> forged(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& entries,
                              std::string_view all_text) {
  struct Forgery {
    void save(oplt::Writer& out) const {
      out.put(static_cast<std::uint32_t>(entries.size()));
      for (const auto& [begin, length] : entries) {
        out.put(begin);
        out.put(length);
      }
      out.put_array(std::span<const char>(all_text));
    }
    const std::vector<std::pair<std::uint64_t, std::uint32_t>>& entries;
    std::string_view all_text;
  };
  return saved_bytes(Forgery{entries, all_text});
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

TEST("a name twice in one row is one name") {
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

TEST("unknown names are not found and not added by a search") {
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

TEST("a loaded vocabulary equals the saved one and grows on like it") {
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

TEST("a damaged vocabulary throws") {
  Vocabulary vocabulary;
  add_together(vocabulary, {text("pear"), text("apple"), number(3)});
  const auto bytes = saved_bytes(vocabulary);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS(FormatError, load(std::span(bytes).first(n)));
  }
  CHECK_EQ(load(forged({{0, 2}, {2, 1}}, "abc")).size(), 2U);
  CHECK_THROWS_WITH(FormatError, "twice", load(forged({{0, 1}, {1, 1}}, "aa")));
  CHECK_THROWS_WITH(FormatError, "twice", load(forged({{8, 0}, {8, 0}}, "")));
  CHECK_THROWS_WITH(FormatError, "beyond", load(forged({{0, 4}}, "abc")));
  CHECK_THROWS_WITH(FormatError, "beyond", load(forged({{4, 1}}, "abc")));
  CHECK_THROWS_WITH(FormatError, "beyond", load(forged({{~std::uint64_t{0}, 2}}, "abc")));
}

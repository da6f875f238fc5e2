// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "encode/term_table.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::saved_bytes;
using oplt::test::with_array;
using oplt::test::with_value;
using Strings = std::vector<std::string>;

namespace {

/// Updates the table with a text that has these words, each once.
std::vector<std::uint32_t> update(TermTable& table, const Strings& words) {
  table.next_text();
  std::vector<std::uint32_t> ids;
  for (const bool known : {true, false}) {
    for (const std::string& word : words) {
      const Term key = table.key(make_term(word, false));
      const std::uint32_t id = table.find(key);
      if (known && id != kNone) {
        table.count(id);
        ids.push_back(id);
      } else if (!known && (id == kNone)) {
        ids.push_back(table.add(key));
      }
    }
  }
  return ids;
}

std::uint32_t find(const TermTable& table, std::string_view word) {
  return table.find(table.key(make_term(word, false)));
}

/// Space-Saving as in the paper: all scores in a map, with a linear search for the smallest.
class Plain {
 public:
  explicit Plain(std::size_t limit) : limit_(limit) {}

  void update(const std::string& word) {
    const auto place = std::find(words_.begin(), words_.end(), word);
    if (place != words_.end()) {
      ++scores_[static_cast<std::size_t>(place - words_.begin())];
    } else if (words_.size() < limit_) {
      words_.push_back(word);
      scores_.push_back(1);
    } else {
      const auto rarest = static_cast<std::size_t>(std::min_element(scores_.begin(), scores_.end()) - scores_.begin());
      words_[rarest] = word;
      ++scores_[rarest];
    }
  }

  const Strings& words() const { return words_; }

 private:
  std::size_t limit_;
  Strings words_;
  std::vector<std::uint32_t> scores_;
};

TermTable reloaded(const TermTable& table, std::uint32_t hash_bits, std::uint32_t limit) {
  TermTable loaded = TermTable::load(test::read_arrays(saved_bytes(table)), "thing", hash_bits, limit);
  loaded.check();
  return loaded;
}

/// Words, some of which are far more frequent than others; new ones keep appearing.
std::string random_word(Random& random, std::uint32_t i) {
  const std::uint32_t n = 1 + i / 4;
  return "w" + std::to_string(random.below(3) > 0 ? random.below(1 + n / 8) : random.below(n));
}

}  // namespace

TEST("hashes are the same on every machine") {
  for (const auto& [text, hash] :
       std::map<std::string_view, std::uint64_t>{{"a", 2957274753674716519ULL},
                                                 {"of", 14094767718084541066ULL},
                                                 {"heap", 16226760526931740332ULL},
                                                 {"overflow", 3915725501543915525ULL},
                                                 {"a longer sequence of words", 15606170231075328951ULL},
                                                 {"日本", 4140133399455440753ULL}}) {
    CHECK_EQ(make_term(text, false).hash, hash);
  }
}

TEST("hashes of texts that differ in a byte, in length or in kind differ") {
  std::set<std::uint64_t> hashes;
  std::size_t n = 0;
  for (std::size_t length = 0; length <= 20; ++length) {
    for (std::size_t i = 0; i <= length; ++i) {
      std::string text(length, 'a');
      if (i < length) {
        text[i] = 'b';
      }
      for (const bool is_chars : {false, true}) {
        hashes.insert(make_term(text, is_chars).hash);
        ++n;
      }
    }
  }
  CHECK_EQ(hashes.size(), n);
}

TEST("terms of a buffer have the hashes of other terms, whatever follows them") {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz\xC3\xA4\xFF";
  for (std::size_t n = 1; n <= letters.size(); ++n) {
    for (const char next : {'\0', ' ', '\xFF'}) {
      const std::string buffer = letters.substr(letters.size() - n) + std::string(8, next);
      for (const bool is_chars : {false, true}) {
        const Term found = oplt::make_term_of_words(std::string_view(buffer).substr(0, n), is_chars);
        CHECK(found == oplt::make_term(letters.substr(letters.size() - n), is_chars));
        CHECK_EQ(found.hash, oplt::make_term(letters.substr(letters.size() - n), is_chars).hash);
      }
    }
  }
}

TEST("the last bits of hashes are uniformly distributed") {
  std::vector<int> counts(1024);
  for (int i = 0; i < 102'400; ++i) {
    ++counts[make_term("word" + std::to_string(i), false).hash % 1024];
  }
  // 100 are expected, with a standard deviation of 10; of 1,024 numbers none is 6 deviations off but once in 500,000.
  CHECK(*std::min_element(counts.begin(), counts.end()) > 40);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 160);
}

TEST("terms get ids in order of arrival and are counted once per text") {
  TermTable table(0, 0);
  CHECK_EQ(find(table, "a"), kNone);
  CHECK_EQ(update(table, {"b", "a"}), (std::vector<std::uint32_t>{0, 1}));
  CHECK_EQ(update(table, {"a", "c"}), (std::vector<std::uint32_t>{1, 2}));
  CHECK_EQ(table.size(), 3U);
  CHECK_EQ(table.n_texts(), 2U);
  CHECK_EQ(table.n_texts_with(1), 2U);
  CHECK_EQ(table.n_texts_with(2), 1U);
  CHECK_EQ(table.term(2).text, "c");
}

TEST("a character n-gram and a word with the same text are different terms") {
  TermTable table(0, 0);
  table.next_text();
  CHECK_EQ(table.add(make_term("the", false)), 0U);
  CHECK_EQ(table.find(make_term("the", true)), kNone);
  CHECK_EQ(table.add(make_term("the", true)), 1U);
  CHECK(table.term(1).is_chars);
}

TEST("with hash_bits, terms whose hashes have the same last bits share an id") {
  TermTable table(3, 0);
  for (int i = 0; i < 200; ++i) {
    update(table, {"w" + std::to_string(i)});
  }
  CHECK_EQ(table.size(), 8U);
  std::uint32_t n = 0;
  for (std::uint32_t id = 0; id < 8; ++id) {
    CHECK(table.term(id).text.empty());
    CHECK(table.term(id).hash < 8);
    n += table.n_texts_with(id);
  }
  CHECK_EQ(n, 200U);
  CHECK_EQ(table.term(find(table, "w17")).hash, make_term("w17", false).hash % 8);
}

TEST("a full table replaces the rarest term, as Space-Saving does") {
  for (const std::uint32_t limit : {1U, 2U, 7U, 50U}) {
    TermTable table(0, limit);
    Plain plain(limit);
    Random random(limit);
    for (std::uint32_t i = 0; i < 3000; ++i) {
      const std::string word = random_word(random, i);
      update(table, {word});
      plain.update(word);
      if (i % 500 == 250) {
        table = reloaded(table, 0, limit);
      }
    }
    CHECK_EQ(table.size(), limit);
    for (std::uint32_t id = 0; id < limit; ++id) {
      CHECK_EQ(table.term(id).text, plain.words()[id]);
      CHECK_EQ(find(table, plain.words()[id]), id);
    }
  }
}

TEST("a term that is frequent enough is never missing") {
  TermTable table(0, 20);
  Random random(8);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    // Each text has 2 terms, and "often" is in every sixth: 833 of 10,000 terms, where 10,000 / 20 suffice.
    update(table, {"rare" + std::to_string(i), i % 6 == 0 ? "often" : "w" + std::to_string(random.below(1000))});
  }
  CHECK(find(table, "often") != kNone);
}

TEST("terms of the current text are not replaced") {
  TermTable table(0, 3);
  update(table, {"a", "b", "c"});
  update(table, {"b"});
  CHECK_EQ(update(table, {"a", "x", "y", "z", "zz"}), (std::vector<std::uint32_t>{0, 2, 1, kNone, kNone}));
  CHECK_EQ(find(table, "a"), 0U);
  CHECK_EQ(find(table, "x"), 2U);  // c was the rarest
  CHECK_EQ(find(table, "y"), 1U);  // then b, because x is in this text
  CHECK_EQ(table.n_texts_with(1), 1U);
  CHECK_EQ(update(table, {"k"}), std::vector<std::uint32_t>{0});  // a, x and y have scores of 2, 2 and 3
}

TEST("a loaded table equals the saved one and continues identically") {
  for (const auto& [hash_bits, limit] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 0}, {0, 30}, {5, 0}}) {
    TermTable table(hash_bits, limit);
    Random random(3);
    for (std::uint32_t i = 0; i < 400; ++i) {
      update(table, {random_word(random, i), "x" + std::to_string(i % 9)});
    }
    TermTable loaded = reloaded(table, hash_bits, limit);
    for (std::uint32_t i = 400; i < 800; ++i) {
      const Strings words{random_word(random, i), "y" + std::to_string(i % 9)};
      CHECK_EQ(update(table, words), update(loaded, words));
    }
    CHECK(saved_bytes(table) == saved_bytes(loaded));
  }
}

TEST("memory_bytes() includes long terms") {
  TermTable table(0, 0);
  update(table, {"a"});
  const std::size_t before = table.memory_bytes();
  TermTable other(0, 0);
  update(other, {std::string(1000, 'a')});
  CHECK(other.memory_bytes() >= before + 999);
}

namespace {

using Kind = std::pair<std::uint32_t, std::uint32_t>;  // hash_bits and limit
const std::vector<Kind> kKinds{{0, 0}, {0, 30}, {5, 0}, {5, 20}};

TermTable open(const std::vector<std::byte>& file, Kind kind = {0, 0}) {
  return TermTable::load(test::read_arrays(file), "thing", kind.first, kind.second);
}

void update_many(TermTable& table, std::uint32_t begin, std::uint32_t end) {
  Random random(begin);
  for (std::uint32_t i = begin; i < end; ++i) {
    update(table, {random_word(random, i), "x" + std::to_string(i % 9)});
  }
}

/// The entry of a term in a file.
struct Entry {
  std::uint64_t begin;
  std::uint64_t hash;
  std::uint64_t last_text;
  std::uint32_t length;
  std::uint32_t score;
  std::uint32_t inherited;
  std::uint32_t is_chars;
};

struct Slot {
  std::uint32_t tag;
  std::uint32_t id;
};

}  // namespace

TEST("a table is used in place in a file, and can be updated") {
  for (const Kind& kind : kKinds) {
    for (const std::uint32_t n : {0U, 1U, 400U}) {
      TermTable table(kind.first, kind.second);
      update_many(table, 0, n);
      table.check();
      const auto file = saved_bytes(table);
      TermTable loaded = open(file, kind);
      loaded.check();
      CHECK_EQ(loaded.memory_bytes(), 0U);
      for (std::uint32_t id = 0; id < table.size(); ++id) {
        CHECK_EQ(loaded.find(table.term(id)), id);
        CHECK_EQ(loaded.n_texts_with(id), table.n_texts_with(id));
      }
      CHECK(saved_bytes(loaded) == file);
      const TermTable untouched = loaded;
      update_many(table, n, 800);
      update_many(loaded, n, 800);
      loaded.check();
      CHECK(saved_bytes(loaded) == saved_bytes(table));
      CHECK(saved_bytes(untouched) == file);
    }
  }
}

TEST("equal tables write equal arrays, however they grew") {
  for (const Kind& kind : kKinds) {
    TermTable table(kind.first, kind.second);
    update_many(table, 0, 3000);
    CHECK(saved_bytes(reloaded(table, kind.first, kind.second)) == saved_bytes(table));
  }
}

TEST("the texts of replaced terms do not accumulate") {
  TermTable table(0, 50);
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    update(table, {std::string(100, 'a') + std::to_string(i)});
    most = std::max(most, table.memory_bytes());
  }
  table.check();
  CHECK(most < 50 * (110 * 3 + 200));
}

TEST("arrays of the wrong sizes are rejected when a table is loaded") {
  TermTable table(0, 0);
  update_many(table, 0, 100);
  const auto file = saved_bytes(table);
  CHECK_THROWS_WITH(FormatError, "max_features", open(file, {0, table.size() - 1}));
  CHECK_THROWS_WITH(FormatError, "hash table", open(with_array<Slot>(file, "thing/slots", std::vector<Slot>(100))));
}

TEST("content that could do harm does not pass the check of a table") {
  TermTable table(0, 0);
  update(table, {"pear", "apple", "fig"});
  update(table, {"pear"});
  const auto file = saved_bytes(table);
  const auto arrays = test::read_arrays(file);
  const Entry entry = arrays.get<Entry>("thing/terms")[0];
  const auto slots = arrays.get<Slot>("thing/slots");
  const auto slot_of = [&](std::uint32_t id) {
    return static_cast<std::size_t>(std::find_if(slots.begin(), slots.end(), [id](Slot s) { return s.id == id; }) -
                                    slots.begin());
  };
  const auto refuses = [&](auto change, const char* text) {
    Entry changed = entry;
    change(changed);
    CHECK_THROWS_WITH(FormatError, text, open(with_value(file, "thing/terms", 0, changed)).check());
  };
  refuses([](Entry& e) { e.begin = ~std::uint64_t{0}; }, "beyond");
  refuses([](Entry& e) { e.length = 100; }, "beyond");
  refuses([](Entry& e) { e.is_chars = 2; }, "beyond");
  refuses([](Entry& e) { e.score = 0; }, "wrong count");
  refuses([](Entry& e) { e.score = 3; }, "wrong count");
  refuses([](Entry& e) { e.inherited = 2; }, "wrong count");
  refuses([](Entry& e) { e.last_text = 3; }, "wrong count");
  refuses([](Entry& e) { ++e.hash; }, "wrong hash");
  refuses([](Entry& e) { e.is_chars = 1; }, "wrong hash");
  refuses([](Entry& e) { e.length = 0; }, "empty");
  refuses([&](Entry& e) { e = arrays.get<Entry>("thing/terms")[1]; }, "length");
  const auto with_slot = [&](std::size_t i, Slot slot) { return open(with_value(file, "thing/slots", i, slot)); };
  CHECK_THROWS_WITH(FormatError, "does not exist", with_slot(slot_of(0), {0, 3}).check());
  CHECK_THROWS_WITH(FormatError, "wrong number", with_slot(slot_of(0), {0, kNone}).check());
  CHECK_THROWS_WITH(FormatError, "wrong number", with_slot(slot_of(kNone), {0, 2}).check());
  CHECK_THROWS_WITH(FormatError, "cannot be found", with_slot(slot_of(0), {0, 0}).check());
  CHECK_THROWS_WITH(FormatError, "cannot be found", with_slot(slot_of(0), slots[slot_of(1)]).check());
  CHECK_THROWS_WITH(FormatError, "more bits", open(file, {20, 0}).check());
}

TEST("a hash of too many bits does not pass the check of a table") {
  TermTable table(20, 0);
  update(table, {"pear", "apple"});
  open(saved_bytes(table), {20, 0}).check();
  CHECK_THROWS_WITH(FormatError, "more bits", open(saved_bytes(table), {3, 0}).check());
}

TEST("whatever passes the check of a table does no harm") {
  for (const Kind& kind : kKinds) {
    TermTable table(kind.first, kind.second);
    update_many(table, 0, 100);
    CHECK(test::n_harmless(saved_bytes(table), 2000, [&](const std::vector<std::byte>& file) {
            TermTable loaded = open(file, kind);
            loaded.check();
            update_many(loaded, 50, 200);
            loaded.check();
          }) > 50);
  }
}

TEST("counts saturate at the maximum, and impossible counts are rejected") {
  TermTable table(0, 2);
  update(table, {"pear", "apple"});
  const auto bytes = saved_bytes(table);
  CHECK_THROWS_WITH(FormatError, "impossible number of texts",
                    open(with_value(bytes, "thing/n_texts", 0, ~std::uint64_t{0}), {0, 2}).check());
  for (const Kind& kind : kKinds) {
    TermTable full(kind.first, kind.second);
    update_many(full, 0, 10);
    full = open(with_value(saved_bytes(full), "thing/n_texts", 0, std::uint64_t{1} << 62), kind);
    full.check();
    update_many(full, 5, 20);
    full.check();
    CHECK_EQ(full.n_texts(), std::uint64_t{1} << 62);
  }
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const auto counted = with_value(bytes, "thing/n_texts", 0, kMany);
  TermTable loaded =
      open(with_value(counted, "thing/terms", 0,
                      [&] {
                        auto entry = test::read_arrays(counted).get<std::array<std::uint32_t, 10>>("thing/terms")[0];
                        entry[7] = 0xFFFFFFFF;  // its score
                        return entry;
                      }()),
           {0, 2});
  loaded.check();
  update(loaded, {"pear", "apple"});
  loaded.check();
  update(loaded, {"pear", "fig"});
  update(loaded, {"kiwi", "plum"});  // one of them replaces the term with the highest count
  loaded.check();
  open(saved_bytes(loaded), {0, 2}).check();
}

TEST("colliding hashes take linear time, and give the same file") {
  constexpr std::uint64_t kMany = 60'000;
  TermTable table(32, 0);
  table.next_text();
  const auto key = [](std::uint64_t i) { return Term{{}, false, i << 16}; };
  for (std::uint64_t i = 0; i < kMany; ++i) {
    CHECK_EQ(table.add(key(i)), i);
  }
  const auto bytes = saved_bytes(table);
  TermTable again = open(bytes, {32, 0});
  again.check();
  CHECK(saved_bytes(again) == bytes);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    CHECK(table.find(key(i)) == i && again.find(key(i)) == i && again.find(key(i + kMany)) == kNone);
  }
}

TEST("words with colliding hashes are added and replaced like others") {
  Strings chosen;
  for (std::uint32_t i = 0; chosen.size() < 1500; ++i) {
    if (std::string word = "w" + std::to_string(i); make_term(word, false).hash % 1024 == 0) {
      chosen.push_back(std::move(word));
    }
  }
  for (const std::uint32_t limit : {0U, 500U}) {
    TermTable table(0, limit);
    for (std::size_t i = 0; i + 10 <= chosen.size(); i += 5) {
      update(table, Strings(chosen.begin() + static_cast<std::ptrdiff_t>(i),
                            chosen.begin() + static_cast<std::ptrdiff_t>(i + 10)));
    }
    table.check();
    TermTable again = open(saved_bytes(table), {0, limit});
    again.check();
    CHECK(saved_bytes(again) == saved_bytes(table));
    for (const std::string& word : chosen) {
      CHECK_EQ(find(table, word), find(again, word));
    }
    CHECK(update(table, {chosen[3], "pear"}) == update(again, {chosen[3], "pear"}));
    CHECK(saved_bytes(again) == saved_bytes(table));
  }
}

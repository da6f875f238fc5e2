// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "check.hpp"
#include "encode/label_book.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::numbered_labels;
using oplt::test::read_arrays;
using oplt::test::saved_bytes;
using oplt::test::with_value;

namespace {

using Kind = LabelOperation::Kind;

Name named(std::string_view text) { return {.text = text, .number = 0}; }

/// Labels a, b and c, with the ids 0, 1 and 2.
LabelBook letters() {
  LabelBook book;
  std::vector<NameId> ids;
  const std::vector<Name> names{named("a"), named("b"), named("c")};
  book.add_row({.names = names, .numbers = {}}, 0, 3, ids);
  return book;
}

LabelOperation operation(Kind kind, std::string_view label, std::string_view other = {}, std::uint64_t n = 0) {
  return {.kind = kind, .label = named(label), .other = named(other), .n_examples = n};
}

std::vector<LabelId> resolved(const LabelBook& book, std::vector<NameId> names, std::uint64_t number) {
  book.resolve(names, number);
  return names;
}

LabelBook reloaded(const LabelBook& book, std::uint64_t n_examples = 100) {
  LabelBook loaded = LabelBook::load(read_arrays(saved_bytes(book)), "thing");
  loaded.check(n_examples, false);
  return loaded;
}

using Labels = std::vector<LabelId>;

}  // namespace

TEST("without operations, the ids of names are those of labels") {
  LabelBook book = letters();
  CHECK_EQ(book.size(), 3U);
  CHECK_EQ(book.find(named("b")), 1U);
  CHECK_EQ(book.find(named("d")), kNone);
  CHECK_EQ(resolved(book, {2, 0, 2}, 7), (Labels{0, 2}));
  CHECK(!book.unshown() && book.aliases().empty() && book.log().size() == 0);
}

TEST("a renamed label is found by both names, and new labels get ids of their own") {
  LabelBook book = letters();
  CHECK_EQ(book.apply(operation(Kind::kRename, "b", "x")).label, 1U);
  CHECK_EQ(book.find(named("b")), 1U);
  CHECK_EQ(book.find(named("x")), 1U);
  CHECK(book.name(1) == named("x"));
  CHECK_EQ(book.size(), 3U);
  std::vector<NameId> ids;
  const std::vector<Name> names{named("d"), named("x")};
  book.add_row({.names = names, .numbers = {}}, 0, 2, ids);
  CHECK_EQ(book.size(), 4U);
  CHECK_EQ(resolved(book, ids, 0), (Labels{1, 3}));
  CHECK(book.name(3) == named("d"));
  CHECK_EQ(book.aliases().size(), 1U);
  CHECK(book.aliases()[0].second == named("b"));
  CHECK_EQ(book.apply(operation(Kind::kRename, "x", "b")).label, 1U);  // back again
  CHECK(book.name(1) == named("b"));
  CHECK_EQ(book.apply(operation(Kind::kRename, "x", "b")).label, kNone);  // nothing to do
  CHECK_EQ(book.log().size(), 2U);
}

TEST("hidden labels are known, but not shown") {
  LabelBook book = letters();
  CHECK_EQ(book.apply(operation(Kind::kHide, "a")).label, 0U);
  CHECK_EQ(book.apply(operation(Kind::kHide, "a")).label, kNone);
  CHECK(book.is_hidden(0) && !book.is_shown(0) && book.is_shown(1) && book.is_shown(17));
  CHECK(book.n_present() == 3 && book.n_shown() == 2);
  CHECK_EQ(resolved(book, {0, 1}, 0), (Labels{0, 1}));
  CHECK_EQ(book.apply(operation(Kind::kUnhide, "a")).label, 0U);
  CHECK(!book.unshown() && book.n_shown() == 3);
}

TEST("the labels of an example are those that its names had then") {
  LabelBook book = letters();
  const LabelBook::Change merged = book.apply(operation(Kind::kMerge, "a", "b", 10));
  CHECK(merged.label == 0 && merged.into == 1);
  book.apply(operation(Kind::kRemove, "b", {}, 20));
  CHECK_EQ(resolved(book, {0, 1, 2}, 9), (Labels{0, 1, 2}));
  CHECK_EQ(resolved(book, {0, 1, 2}, 10), (Labels{1, 2}));
  CHECK_EQ(resolved(book, {0, 1, 2}, 20), (Labels{2}));
  CHECK(book.find(named("a")) == kNone && book.find(named("b")) == kNone);
  CHECK(book.n_present() == 1 && book.n_shown() == 1 && book.size() == 3);
}

TEST("an unknown name can become an alias") {
  LabelBook book = letters();
  const LabelBook::Change change = book.apply(operation(Kind::kMerge, "x", "b"));
  CHECK(change.label == 1 && change.into == kNone);
  CHECK_EQ(book.find(named("x")), 1U);
  CHECK_EQ(book.size(), 3U);
  CHECK_EQ(book.apply(operation(Kind::kMerge, "x", "b")).label, kNone);
}

TEST("a label can take the name of one that was merged into it") {
  LabelBook book = letters();
  book.apply(operation(Kind::kMerge, "a", "b"));
  book.apply(operation(Kind::kRename, "b", "a"));
  CHECK(book.name(1) == named("a"));
  CHECK_EQ(book.find(named("b")), 1U);
  CHECK(reloaded(book).name(1) == named("a"));
}

TEST("impossible operations have no effect") {
  LabelBook book = letters();
  book.apply(operation(Kind::kRemove, "c"));
  const std::vector<std::byte> before = saved_bytes(book);
  for (const Kind kind : {Kind::kRename, Kind::kHide, Kind::kUnhide, Kind::kRemove}) {
    CHECK_THROWS_WITH(LabelRefused, "knows no label 'd'", book.apply(operation(kind, "d", "e")));
    CHECK_THROWS_WITH(LabelRefused, "'c' has been removed", book.apply(operation(kind, "c", "e")));
  }
  CHECK_THROWS_WITH(LabelRefused, "another label 'b'", book.apply(operation(Kind::kRename, "a", "b")));
  CHECK_THROWS_WITH(LabelRefused, "'c' has been removed", book.apply(operation(Kind::kRename, "a", "c")));
  CHECK_THROWS_WITH(LabelRefused, "'c' has been removed", book.apply(operation(Kind::kAdd, "c")));
  CHECK_THROWS_WITH(LabelRefused, "'c' has been removed", book.apply(operation(Kind::kMerge, "c", "a")));
  CHECK_THROWS_WITH(LabelRefused, "knows no label 'd'", book.apply(operation(Kind::kMerge, "a", "d")));
  CHECK(saved_bytes(book) == before);
}

TEST("operations are recorded as they were asked for") {
  LabelBook book = letters();
  LabelOperation add = operation(Kind::kAdd, "d", {}, 3);
  add.description = {.text = "a text", .names = {named("f"), {.text = {}, .number = -7}}, .values = {0.5F, 2}};
  CHECK_EQ(book.apply(add).label, 3U);
  CHECK_EQ(book.apply(operation(Kind::kAdd, "d", {}, 4)).label, kNone);
  LabelOperation of_features = operation(Kind::kAdd, "d", {}, 4);
  of_features.description = {.text = {}, .names = {}, .values = {}};
  CHECK_EQ(book.apply(of_features).label, 3U);
  book.apply(operation(Kind::kMerge, "a", "b", 5));
  const LabelBook loaded = LabelBook::load(read_arrays(saved_bytes(book)), "thing");  // no model has both kinds
  for (const LabelBook* each : std::vector<const LabelBook*>{&book, &loaded}) {
    const LabelLog& log = each->log();
    CHECK(log.size() == 3 && log.n_texts() == 1);
    CHECK(log[0].kind == Kind::kAdd && log[0].n_examples == 3 && log[0].label == named("d"));
    CHECK_EQ(*log[0].description->text, "a text");
    CHECK(log[0].description->names[1] == (Name{.text = {}, .number = -7}));
    CHECK_EQ(log[0].description->values, (std::vector<Real>{0.5F, 2}));
    CHECK(log[1].description && !log[1].description->text && log[1].description->names.empty());
    CHECK(log[2].kind == Kind::kMerge && log[2].other == named("b") && !log[2].description);
  }
}

TEST("a loaded book is the same as the saved one") {
  LabelBook book = letters();
  for (const LabelOperation& each :
       {operation(Kind::kHide, "a", {}, 1), operation(Kind::kRename, "b", "x", 2), operation(Kind::kMerge, "c", "x", 3),
        operation(Kind::kAdd, "d", {}, 4), operation(Kind::kRemove, "d", {}, 5)}) {
    book.apply(each);
    LabelBook loaded = reloaded(book);
    CHECK(saved_bytes(loaded) == saved_bytes(book));
    CHECK(loaded.n_present() == book.n_present() && loaded.n_shown() == book.n_shown());
    for (LabelId label = 0; label < book.size(); ++label) {
      CHECK_EQ(loaded.is_shown(label), book.is_shown(label));
      CHECK_EQ((*loaded.unshown())[label], !book.is_shown(label));
    }
    loaded.apply(operation(Kind::kRename, "a", "other", 9));  // copies what is still in the file
    CHECK(saved_bytes(loaded) != saved_bytes(book));
  }
}

TEST("a label that has taken the name of a merged one can end") {
  for (const LabelOperation& end : {operation(Kind::kRemove, "a"), operation(Kind::kMerge, "a", "c")}) {
    LabelBook book = letters();
    book.apply(operation(Kind::kMerge, "a", "b"));
    book.apply(operation(Kind::kRename, "b", "a"));
    book.apply(end);
    CHECK(saved_bytes(reloaded(book)) == saved_bytes(book));
  }
}

TEST("a description of the wrong kind is refused") {
  LabelOperation described = operation(Kind::kAdd, "d");
  described.description = LabelDescription{.text = {}, .names = {}, .values = {}};
  LabelBook by_features = letters();
  by_features.apply(described);
  described.description->text = "a text";
  LabelBook by_text = letters();
  by_text.apply(described);
  const auto is_refused = [](const LabelBook& book, bool of_texts) {
    try {
      book.check(0, of_texts);
      return false;
    } catch (const FormatError&) {
      return true;
    }
  };
  CHECK(is_refused(by_features, true) && !is_refused(by_features, false));
  CHECK(is_refused(by_text, false) && !is_refused(by_text, true));
}

TEST("damaged books are refused") {
  LabelBook book = letters();
  book.apply(operation(Kind::kRename, "b", "x", 2));
  book.apply(operation(Kind::kMerge, "a", "b", 3));
  const std::vector<std::byte> file = saved_bytes(book);
  const auto refused = [](const std::vector<std::byte>& changed, std::uint64_t n_examples) {
    try {
      LabelBook::load(read_arrays(changed), "thing").check(n_examples, false);
      return false;
    } catch (const FormatError&) {
      return true;
    }
  };
  CHECK(!refused(file, 3));
  CHECK(refused(file, 2));  // an operation after more examples than there are
  CHECK(refused(with_value(file, "thing/label_of", 0, std::uint32_t{3}), 9));
  CHECK(refused(with_value(file, "thing/name_of", 0, std::uint32_t{4}), 9));
  CHECK(refused(with_value(file, "thing/name_of", 0, std::uint32_t{2}), 9));
  CHECK(refused(test::with_array<std::uint32_t>(file, "thing/name_of", {}), 9));
  struct Fate {
    std::uint64_t ended_at;
    LabelId successor;
    std::uint32_t status;
  };
  CHECK(refused(with_value(file, "thing/fates", 0, Fate{3, 0, 2}), 9));  // merged into itself
  CHECK(refused(with_value(file, "thing/fates", 0, Fate{3, 3, 2}), 9));
  CHECK(refused(with_value(file, "thing/fates", 0, Fate{3, 1, 0}), 9));
  CHECK(refused(with_value(file, "thing/fates", 0, Fate{3, kNone, 3}), 9));
  CHECK(!refused(with_value(file, "thing/fates", 0, Fate{3, kNone, 2}), 9));
  CHECK(refused(with_value(file, "thing/fates", 0, Fate{0, kNone, 0}), 9));  // one fewer than there should be
  const auto bytes = read_arrays(file).get<std::uint8_t>("thing/operations");
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK(refused(test::with_array<std::uint8_t>(file, "thing/operations", bytes.view().first(n)), 9));
  }
}

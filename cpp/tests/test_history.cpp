// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "check.hpp"
#include "encode/history.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::saved_bytes;
using oplt::test::with_array;
using oplt::test::with_value;

namespace {

EncodedFeatures features_of(const EncodedExample& example) {
  return {.ids = example.ids, .values = example.values, .of_text = example.of_text, .frequencies = example.frequencies};
}

History history_of(std::span<const EncodedExample> examples, std::size_t piece_size = 1) {
  History history;
  for (std::size_t begin = 0; begin < examples.size(); begin += piece_size) {
    History::Piece piece;
    for (const EncodedExample& example : examples.subspan(begin, std::min(piece_size, examples.size() - begin))) {
      piece.add(features_of(example), example.label_names, example.weight);
    }
    history.append(piece);
  }
  return history;
}

std::vector<EncodedExample> read_all(const History& history) {
  std::vector<EncodedExample> examples(history.size());
  History::Reader reader;
  for (EncodedExample& example : examples) {
    CHECK(!reader.is_at_end(history));
    reader.next(history, example);
  }
  CHECK(reader.is_at_end(history));
  return examples;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
         });
}

bool same(const EncodedExample& a, const EncodedExample& b) {
  return a.ids == b.ids && same_bits(a.values, b.values) && a.of_text == b.of_text && a.frequencies == b.frequencies &&
         a.label_names == b.label_names && a.weight == b.weight;
}

bool same(const std::vector<EncodedExample>& a, const std::vector<EncodedExample>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const EncodedExample& x, const EncodedExample& y) { return same(x, y); });
}

/// All sizes of numbers, and values that differ in some bytes or none.
std::vector<EncodedExample> random_examples(std::uint64_t seed, std::size_t n, bool of_text) {
  Random random(seed);
  std::vector<EncodedExample> examples;
  LabelId n_labels = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EncodedExample& example = examples.emplace_back();
    example.of_text = of_text;
    FeatureId id = random.below(3) == 0 ? 0 : random.below(1000);
    Real value = 1;
    for (std::uint32_t left = random.below(12); left > 0; --left) {
      value = random.below(4) == 0   ? value
              : random.below(3) == 0 ? -value / 3
                                     : value * (1 + static_cast<Real>(random.below(100)) / 100);
      example.ids.push_back(id);
      example.values.push_back(value);
      if (of_text) {
        example.frequencies.push_back(random.below(3) == 0 ? random.below(1U << random.below(31)) : 1);
      }
      id += 1 + random.below(1U << random.below(20));
    }
    for (LabelId label = 0; label < n_labels; label += 1 + random.below(2 * n_labels)) {
      example.label_names.push_back(label);
    }
    for (std::uint32_t n_new = random.below(3); n_new > 0; --n_new) {
      example.label_names.push_back(n_labels++);
    }
    example.weight = random.below(2) == 0 ? 1 : static_cast<Real>(random.below(100) + 1) / 7;
  }
  return examples;
}

std::uint32_t n_labels_of(const std::vector<EncodedExample>& examples) {
  std::uint32_t n = 0;
  for (const EncodedExample& example : examples) {
    n = example.label_names.empty() ? n : std::max(n, example.label_names.back() + 1);
  }
  return n;
}

constexpr std::uint32_t kAnyFeature = kNone;

std::size_t n_bytes_of(const History& history) {
  return test::read_arrays(saved_bytes(history)).get<std::uint8_t>("thing/examples").size();
}

History opened(const std::vector<std::byte>& file) { return History::load(test::read_arrays(file), "thing"); }

}  // namespace

TEST("examples are read as they were added, however they were split into pieces, also after saving and loading") {
  for (const bool of_text : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<EncodedExample> examples = random_examples(seed, 300, of_text);
      const std::vector<std::byte> file = saved_bytes(history_of(examples));
      for (const std::size_t piece_size : {1U, 7U, 300U}) {
        const History history = history_of(examples, piece_size);
        CHECK_EQ(history.size(), examples.size());
        CHECK(same(read_all(history), examples));
        CHECK(saved_bytes(history) == file);
        history.check(kAnyFeature, n_labels_of(examples), of_text);
      }
      CHECK(same(read_all(opened(file)), examples));
    }
  }
}

TEST("the order of an example's features does not matter") {
  const std::vector<EncodedExample> examples = random_examples(1, 50, true);
  std::vector<EncodedExample> reversed = examples;
  for (EncodedExample& example : reversed) {
    std::ranges::reverse(example.ids);
    std::ranges::reverse(example.values);
    std::ranges::reverse(example.frequencies);
  }
  CHECK(saved_bytes(history_of(reversed)) == saved_bytes(history_of(examples)));
}

TEST(
    "values of a feature that occurs twice are added, except in a text, where it may be a term and a further feature") {
  for (const bool of_text : {false, true}) {
    EncodedExample example;
    example.ids = {3, 5, 5, 9};
    example.values = {1, 2, 4, 1};
    example.of_text = of_text;
    example.frequencies.assign(of_text ? 4 : 0, 1);
    const EncodedExample read = read_all(history_of({&example, 1}))[0];
    CHECK(read.ids == (of_text ? example.ids : std::vector<FeatureId>{3, 5, 9}));
    CHECK(read.values == (of_text ? example.values : std::vector<Real>{1, 6, 1}));
  }
}

TEST("equal values take no space, and similar ones three bytes") {
  EncodedExample example;
  for (FeatureId id = 0; id < 100; ++id) {
    example.ids.push_back(id);
    example.values.push_back(1);
  }
  const std::size_t n_equal = n_bytes_of(history_of({&example, 1}));
  CHECK(n_equal <= 100 + 3);  // one for each id
  for (std::size_t i = 0; i < 100; ++i) {
    example.values[i] = 1 + static_cast<Real>(i + 1) / 1000;
  }
  CHECK_EQ(n_bytes_of(history_of({&example, 1})), n_equal + 300);
}

TEST("examples can be appended to a loaded history, which stays in the file, and to copies") {
  const std::vector<EncodedExample> examples = random_examples(2, 400, false);
  const std::span<const EncodedExample> all(examples);
  const std::vector<std::byte> file = saved_bytes(history_of(all.first(200)));
  History loaded = opened(file);
  CHECK_EQ(loaded.memory_bytes(), 0U);
  std::vector<History> copies;
  for (std::size_t i = 200; i < 400; ++i) {
    copies.push_back(loaded);
    History::Piece piece;
    piece.add(features_of(examples[i]), examples[i].label_names, examples[i].weight);
    loaded.append(piece);
  }
  CHECK(same(read_all(loaded), examples));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    CHECK(saved_bytes(copies[i]) == saved_bytes(history_of(all.first(200 + i))));
  }
}

TEST("a reader goes on with examples that are appended later") {
  const std::vector<EncodedExample> examples = random_examples(3, 100, false);
  History history;
  History::Reader reader;
  for (const EncodedExample& example : examples) {
    CHECK(reader.is_at_end(history));
    History::Piece piece;
    piece.add(features_of(example), example.label_names, example.weight);
    history.append(piece);
    EncodedExample read;
    reader.next(history, read);
    CHECK(same(read, example));
  }
}

TEST("a history of more than one chunk") {
  const std::vector<EncodedExample> examples = random_examples(4, 20'000, false);
  const History history = history_of(examples, 100);
  CHECK(n_bytes_of(history) > 600'000);
  CHECK(same(read_all(history), examples));
}

TEST("a history that does not match the model is rejected") {
  EncodedExample first;
  first.ids = {9};
  first.values = {0.5F};
  first.label_names = {0, 1};
  EncodedExample second;
  second.label_names = {1, 2};
  const std::vector<EncodedExample> examples{first, second};
  history_of(examples).check(10, 3, false);
  CHECK_THROWS_WITH(FormatError, "does not match", history_of(examples).check(9, 3, false));
  CHECK_THROWS_WITH(FormatError, "does not match", history_of(examples).check(10, 2, false));
  history_of(examples).check(10, 4, false);  // a label that is known without an example
  CHECK_THROWS_WITH(FormatError, "does not match", history_of(examples).check(10, 3, true));
  const auto refused = [&](auto change) {
    std::vector<EncodedExample> changed = examples;
    change(changed);
    CHECK_THROWS_WITH(FormatError, "does not match", history_of(changed).check(10, 3, false));
  };
  refused([](auto& changed) { changed[0].values[0] = std::numeric_limits<Real>::quiet_NaN(); });
  refused([](auto& changed) { changed[0].values[0] = std::numeric_limits<Real>::infinity(); });
  refused([](auto& changed) { changed[0].weight = 0; });
  refused([](auto& changed) { changed[0].weight = 1e7F; });
  refused([](auto& changed) { changed[0].weight = std::numeric_limits<Real>::quiet_NaN(); });
  refused([](auto& changed) { changed[0].label_names = {0, 3}; });
  refused([](auto& changed) { changed[0].label_names = {0, 0, 1}; });
}

TEST("a text that lists a term twice is rejected") {
  EncodedExample example;
  example.ids = {3, 3};
  example.values = {1, 2};
  example.of_text = true;
  example.frequencies = {1, 0};
  history_of({&example, 1}).check(10, 0, true);  // hashed, also a further feature
  example.frequencies = {1, 2};
  CHECK_THROWS_WITH(FormatError, "does not match", history_of({&example, 1}).check(10, 0, true));
}

TEST("damaged bytes are rejected") {
  const std::vector<EncodedExample> examples = random_examples(5, 20, true);
  const std::vector<std::byte> file = saved_bytes(history_of(examples));
  const std::uint32_t n_labels = n_labels_of(examples);
  const auto bytes = test::read_arrays(file).get<std::uint8_t>("thing/examples");
  const auto is_rejected = [&](const std::vector<std::byte>& changed) {
    try {
      opened(changed).check(kAnyFeature, n_labels, true);
      return false;
    } catch (const FormatError&) {
      return true;
    }
  };
  CHECK(is_rejected(with_value(file, "thing/n_examples", 0, std::uint64_t{21})));
  CHECK(is_rejected(with_value(file, "thing/n_examples", 0, std::uint64_t{19})));
  CHECK(is_rejected(with_value(file, "thing/n_examples", 0, ~std::uint64_t{0})));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK(is_rejected(with_array<std::uint8_t>(file, "thing/examples", bytes.view().first(n))));
  }
  std::vector<std::uint8_t> endless(bytes.begin(), bytes.end());
  std::fill(endless.begin(), endless.end(), std::uint8_t{0xff});  // numbers that do not end
  CHECK(is_rejected(with_array<std::uint8_t>(file, "thing/examples", endless)));
  Random random(1);
  for (int i = 0; i < 3000; ++i) {  // whatever passes the check can be read
    std::vector<std::uint8_t> changed(bytes.begin(), bytes.end());
    changed[random.below(static_cast<std::uint32_t>(changed.size()))] = static_cast<std::uint8_t>(random.below(256));
    const auto other = with_array<std::uint8_t>(file, "thing/examples", changed);
    if (!is_rejected(other)) {
      read_all(opened(other));
    }
  }
}

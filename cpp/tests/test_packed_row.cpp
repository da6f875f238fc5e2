// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "blocks/packed_row.hpp"
#include "check.hpp"

using namespace oplt;

namespace {

bool has_bit(std::span<const MaskWord> mask, Column column) {
  return (mask[column / kWordColumns] >> (column % kWordColumns) & 1) != 0;
}

/// By definition: whether the row has an auxiliary cell, and no cell in this column or above.
bool is_pending(std::span<const MaskWord> mask, Column column) {
  for (Column above = column; above < mask.size() * kWordColumns; ++above) {
    if (has_bit(mask, above)) {
      return false;
    }
  }
  return has_bit(mask, 0);
}

std::vector<MaskWord> random_mask(Random& random, std::uint32_t n_words) {
  std::vector<MaskWord> mask(n_words, 0);
  const Column n_columns = 1 + random.below(n_words * kWordColumns);
  for (std::uint32_t n = random.below(5); n > 0; --n) {
    set_bit(mask, random.below(n_columns));
  }
  if (random.below(2) == 0) {
    set_bit(mask, 0);
  }
  return mask;
}

}  // namespace

TEST("pending columns are those above the last cell of a row that has an auxiliary one") {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t n_words = 1 + random.below(3);
    const std::vector<MaskWord> mask = random_mask(random, n_words);
    const PendingColumns pending(mask.data(), n_words);
    for (Column column = 0; column < n_words * kWordColumns; ++column) {
      CHECK_EQ((pending.in(column / kWordColumns) >> (column % kWordColumns) & 1) != 0, is_pending(mask, column));
    }
  }
}

TEST("only pending columns that exist are visited, and none once the last one has a cell") {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t n_words = 1 + random.below(3);
    std::vector<MaskWord> mask = random_mask(random, n_words);
    const RowShape shape{n_words, 1 + random.below(n_words * kWordColumns)};
    std::vector<Column> expected;
    for (Column column = 0; column < shape.n_columns; ++column) {
      if (is_pending(mask, column)) {
        expected.push_back(column);
      }
    }
    std::vector<Column> found;
    for_each_pending(mask.data(), shape, [&](std::uint32_t word, MaskWord columns) {
      CHECK(columns != 0);
      for_each_bit({&columns, 1}, [&](Column bit) { found.push_back(word * kWordColumns + bit); });
    });
    CHECK(found == expected);
    mark_none_pending(mask, shape);
    int visits = 0;
    for_each_pending(mask.data(), shape, [&](std::uint32_t, MaskWord) { ++visits; });
    CHECK_EQ(visits, 0);
  }
}

TEST("the inverse of 0 has the bits of an absent weight") {
  CHECK(!std::signbit(inverse_weight(Real{0})));
  CHECK_EQ(inverse_weight(Real{2}), Real{-2});
}

TEST("bits are set, counted and visited in order") {
  std::vector<MaskWord> mask(3, 0);
  const std::vector<Column> columns{0, 5, 63, 64, 191};
  for (const Column column : columns) {
    set_bit(mask, column);
  }
  CHECK_EQ(count_bits(mask), columns.size());
  std::vector<Column> visited;
  for_each_bit(mask, [&](Column column) { visited.push_back(column); });
  CHECK(visited == columns);
}

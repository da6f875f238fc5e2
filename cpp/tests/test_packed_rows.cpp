// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "blocks/packed_rows.hpp"
#include "check.hpp"

using namespace oplt;

namespace {

/// A mask of `words` words whose first `n` columns have cells.
std::vector<MaskWord> first_columns(std::uint32_t words, Column n) {
  std::vector<MaskWord> mask(words, 0);
  for (Column column = 0; column < n; ++column) {
    set_bit(mask, column);
  }
  return mask;
}

void fill(const PackedRows::Row& row, Real first) {
  for (std::uint32_t i = 0; i < row.count; ++i) {
    row.weights[i] = first + static_cast<Real>(i);
    row.accumulators[i] = -first - static_cast<Real>(i);
  }
}

/// Whether the cells of the row are first, first + 1, …
bool holds(const PackedRows::Row& row, Real first) {
  for (std::uint32_t i = 0; i < row.count; ++i) {
    if (row.weights[i] != first + static_cast<Real>(i) || row.accumulators[i] != -row.weights[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST("rows keep their cells while others are added and grow") {
  for (const std::uint32_t words : {1U, 2U}) {
    Random random(words);
    PackedRows rows(words);
    std::map<FeatureId, Column> sizes;
    for (int round = 0; round < 2000; ++round) {
      const FeatureId feature = random.below(200);
      if (!sizes.contains(feature)) {
        CHECK_EQ(rows.find(feature), kNone);
        const Column n = 1 + random.below(3);
        fill(rows.add_empty(feature, first_columns(words, n)), static_cast<Real>(feature));
        sizes[feature] = n;
      } else if (sizes[feature] < words * kWordColumns) {
        // As in an update: make room, move the cells from the last to the first, and set the mask.
        const Column n = sizes[feature] + 1;
        const std::vector<MaskWord> after = first_columns(words, n);
        const std::uint32_t offset = rows.make_room(feature, rows.find(feature), after);
        CHECK_EQ(offset, rows.find(feature));
        std::copy(after.begin(), after.end(), rows.words(offset));
        const PackedRows::Row row = rows.row(offset);
        row.weights[n - 1] = static_cast<Real>(feature + n - 1);
        row.accumulators[n - 1] = -row.weights[n - 1];
        sizes[feature] = n;
      }
    }
    CHECK_EQ(rows.size(), sizes.size());
    for (const auto& [feature, n] : sizes) {
      const PackedRows::Row row = rows.row(rows.find(feature));
      CHECK_EQ(row.count, n);
      CHECK(holds(row, static_cast<Real>(feature)));
    }
  }
}

TEST("make_room() gives a new row an empty mask") {
  PackedRows rows(2);
  const std::uint32_t offset = rows.make_room(7, kNone, first_columns(2, 70));
  CHECK_EQ(rows.find(7), offset);
  CHECK_EQ(rows.row(offset).count, 0U);
}

TEST("a copy has the last cells, under a mask that may have fewer words") {
  PackedRows narrow(1);
  fill(narrow.add_empty(3, first_columns(1, 5)), 10);
  PackedRows wide(2);
  const PackedRows::Row from = narrow.row(narrow.find(3));
  wide.add_copy(3, from, {from.mask, 1});
  wide.add_copy(4, from, first_columns(1, 2));
  CHECK(holds(wide.row(wide.find(3)), 10));
  CHECK_EQ(wide.row(wide.find(3)).count, 5U);
  CHECK(holds(wide.row(wide.find(4)), 13));
}

TEST("all rows are visited, and sorted by feature") {
  PackedRows rows;
  const std::vector<FeatureId> features{9, 2, kBiasFeature, 5};
  for (const FeatureId feature : features) {
    fill(rows.add_empty(feature, first_columns(1, 1)), static_cast<Real>(feature % 10));
  }
  std::vector<FeatureId> visited;
  rows.for_each([&](FeatureId feature, const PackedRows::Row& row) {
    CHECK(holds(row, static_cast<Real>(feature % 10)));
    visited.push_back(feature);
  });
  std::sort(visited.begin(), visited.end());
  std::vector<FeatureId> sorted;
  for (const FeatureRows::Slot& slot : rows.sorted()) {
    CHECK_EQ(rows.find(slot.feature), slot.row);
    sorted.push_back(slot.feature);
  }
  CHECK(sorted == visited);
  CHECK(sorted == (std::vector<FeatureId>{2, 5, 9, kBiasFeature}));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <map>

#include "base/random.hpp"
#include "blocks/feature_rows.hpp"
#include "check.hpp"

using oplt::FeatureId;
using oplt::FeatureRows;
using oplt::kBiasFeature;
using oplt::kNone;

TEST("an empty map finds nothing") {
  const FeatureRows rows;
  CHECK_EQ(rows.size(), 0U);
  CHECK_EQ(rows.find(0), kNone);
  CHECK_EQ(rows.find(kBiasFeature), kNone);
}

TEST("a map behaves like std::map through growth and changes of rows") {
  oplt::Random random(3);
  FeatureRows rows;
  std::map<FeatureId, std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const FeatureId feature = random.below(2) == 0 ? random.below(5000) : random.below(kBiasFeature);
    rows.set(feature, i);
    expected[feature] = i;
    CHECK_EQ(rows.size(), expected.size());
  }
  rows.set(kBiasFeature, 1);
  expected[kBiasFeature] = 1;
  for (const auto& [feature, row] : expected) {
    CHECK_EQ(rows.find(feature), row);
  }
  for (FeatureId feature = 5000; feature < 10'000; ++feature) {
    CHECK_EQ(rows.find(feature), expected.contains(feature) ? expected[feature] : kNone);
  }
}

TEST("slots hold every feature once") {
  FeatureRows rows;
  for (FeatureId feature = 0; feature < 100; ++feature) {
    rows.set(feature * 1024, feature);
  }
  std::map<FeatureId, std::uint32_t> seen;
  for (const FeatureRows::Slot& slot : rows.slots()) {
    if (slot.row != kNone) {
      CHECK(seen.emplace(slot.feature, slot.row).second);
      CHECK_EQ(slot.feature, slot.row * 1024);
    }
  }
  CHECK_EQ(seen.size(), 100U);
  CHECK(rows.memory_bytes() >= 100 * sizeof(FeatureRows::Slot));
}

TEST("changing the row of a known feature allocates nothing") {
  FeatureRows rows;
  for (FeatureId feature = 0; feature < 1000; ++feature) {
    rows.set(feature, feature);
    const std::size_t bytes = rows.memory_bytes();
    rows.set(feature / 2, feature);  // even if the next insertion would need more memory
    CHECK_EQ(rows.memory_bytes(), bytes);
    CHECK_EQ(rows.find(feature / 2), feature);
  }
}

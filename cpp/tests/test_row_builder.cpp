// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cmath>

#include "check.hpp"
#include "encode/row_builder.hpp"
#include "helpers.hpp"

using oplt::FeatureId;
using oplt::kBiasFeature;
using oplt::kNone;
using oplt::Real;
using Ids = std::vector<FeatureId>;
using Values = std::vector<Real>;

namespace {

struct Built {
  Ids features;
  Values values;
};

Built build(const Ids& ids, const Values& values, bool normalize, oplt::Real bias) {
  oplt::RowBuilder builder;
  const oplt::RowView row = builder.build(ids, values, {.bias = bias, .normalize = normalize});
  return {{row.features.begin(), row.features.end()}, {row.values.begin(), row.values.end()}};
}

}  // namespace

TEST("features are sorted with their values") {
  const Built row = build({9, 0, 4'000'000'000, 5}, {1, -2, 3, -4}, false, 0);
  CHECK_EQ(row.features, (Ids{0, 5, 9, 4'000'000'000}));
  CHECK_EQ(row.values, (Values{-2, -4, 1, 3}));
}

TEST("the values of a feature that occurs twice are added, whatever their order") {
  const Built row = build({7, 3, 7, 7}, {1, 2, 0.5, -4}, false, 0);
  CHECK_EQ(row.features, (Ids{3, 7}));
  CHECK_EQ(row.values, (Values{2, -2.5}));
  CHECK_EQ(build({7, 7, 3, 7}, {-4, 1, 2, 0.5}, false, 0).values, row.values);
}

TEST("unknown features are not one feature that occurs twice") {
  const Built row = build({kNone, 3, kNone}, {2, 1, 2}, true, 0);
  CHECK_EQ(row.values, (Values{Real{1} / 3}));
}

TEST("rows are scaled to norm 1") {
  CHECK_EQ(build({1, 0}, {3, -4}, true, 0).values, (Values{-0.8F, 0.6F}));
  CHECK_EQ(build({1, 0}, {3 * 0x1p36F, -4 * 0x1p36F}, true, 0).values, (Values{-0.8F, 0.6F}));
  CHECK_EQ(build({1, 0}, {3 * 0x1p-90F, -4 * 0x1p-90F}, true, 0).values, (Values{-0.8F, 0.6F}));
}

TEST("the order of the features does not change any bit") {
  oplt::Random random(8);
  Ids ids;
  Values values;
  for (FeatureId feature = 0; feature < 50; ++feature) {
    ids.push_back(feature);
    values.push_back(static_cast<Real>(random.below(1000)) / 7);
  }
  const Built expected = build(ids, values, true, 1);
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (std::uint32_t i = 1; i < ids.size(); ++i) {
      const std::uint32_t j = random.below(i + 1);
      std::swap(ids[i], ids[j]);
      std::swap(values[i], values[j]);
    }
    const Built row = build(ids, values, true, 1);
    CHECK_EQ(row.features, expected.features);
    CHECK_EQ(row.values, expected.values);
  }
}

TEST("unknown features count in the norm and are dropped") {
  const Built row = build({kNone, 7, kNone}, {2, 4, 4}, true, 0);
  CHECK_EQ(row.features, Ids{7});
  CHECK_EQ(row.values, Values{4.0F / 6.0F});
}

TEST("the bias comes last, with value 1 whatever the norm") {
  const Built row = build({3, 1}, {8, 6}, true, 1);
  CHECK_EQ(row.features, (Ids{1, 3, kBiasFeature}));
  CHECK_EQ(row.values, (Values{0.6F, 0.8F, 1}));
}

TEST("zeros are dropped, and a row of zeros is not divided by its norm") {
  CHECK_EQ(build({1, 2, 3}, {0, 5, -0.0F}, false, 0).features, Ids{2});
  CHECK(build({1, 2}, {0, 0}, true, 0).features.empty());
  CHECK(build({}, {}, true, 0).features.empty());
  CHECK_EQ(build({1, 2}, {0, 0}, true, 1).features, Ids{kBiasFeature});
  CHECK_EQ(build({}, {}, true, 1).values, Values{1});
}

TEST("rows stay in place until the builder is cleared") {
  constexpr oplt::RowParams params{.bias = 1, .normalize = true};
  oplt::RowBuilder builder;
  builder.build(Ids{4, 5}, Values{1, 2}, params);
  builder.clear();
  const oplt::RowView first = builder.build(Ids{1, 2, 3}, Values{1, 2, 3}, params);
  const oplt::RowView row = builder.build(Ids{5}, Values{2}, params);
  CHECK_EQ(first.size(), 4U);
  CHECK_EQ(first.features[2], 3U);
  CHECK_EQ(row.size(), 2U);
  CHECK_EQ(row.features[0], 5U);
  CHECK_EQ(row.values[0], 1.0F);
}

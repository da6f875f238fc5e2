// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "forest/kept_examples.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::saved_bytes;
using oplt::test::with_array;
using oplt::test::with_value;

namespace {

KeptExamples kept() {
  KeptExamples examples;
  {
    const std::vector<FeatureId> features{9, kBiasFeature};
    const std::vector<Real> values{0.5F, 1};
    const std::vector<LabelId> labels{9};
    examples.add({{features, values}, labels, 2});
  }
  examples.add({{}, {}, 1});
  const std::vector<FeatureId> features{0, 3};
  const std::vector<Real> values{-1, 4};
  const std::vector<LabelId> labels{0, 2, 5};
  examples.add({{features, values}, labels, 0.5F});
  return examples;
}

KeptExamples open(const std::vector<std::byte>& file) {
  CHECK(KeptExamples::are_in(test::read_arrays(file), "thing"));
  return KeptExamples::load(test::read_arrays(file), "thing");
}

bool same(const Example& a, const Example& b) {
  return std::ranges::equal(a.x.features, b.x.features) && std::ranges::equal(a.x.values, b.x.values) &&
         std::ranges::equal(a.labels, b.labels) && a.weight == b.weight;
}

}  // namespace

TEST("kept examples own their features and labels, also after saving and loading") {
  for (const KeptExamples& examples : {kept(), open(saved_bytes(kept()))}) {
    examples.check(10, 10);
    CHECK_EQ(examples.size(), 3U);
    const Example first = examples[0];
    CHECK(std::ranges::equal(first.x.features, std::vector<FeatureId>{9, kBiasFeature}));
    CHECK(std::ranges::equal(first.x.values, std::vector<Real>{0.5F, 1}));
    CHECK(std::ranges::equal(first.labels, std::vector<LabelId>{9}));
    CHECK_EQ(first.weight, Real{2});
    CHECK(examples[1].x.features.empty() && examples[1].labels.empty());
    CHECK(std::ranges::equal(examples[2].labels, std::vector<LabelId>{0, 2, 5}));
  }
}

TEST("examples can be added to loaded ones, without changes to these or to copies") {
  const auto file = saved_bytes(kept());
  KeptExamples expected = kept();
  KeptExamples loaded = open(file);
  CHECK_EQ(loaded.memory_bytes(), 0U);
  CHECK(saved_bytes(loaded) == file);
  const KeptExamples copy = loaded;
  for (const test::StreamExample& example : test::random_stream(1, 50)) {
    expected.add(example.view());
    loaded.add(example.view());
    CHECK(same(loaded[loaded.size() - 1], example.view()));
  }
  CHECK(same(loaded[2], copy[2]));
  CHECK(saved_bytes(loaded) == saved_bytes(expected));
  CHECK(saved_bytes(copy) == file);
  CHECK_EQ(copy.size(), 3U);
}

TEST("an empty set of examples is saved and loaded") {
  const KeptExamples none = open(saved_bytes(KeptExamples()));
  none.check(0, 0);
  CHECK_EQ(none.size(), 0U);
  CHECK(!KeptExamples::are_in(test::read_arrays(saved_bytes(none)), "thin"));
}

TEST("kept examples that do not match the model are rejected") {
  CHECK_THROWS_WITH(FormatError, "do not match", kept().check(9, 10));
  CHECK_THROWS_WITH(FormatError, "do not match", kept().check(10, 9));
}

TEST("content that could do harm does not pass the check of kept examples") {
  const auto file = saved_bytes(kept());
  const auto refused = [&](const std::vector<std::byte>& changed) {
    CHECK_THROWS_WITH(FormatError, "do not match", open(changed).check(10, 10));
  };
  constexpr Real kNoNumber = std::numeric_limits<Real>::quiet_NaN();
  refused(with_value(file, "thing/features", 3, FeatureId{0}));  // duplicate
  refused(with_value(file, "thing/features", 0, kNone));         // out of order, and unknown
  refused(with_value(file, "thing/labels", 1, LabelId{3}));      // out of order
  refused(with_value(file, "thing/labels", 0, LabelId{10}));     // unknown
  refused(with_value(file, "thing/values", 0, kNoNumber));
  refused(with_value(file, "thing/values", 0, Real{1e13F}));
  refused(with_value(file, "thing/weights", 0, kNoNumber));
  refused(with_value(file, "thing/weights", 0, Real{0}));
  refused(with_value(file, "thing/weights", 0, Real{1e7F}));
  for (const char* name : {"thing/feature_ends", "thing/label_ends"}) {
    refused(with_value(file, name, 0, ~std::uint64_t{0}));
    refused(with_value(file, name, 1, std::uint64_t{0}));  // descends
    refused(with_value(file, name, 2, std::uint64_t{3}));  // values are left over
    refused(with_array<std::uint64_t>(file, name, std::vector<std::uint64_t>{4, 4}));
    refused(with_array<std::uint64_t>(file, name, {}));
  }
  refused(with_array<Real>(file, "thing/values", std::vector<Real>(3)));
  refused(with_array<Real>(file, "thing/weights", {}));
}

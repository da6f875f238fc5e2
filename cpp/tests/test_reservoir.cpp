// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "forest/reservoir.hpp"
#include "helpers.hpp"

using namespace oplt;

namespace {

constexpr std::uint32_t kLabels = 100'000;

/// Example t has the single label t, so that it is known again.
void add(Reservoir& reservoir, LabelId t) {
  const std::vector<FeatureId> features{t % 10, kBiasFeature};
  const std::vector<Real> values{0.5F, 1};
  reservoir.add({{features, values}, {&t, 1}, 2});
}

}  // namespace

TEST("all examples are kept as long as there is room, then no more than that") {
  Reservoir reservoir(1, 50);
  for (LabelId t = 0; t < 200; ++t) {
    add(reservoir, t);
    CHECK_EQ(reservoir.size(), std::min<std::size_t>(t + 1, 50));
    CHECK_EQ(reservoir.n_added(), t + 1);
    CHECK(reservoir.draw().labels[0] <= t);
  }
}

TEST("early and late examples are equally likely to be drawn") {
  constexpr LabelId kStream = 1000;
  std::vector<int> n_drawn(10);  // by tenths of the stream
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Reservoir reservoir(seed, 20);
    for (LabelId t = 0; t < kStream; ++t) {
      add(reservoir, t);
    }
    for (int i = 0; i < 20; ++i) {
      ++n_drawn[reservoir.draw().labels[0] / (kStream / 10)];
    }
  }
  for (const int n : n_drawn) {
    CHECK(n > 850 &&
          n < 1150);  // 1000 each; draws with replacement: about 3.5 standard deviations, and seeds are fixed
  }
}

TEST("an example that was drawn outlives its place") {
  Reservoir reservoir(3, 1);
  add(reservoir, 0);
  const Example first = reservoir.draw();
  LabelId t = 1;
  for (; reservoir.draw().labels[0] == 0; ++t) {
    add(reservoir, t);
  }
  CHECK_EQ(first.labels[0], 0U);
  CHECK_EQ(first.x.features[1], kBiasFeature);
  CHECK_EQ(first.x.values[0], 0.5F);
  CHECK_EQ(first.weight, Real{2});
  reservoir.release();
  CHECK_EQ(reservoir.size(), 1U);
}

TEST("saved and loaded, it goes on alike") {
  Reservoir reservoir(5);
  for (LabelId t = 0; t < 300; ++t) {
    add(reservoir, t);
    reservoir.draw();
  }
  const auto saved = test::saved_bytes(reservoir);
  Reader in(saved);
  Reservoir loaded = Reservoir::load(5, 10, kLabels, in);
  in.expect_end();
  for (LabelId t = 300; t < 600; ++t) {
    add(reservoir, t);
    add(loaded, t);
    CHECK_EQ(reservoir.draw().labels[0], loaded.draw().labels[0]);
  }
  CHECK(test::saved_bytes(loaded) == test::saved_bytes(reservoir));
}

TEST("the seed makes another sample") {
  Reservoir one(1, 10);
  Reservoir other(2, 10);
  for (LabelId t = 0; t < 100; ++t) {
    add(one, t);
    add(other, t);
  }
  CHECK(test::saved_bytes(one) != test::saved_bytes(other));
}

TEST("an example that does not fit the model is refused") {
  Reservoir reservoir(7);
  add(reservoir, 9);
  const auto load = [&](std::uint32_t n_features, std::uint32_t n_labels) {
    const auto saved = test::saved_bytes(reservoir);
    Reader in(saved);
    return Reservoir::load(7, n_features, n_labels, in).size();
  };
  CHECK_EQ(load(10, 10), 1U);
  CHECK_THROWS_WITH(FormatError, "does not fit", load(9, 10));
  CHECK_THROWS_WITH(FormatError, "does not fit", load(10, 9));
}

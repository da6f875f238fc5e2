// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <vector>

#include "base/random.hpp"
#include "check.hpp"

using oplt::Random;

TEST("next gives the published numbers of SplitMix64 for seed 0") {
  Random random(0);
  CHECK_EQ(random.next(), 0xE220A8397B1DCDAFU);
  CHECK_EQ(random.next(), 0x6E789E6AA1B965F4U);
  CHECK_EQ(random.next(), 0x06C45D188009454FU);
}

TEST("below stays below and is roughly uniform") {
  for (const std::uint32_t n : {1U, 2U, 3U, 7U, 64U}) {
    Random random(42);
    std::vector<int> counts(n);
    const int n_draws = 10'000 * static_cast<int>(n);
    for (int i = 0; i < n_draws; ++i) {
      const std::uint32_t draw = random.below(n);
      CHECK(draw < n);
      ++counts[draw];
    }
    for (const int count : counts) {
      CHECK(count > 9'500 && count < 10'500);  // 5 standard deviations, and the seed is fixed
    }
  }
}

TEST("below() accepts the largest bound") {
  Random random(1);
  std::uint32_t largest = 0;
  for (int i = 0; i < 1000; ++i) {
    largest = std::max(largest, random.below(0xFFFFFFFFU));
  }
  CHECK(largest > 0xF0000000U);
}

TEST("a generator continues from its state") {
  Random random(5);
  random.next();
  Random copy(random.state());
  for (int i = 0; i < 10; ++i) {
    CHECK_EQ(copy.next(), random.next());
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "base/span_pool.hpp"
#include "check.hpp"

using namespace oplt;

TEST("arrays of a pool do not move and do not overlap") {
  Random random(1);
  SpanPool<int> pool;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::span<int>> spans;
    for (int i = 0; i < 500; ++i) {
      spans.push_back(pool.allocate(random.below(i % 50 == 0 ? 5000 : 40)));
      std::iota(spans.back().begin(), spans.back().end(), i);
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t j = 0; j < spans[i].size(); ++j) {
        CHECK_EQ(spans[i][j], static_cast<int>(i + j));
      }
    }
    std::size_t n_values = 0;
    for (const std::span<int> span : spans) {
      n_values += span.size();
    }
    const std::size_t bytes = pool.memory_bytes();
    CHECK(bytes >= n_values * sizeof(int) && bytes < 4 * n_values * sizeof(int));
    pool.clear();
    CHECK(pool.memory_bytes() > 0 && pool.memory_bytes() <= bytes);
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "encode/id_sorter.hpp"

using oplt::FeatureId;

TEST("ids are sorted as std::sort does, however many and however large they are") {
  oplt::IdSorter sorter;
  oplt::Random random(1);
  for (const std::uint32_t n_ids : {1U, 3U, 255U, 256U, 70'000U, (1U << 24) - 1, 1U << 24, 0x7FFFFFFFU}) {
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 40, 127, 128, 129, 1000}) {
      std::vector<FeatureId> ids{};
      for (std::size_t i = 0; i < n; ++i) {
        ids.push_back(static_cast<FeatureId>(random.next() % n_ids));
      }
      if (n > 2) {
        ids[n / 2] = n_ids - 1;
      }
      std::vector<FeatureId> expected = ids;
      std::sort(expected.begin(), expected.end());
      sorter.sort(ids, n_ids);
      CHECK(ids == expected);
    }
  }
}

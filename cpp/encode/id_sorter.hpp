// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// Sorts the ids of one text's terms. Each algorithm has no branches that depend on the ids: with the few ids of a
/// text, std::sort mostly waits for mispredicted ones.
class IdSorter {
 public:
  /// `n_ids` is larger than all of them.
  void sort(std::vector<FeatureId>& ids, std::uint32_t n_ids) {
    sorted_.resize(ids.size());
    if (ids.size() <= kFew && n_ids < (1U << (31 - kPlaceBits))) {
      sort_by_rank(ids);
    } else {
      sort_by_digits(ids, n_ids);
    }
  }

 private:
  static constexpr std::size_t kFew = 128;  // up to here, ranks are faster
  static constexpr int kPlaceBits = 7;
  static constexpr std::size_t kTogether = 8;  // keys whose ranks are counted in one loop

  /// Quadratic, but comparisons are vectorized. Each key consists of an id and its place, so that none occurs twice.
  void sort_by_rank(std::vector<FeatureId>& ids) {
    std::array<std::int32_t, kFew> keys{};
    for (std::size_t i = 0; i < ids.size(); ++i) {
      keys[i] = static_cast<std::int32_t>(ids[i] << kPlaceBits | i);
    }
    for (std::size_t begin = 0; begin < ids.size(); begin += kTogether) {
      std::array<std::int32_t, kTogether> ranks{};
      for (std::size_t j = 0; j < ids.size(); ++j) {
        for (std::size_t i = 0; i < kTogether; ++i) {
          ranks[i] += keys[j] < keys[begin + i] ? 1 : 0;
        }
      }
      const std::size_t n = std::min(kTogether, ids.size() - begin);
      for (std::size_t i = 0; i < n; ++i) {
        sorted_[static_cast<std::size_t>(ranks[i])] = ids[begin + i];
      }
    }
    ids.swap(sorted_);
  }

  /// Radix sort, from the lowest byte to the highest one that is used.
  void sort_by_digits(std::vector<FeatureId>& ids, std::uint32_t n_ids) {
    for (std::uint32_t shift = 0; shift < 32 && n_ids >> shift != 0; shift += 8) {
      std::array<std::uint32_t, 256> places{};
      for (const FeatureId id : ids) {
        ++places[(id >> shift) & 0xFF];
      }
      std::uint32_t n = 0;
      for (std::uint32_t& place : places) {
        n += std::exchange(place, n);
      }
      for (const FeatureId id : ids) {
        sorted_[places[(id >> shift) & 0xFF]++] = id;
      }
      ids.swap(sorted_);
    }
  }

  std::vector<FeatureId> sorted_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// A feature and its value in one number, which is fast to sort by id: the id is in the upper half, the bits of the
/// value are in the lower.
using PackedFeature = std::uint64_t;

inline PackedFeature pack(FeatureId id, Real value) {
  return (std::uint64_t{id} << 32) | std::bit_cast<std::uint32_t>(value);
}

inline FeatureId unpack_id(PackedFeature packed) { return static_cast<FeatureId>(packed >> 32); }

inline std::uint32_t unpack_bits(PackedFeature packed) { return static_cast<std::uint32_t>(packed); }

inline Real unpack_value(PackedFeature packed) { return std::bit_cast<Real>(unpack_bits(packed)); }

/// Sums the values of duplicate ids, which a user-defined mapping may yield; unknown features (kNone) stay apart.
/// `sorted` has an item for each feature, and `packed_of` gives an item's PackedFeature by reference.
template <class Item, class PackedOf = std::identity>
void add_up_repeated(std::vector<Item>& sorted, PackedOf packed_of = {}) {
  std::size_t n = 0;
  for (const Item& item : sorted) {
    const PackedFeature packed = std::invoke(packed_of, item);
    const FeatureId id = unpack_id(packed);
    if (n > 0 && id != kNone && id == unpack_id(std::invoke(packed_of, sorted[n - 1]))) {
      PackedFeature& sum = std::invoke(packed_of, sorted[n - 1]);
      sum = pack(id, unpack_value(sum) + unpack_value(packed));
    } else {
      sorted[n++] = item;
    }
  }
  sorted.resize(n);
}

}  // namespace oplt

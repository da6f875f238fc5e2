// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// How a row of a sibling block lies in memory, in words of 8 bytes:
//
//   mask words (64 columns each) | weights of the cells | their accumulators
//
// Cells are those columns whose bit is set, ascending. Weights and accumulators have room for capacity_for(count)
// cells each, so that the layout follows from the mask alone.
#pragma once

#include <bit>
#include <cstdint>

#include "oplt/types.hpp"

namespace oplt {

using MaskWord = std::uint64_t;
inline constexpr std::uint32_t kWordColumns = 64;

inline std::uint32_t count_bits(MaskWord word) { return static_cast<std::uint32_t>(std::popcount(word)); }

/// Cells that are reserved for `count` of them. Powers of two: rows that outgrow their place leave room that others can
/// use, which finer steps waste (measured: they need more memory, and time to move rows).
inline std::uint32_t capacity_for(std::uint32_t count) { return std::bit_ceil(count); }

inline Real* weights_of(MaskWord* row, std::uint32_t mask_words) { return reinterpret_cast<Real*>(row + mask_words); }
inline const Real* weights_of(const MaskWord* row, std::uint32_t mask_words) {
  return reinterpret_cast<const Real*>(row + mask_words);
}

/// Starts to bring what lies there into the cache.
inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  static_cast<void>(address);
#endif
}

}  // namespace oplt

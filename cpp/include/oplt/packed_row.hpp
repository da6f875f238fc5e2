// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// How a row of a sibling block lies in memory, in words of 8 bytes:
//
//   mask words (64 columns each) | weights of the cells | their accumulators
//
// Cells are those columns whose bit is set, ascending. Weights and accumulators have room for capacity_for(count)
// cells each, so that the layout follows from the mask alone.
//
// Column 0 is the auxiliary classifier, from which new columns are made (AddLeaf, Algorithm 6). A row that has a cell
// of it does not get a cell for each new column: *the columns above its last cell are pending*, they are the inverse of
// its auxiliary cell, (0 - weight, accumulator). They get cells of their own when a step would make a difference. All
// other columns without a cell are (0, 0).
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

inline constexpr MaskWord kAuxiliaryBit = 1;

struct RowShape {
  std::uint32_t mask_words;
  Column n_columns;  // with column 0

  /// The columns of a word that exist.
  MaskWord columns_in(std::uint32_t word) const {
    const std::uint32_t before = word * kWordColumns;
    if (n_columns <= before) {
      return 0;
    }
    return n_columns - before >= kWordColumns ? ~MaskWord{0} : (MaskWord{1} << (n_columns - before)) - 1;
  }
};

/// The bits above the highest one of a word that is not 0.
inline MaskWord bits_above(MaskWord word) { return ~(~MaskWord{0} >> std::countl_zero(word)); }

/// The pending columns of a row of one word.
inline MaskWord pending_in(MaskWord mask, MaskWord columns) {
  return (mask & kAuxiliaryBit) != 0 ? bits_above(mask) & columns : 0;
}

/// Calls visit(word, pending columns of it) for the words of a row that have some, ascending.
template <class Visit>
void for_each_pending(const MaskWord* mask, RowShape shape, Visit visit) {
  if ((mask[0] & kAuxiliaryBit) == 0) {
    return;
  }
  std::uint32_t word = shape.mask_words - 1;
  while (mask[word] == 0) {
    --word;
  }
  for (MaskWord beyond = bits_above(mask[word]); word < shape.mask_words; ++word, beyond = ~MaskWord{0}) {
    const MaskWord pending = beyond & shape.columns_in(word);
    if (pending != 0) {
      visit(word, pending);
    }
  }
}

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

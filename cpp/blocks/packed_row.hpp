// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The memory layout of a row of a sibling block, in words of 8 bytes:
//
//   mask words (64 columns each) | weights of the cells | their accumulators
//
// Cells are the columns whose bits are set, ascending. Weights and accumulators have space for capacity_for(count)
// cells each, so that the mask alone determines the layout. Rows for prediction only have no accumulators and no spare
// capacity (RowContent).
//
// Column 0 is the auxiliary classifier, from which new columns are initialised (AddLeaf, Algorithm 6). A row that has
// an auxiliary cell does not get a cell for each new column: *the columns above its last cell are pending*, i.e. equal
// to the inverse of the auxiliary cell, (0 - weight, accumulator). They get cells of their own as soon as an update
// would make them differ from it. All other columns without a cell are (0, 0).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace oplt {

using MaskWord = std::uint64_t;
inline constexpr std::uint32_t kWordColumns = 64;

inline std::uint32_t count_bits(MaskWord word) { return static_cast<std::uint32_t>(std::popcount(word)); }

inline std::size_t count_bits(std::span<const MaskWord> mask) {
  std::size_t count = 0;
  for (const MaskWord word : mask) {
    count += count_bits(word);
  }
  return count;
}

inline void set_bit(std::span<MaskWord> mask, Column column) {
  mask[column / kWordColumns] |= MaskWord{1} << (column % kWordColumns);
}

/// Calls visit(column) for each bit, ascending.
template <class Visit>
void for_each_bit(std::span<const MaskWord> mask, Visit visit) {
  Column base = 0;
  for (MaskWord word : mask) {
    for (; word != 0; word &= word - 1) {
      visit(base + static_cast<Column>(std::countr_zero(word)));
    }
    base += kWordColumns;
  }
}

/// Capacity for `count` cells, a power of two, so that other rows can reuse the space of a row that has outgrown it.
/// Finer size classes take more memory, and more time for moving rows (measured).
inline std::uint32_t capacity_for(std::uint32_t count) { return std::bit_ceil(count); }

/// The content of the cells of a block.
enum class RowContent : std::uint8_t {
  kWeightsAndAccumulators,
  kWeights,      // for classifiers that are no longer updated
  kHalfWeights,  // the same in half precision
};

inline constexpr MaskWord kAuxiliaryBit = 1;

struct RowShape {
  std::uint32_t mask_words;
  Column n_columns;  // including column 0

  /// The existing columns of a word.
  MaskWord columns_in(std::uint32_t word) const {
    const std::uint32_t before = word * kWordColumns;
    if (n_columns <= before) {
      return 0;
    }
    return n_columns - before >= kWordColumns ? ~MaskWord{0} : (MaskWord{1} << (n_columns - before)) - 1;
  }
};

/// The weight of a pending column, whose accumulator is that of the auxiliary cell. Not -w, which would turn 0 into -0:
/// the same number, but different bits.
inline Real inverse_weight(Real auxiliary) { return Real{0} - auxiliary; }

/// The pending columns of a row, including columns that do not exist yet.
class PendingColumns {
 public:
  PendingColumns(const MaskWord* mask, std::uint32_t mask_words) : first_word_(mask_words) {
    if ((mask[0] & kAuxiliaryBit) != 0) {
      do {
        --first_word_;
      } while (mask[first_word_] == 0);
      in_first_ = ~(~MaskWord{0} >> std::countl_zero(mask[first_word_]));
    }
  }

  /// The word of the row's last cell if the row has an auxiliary cell; else the number of words: nothing is pending.
  std::uint32_t first_word() const { return first_word_; }

  MaskWord in(std::uint32_t word) const {
    return word > first_word_ ? ~MaskWord{0} : word == first_word_ ? in_first_ : 0;
  }

 private:
  std::uint32_t first_word_;
  MaskWord in_first_ = 0;
};

/// Calls visit(word, mask of pending columns) for each word of a row that has pending columns, ascending.
template <class Visit>
void for_each_pending(const MaskWord* mask, RowShape shape, Visit visit) {
  const PendingColumns pending(mask, shape.mask_words);
  for (std::uint32_t word = pending.first_word(); word < shape.mask_words; ++word) {
    const MaskWord columns = pending.in(word)&shape.columns_in(word);
    if (columns != 0) {
      visit(word, columns);
    }
  }
}

/// Adds a cell in the last column: then no existing column is pending.
inline void mark_none_pending(std::span<MaskWord> mask, RowShape shape) { set_bit(mask, shape.n_columns - 1); }

/// Weight is Real, or Half for RowContent::kHalfWeights.
template <class Weight = Real>
Weight* weights_of(MaskWord* row, std::uint32_t mask_words) {
  return reinterpret_cast<Weight*>(row + mask_words);
}
template <class Weight = Real>
const Weight* weights_of(const MaskWord* row, std::uint32_t mask_words) {
  return reinterpret_cast<const Weight*>(row + mask_words);
}

}  // namespace oplt

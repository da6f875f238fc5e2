// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/half.hpp"
#include "base/types.hpp"
#include "blocks/arena.hpp"
#include "blocks/feature_rows.hpp"
#include "blocks/packed_row.hpp"

namespace oplt {

/// The rows of a sibling block (packed_row.hpp) by feature, all with the same number of mask words. They are stored in
/// one arena, at offsets; pointers into it are valid until the next row is added or grows.
class PackedRows {
 public:
  /// The parts of a row. Writable, so that one type serves readers and writers.
  struct Row {
    MaskWord* mask;
    Real* weights;        // null if they are halves
    Half* halves;         // null if they are not
    Real* accumulators;   // null if the rows have none
    std::uint32_t count;  // number of cells

    Real weight(std::uint32_t i) const { return halves == nullptr ? weights[i] : to_real(halves[i]); }
    Real accumulator(std::uint32_t i) const { return accumulators == nullptr ? Real{0} : accumulators[i]; }
    /// Rounds the weight if the rows hold halves; ignores the accumulator if they hold none.
    void set(std::uint32_t i, Real weight, Real accumulator) const;
  };

  explicit PackedRows(std::uint32_t mask_words = 1, RowContent content = RowContent::kWeightsAndAccumulators)
      : mask_words_(mask_words), content_(content) {}

  /// Restores saved rows from what slots() and words() returned.
  PackedRows(std::uint32_t mask_words, RowContent content, FeatureRows offsets, Arena arena)
      : mask_words_(mask_words), content_(content), offsets_(std::move(offsets)), arena_(std::move(arena)) {}

  std::span<const FeatureRows::Slot> slots() const { return offsets_.slots(); }
  std::span<const Arena::Word> words() const { return arena_.words(); }

  /// Must be called before the first write, because the rows may be in a mapped file.
  void own() {
    offsets_.own();
    arena_.own();
  }
  bool is_own() const { return arena_.is_own(); }

  /// For restored rows. Throws FormatError unless the rows have this shape, all numbers are finite, and each feature is
  /// below n_features or kBiasFeature and is found by find().
  void check(RowShape shape, std::uint32_t n_features) const;

  std::uint32_t mask_words() const { return mask_words_; }
  RowContent content() const { return content_; }
  bool has_accumulators() const { return content_ == RowContent::kWeightsAndAccumulators; }
  std::size_t size() const { return offsets_.size(); }
  std::size_t memory_bytes() const { return offsets_.memory_bytes() + arena_.memory_bytes(); }
  /// For the memory budget: what rows with `n_cells` cells in total take at most, or nearly, wherever they are.
  std::size_t budget_bytes(std::size_t n_cells) const {
    constexpr std::size_t kSlot = 20;  // a hash table is between three and six eighths full
    constexpr std::size_t kCell = 14;  // 8 bytes, rounded up to a capacity, and spare memory of the arena
    return size() * (kSlot + 10 * mask_words_) + n_cells * kCell;
  }

  /// The offset of the feature's row, or kNone.
  std::uint32_t find(FeatureId feature) const { return offsets_.find(feature); }
  /// Prefetches what find() reads.
  void prefetch(FeatureId feature) const { offsets_.prefetch(feature); }

  /// The row's words. The const version returns a mutable pointer, because kernels that only read share argument types
  /// with those that write.
  MaskWord* words(std::uint32_t offset) { return arena_.at(offset); }
  MaskWord* words(std::uint32_t offset) const { return const_cast<MaskWord*>(arena_.at(offset)); }
  Row row(std::uint32_t offset) const { return taken_apart(words(offset)); }
  Row taken_apart(MaskWord* words) const;

  /// The weight of a column in the row at this offset; 0 if it has none.
  Real weight(std::uint32_t offset, Column column) const;

  /// Length of a row with `count` cells, in words.
  std::size_t n_words(std::uint32_t count) const;

  /// Reserves space for n features; needed before copying from other rows (FeatureRows::reserve).
  void reserve(std::size_t n) { offsets_.reserve(n); }

  /// Adds a row with this mask, whose last words may be omitted if they are 0; its cells are zeros.
  Row add_empty(FeatureId feature, std::span<const MaskWord> mask);

  /// Adds a row that consists of these words.
  void add(FeatureId feature, std::span<const MaskWord> words);

  /// Adds a row with this mask, filled with the last cells of `from`.
  void add_copy(FeatureId feature, const Row& from, std::span<const MaskWord> mask);

  /// Makes space for the new cells of a feature's row and returns its new offset. `offset` is its present offset, or
  /// kNone for a new row, which has no cells yet.
  std::uint32_t make_room(FeatureId feature, std::uint32_t offset, std::span<const MaskWord> after);

  /// Calls visit(feature, row) for each row, in an unspecified order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const FeatureRows::Slot& slot : offsets_.slots()) {
      if (slot.row != kNone) {
        visit(slot.feature, row(slot.row));
      }
    }
  }

  /// The features and the offsets of their rows, by ascending feature.
  std::vector<FeatureRows::Slot> sorted() const;

 private:
  std::size_t check_rows(RowShape shape, std::span<MaskWord> begins) const;
  std::uint32_t grow(std::uint32_t offset, std::uint32_t before, std::uint32_t after);

  std::uint32_t mask_words_;
  RowContent content_;
  FeatureRows offsets_;
  Arena arena_;
};

}  // namespace oplt

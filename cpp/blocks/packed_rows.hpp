// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "blocks/arena.hpp"
#include "blocks/feature_rows.hpp"
#include "blocks/packed_row.hpp"

namespace oplt {

/// The rows of a sibling block (packed_row.hpp) by feature, all of the same number of mask words. They lie in one
/// arena, at offsets; what is read from there is valid until the next row is added or grows.
class PackedRows {
 public:
  /// A row, taken apart. Writable, so that one type serves readers and writers.
  struct Row {
    MaskWord* mask;
    Real* weights;
    Real* accumulators;
    std::uint32_t count;  // of cells
  };

  explicit PackedRows(std::uint32_t mask_words = 1) : mask_words_(mask_words) {}

  std::uint32_t mask_words() const { return mask_words_; }
  std::size_t size() const { return offsets_.size(); }
  std::size_t memory_bytes() const { return offsets_.memory_bytes() + arena_.memory_bytes(); }

  /// Where the feature's row lies, or kNone.
  std::uint32_t find(FeatureId feature) const { return offsets_.find(feature); }
  /// Starts to bring what find() reads into the cache.
  void prefetch(FeatureId feature) const { offsets_.prefetch(feature); }

  /// The row's words. The const version is for kernels that only read, but share a type of arguments with those that
  /// write.
  MaskWord* words(std::uint32_t offset) { return arena_.at(offset); }
  MaskWord* words(std::uint32_t offset) const { return const_cast<MaskWord*>(arena_.at(offset)); }
  Row row(std::uint32_t offset) const;

  /// Makes room for n features: needed before copying from other rows (FeatureRows::reserve).
  void reserve(std::size_t n) { offsets_.reserve(n); }

  /// A new row with this mask (or these first words of it); its cells are not initialised.
  Row add(FeatureId feature, std::span<const MaskWord> mask);

  /// Adds a row with this mask and the last cells of another one.
  void add_copy(FeatureId feature, const Row& from, std::span<const MaskWord> mask);

  /// Where the feature's row lies after room was made for the cells that it is to have. `offset`: where it lies now, or
  /// kNone for a new row, which has no cells yet.
  std::uint32_t make_room(FeatureId feature, std::uint32_t offset, std::span<const MaskWord> after);

  /// Calls visit(feature, row) for each row, in no meaningful order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const FeatureRows::Slot& slot : offsets_.slots()) {
      if (slot.row != kNone) {
        visit(slot.feature, row(slot.row));
      }
    }
  }

  /// The features and where their rows lie, ascending.
  std::vector<FeatureRows::Slot> sorted() const;

 private:
  std::size_t n_words(std::uint32_t count) const;
  std::uint32_t grow(std::uint32_t offset, std::uint32_t before, std::uint32_t after);

  std::uint32_t mask_words_;
  FeatureRows offsets_;
  Arena arena_;
};

}  // namespace oplt

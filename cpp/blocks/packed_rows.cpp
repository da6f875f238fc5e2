// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/packed_rows.hpp"

#include <algorithm>
#include <iterator>

namespace oplt {

namespace {

std::uint32_t count_cells(std::span<const MaskWord> mask) { return static_cast<std::uint32_t>(count_bits(mask)); }

}  // namespace

/// The length of a row of so many cells.
std::size_t PackedRows::n_words(std::uint32_t count) const {
  static_assert(2 * sizeof(Real) == sizeof(Arena::Word));  // a weight and its accumulator fill one word
  return mask_words_ + capacity_for(count);
}

PackedRows::Row PackedRows::row(std::uint32_t offset) const {
  MaskWord* mask = words(offset);
  const std::uint32_t count = count_cells({mask, mask_words_});
  Real* weights = weights_of(mask, mask_words_);
  return {mask, weights, weights + capacity_for(count), count};
}

PackedRows::Row PackedRows::add(FeatureId feature, std::span<const MaskWord> mask) {
  const std::uint32_t offset = arena_.allocate(n_words(count_cells(mask)));
  MaskWord* to = words(offset);
  std::copy(mask.begin(), mask.end(), to);
  std::fill(to + mask.size(), to + mask_words_, MaskWord{0});
  offsets_.set(feature, offset);
  return row(offset);
}

void PackedRows::add_copy(FeatureId feature, const Row& from, std::span<const MaskWord> mask) {
  const Row to = add(feature, mask);
  std::copy_n(from.weights + from.count - to.count, to.count, to.weights);
  std::copy_n(from.accumulators + from.count - to.count, to.count, to.accumulators);
}

std::uint32_t PackedRows::make_room(FeatureId feature, std::uint32_t offset, std::span<const MaskWord> after) {
  std::uint32_t target = kNone;
  if (offset == kNone) {
    target = arena_.allocate(n_words(count_cells(after)));
    std::fill_n(words(target), mask_words_, MaskWord{0});
  } else {
    target = grow(offset, count_cells({words(offset), mask_words_}), count_cells(after));
  }
  if (target != offset) {
    offsets_.set(feature, target);
  }
  return target;
}

/// Moves a row of `before` cells to where it has room for `after`, its accumulators lying where they belong then.
std::uint32_t PackedRows::grow(std::uint32_t offset, std::uint32_t before, std::uint32_t after) {
  if (capacity_for(after) == capacity_for(before)) {
    return offset;
  }
  const std::uint32_t wider = arena_.allocate(n_words(after));
  const MaskWord* from = words(offset);
  MaskWord* to = words(wider);
  std::copy_n(from, mask_words_, to);
  std::copy_n(weights_of(from, mask_words_), before, weights_of(to, mask_words_));
  std::copy_n(weights_of(from, mask_words_) + capacity_for(before), before,
              weights_of(to, mask_words_) + capacity_for(after));
  arena_.release(offset, n_words(before));
  return wider;
}

std::vector<FeatureRows::Slot> PackedRows::sorted() const {
  std::vector<FeatureRows::Slot> slots;
  slots.reserve(size());
  std::copy_if(offsets_.slots().begin(), offsets_.slots().end(), std::back_inserter(slots),
               [](const FeatureRows::Slot& slot) { return slot.row != kNone; });
  std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.feature < b.feature; });
  return slots;
}

}  // namespace oplt

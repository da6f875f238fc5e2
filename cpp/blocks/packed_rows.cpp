// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/packed_rows.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "base/error.hpp"

namespace oplt {

namespace {

// The exponent of infinities and NaN. The loops below have no branches, so that compilers vectorise them.
constexpr std::uint32_t kExponent = 0x7F800000;

bool all_finite(const Real* numbers, std::uint32_t n) {
  bool all = true;
  for (std::uint32_t i = 0; i < n; ++i) {
    all &= (std::bit_cast<std::uint32_t>(numbers[i]) & kExponent) != kExponent;
  }
  return all;
}

bool all_finite(const Half* numbers, std::uint32_t n) {
  bool all = true;
  for (std::uint32_t i = 0; i < n; ++i) {
    all &= (numbers[i].bits & kHalfExponent) != kHalfExponent;
  }
  return all;
}

/// Whether all are finite and not negative. The bits of all other numbers, read as integers, are at least kExponent.
bool all_sums(const Real* numbers, std::uint32_t n) {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    most = std::max(most, std::bit_cast<std::uint32_t>(numbers[i]));
  }
  return most < kExponent;
}

void expect(bool holds, const char* what) {
  if (!holds) {
    throw FormatError(std::string("a sibling block is damaged: ") + what);
  }
}

std::uint32_t count_cells(std::span<const MaskWord> mask) { return static_cast<std::uint32_t>(count_bits(mask)); }

}  // namespace

Real PackedRows::weight(std::uint32_t offset, Column column) const {
  const Row found = row(offset);
  const std::uint32_t word = column / kWordColumns;
  const MaskWord bit = MaskWord{1} << (column % kWordColumns);
  if ((found.mask[word] & bit) != 0) {
    return found.weight(count_cells({found.mask, word}) + count_bits(found.mask[word] & (bit - 1)));
  }
  const bool is_pending = (PendingColumns(found.mask, mask_words_).in(word)&bit) != 0;
  return is_pending ? inverse_weight(found.weight(0)) : Real{0};
}

void PackedRows::Row::set(std::uint32_t i, Real weight, Real accumulator) const {
  if (halves != nullptr) {
    halves[i] = to_half(weight);
  } else {
    weights[i] = weight;
  }
  if (accumulators != nullptr) {
    accumulators[i] = accumulator;
  }
}

std::size_t PackedRows::n_words(std::uint32_t count) const {
  static_assert(2 * sizeof(Real) == sizeof(Arena::Word));  // a weight and its accumulator fill one word
  switch (content_) {
    case RowContent::kWeightsAndAccumulators:
      return mask_words_ + capacity_for(count);
    case RowContent::kWeights:
      return mask_words_ + (count + 1) / 2;
    case RowContent::kHalfWeights:
      break;
  }
  return mask_words_ + (count + 3) / 4;
}

PackedRows::Row PackedRows::taken_apart(MaskWord* mask) const {
  const std::uint32_t count = count_cells({mask, mask_words_});
  if (content_ == RowContent::kHalfWeights) {
    return {mask, nullptr, weights_of<Half>(mask, mask_words_), nullptr, count};
  }
  Real* weights = weights_of(mask, mask_words_);
  return {mask, weights, nullptr, has_accumulators() ? weights + capacity_for(count) : nullptr, count};
}

PackedRows::Row PackedRows::add_empty(FeatureId feature, std::span<const MaskWord> mask) {
  const std::size_t n = n_words(count_cells(mask));
  const std::uint32_t offset = arena_.allocate(n);
  MaskWord* to = words(offset);
  std::copy(mask.begin(), mask.end(), to);
  std::fill(to + mask.size(), to + n, MaskWord{0});
  offsets_.set(feature, offset);
  return row(offset);
}

void PackedRows::add(FeatureId feature, std::span<const MaskWord> row) {
  const std::uint32_t offset = arena_.allocate(row.size());
  std::copy(row.begin(), row.end(), words(offset));
  offsets_.set(feature, offset);
}

void PackedRows::add_copy(FeatureId feature, const Row& from, std::span<const MaskWord> mask) {
  const Row to = add_empty(feature, mask);
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

/// Moves a row of `before` cells to where it has room for `after`, with its accumulators at their new position.
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

void PackedRows::check(RowShape shape, std::uint32_t n_features) const {
  std::vector<MaskWord> begins((words().size() + kWordColumns - 1) / kWordColumns, 0);  // a bit for each word
  const std::size_t n_rows = check_rows(shape, begins);
  std::size_t n_found = 0;
  const std::span<const FeatureRows::Slot> slots = offsets_.slots();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto [feature, row] = slots[i];
    if (row == kNone) {
      continue;
    }
    ++n_found;
    expect(feature < n_features || feature == kBiasFeature, "it has a feature that the model does not have");
    expect(offsets_.finds(i), "a feature cannot be found");
    const MaskWord bit = MaskWord{1} << (row % kWordColumns);
    expect(row < words().size() && (begins[row / kWordColumns] & bit) != 0, "a feature has no row of its own");
    begins[row / kWordColumns] &= ~bit;
  }
  expect(n_found == offsets_.size() && n_found == n_rows, "its number of rows is wrong");
}

/// Checks the rows in memory order, sets the bit of each word at which a row begins, and returns the number of rows.
std::size_t PackedRows::check_rows(RowShape shape, std::span<MaskWord> begins) const {
  const std::size_t n_all = words().size();
  std::size_t n_rows = 0;
  for (std::size_t offset = 0; offset < n_all; ++n_rows) {
    expect(offset + mask_words_ <= n_all, "a row extends beyond the end");
    set_bit(begins, static_cast<Column>(offset));
    const Row found = row(static_cast<std::uint32_t>(offset));
    MaskWord beyond = 0;
    for (std::uint32_t word = 0; word < mask_words_; ++word) {
      beyond |= found.mask[word] & ~shape.columns_in(word);
    }
    expect(beyond == 0, "a row has a cell beyond the last column");
    expect(found.count > 0, "a row has no cell");
    offset += n_words(found.count);
    expect(offset <= n_all, "a row extends beyond the end");
    expect(found.halves == nullptr ? all_finite(found.weights, found.count) : all_finite(found.halves, found.count),
           "a weight is not finite");
    expect(!has_accumulators() || all_sums(found.accumulators, found.count),
           "an accumulator is negative or not finite");
  }
  return n_rows;
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

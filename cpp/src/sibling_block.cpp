// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/sibling_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "oplt/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kCacheLine = 64 / sizeof(MaskWord);

bool has_all(const MaskWord* mask, std::span<const MaskWord> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if ((wanted[i] & ~mask[i]) != 0) {
      return false;
    }
  }
  return true;
}

std::uint32_t mask_words_for(Column n_columns) {
  // Powers of two: a block of many columns (policy flat) is rebuilt seldom.
  return std::bit_ceil(std::max<std::uint32_t>(1, (n_columns + kWordColumns - 1) / kWordColumns));
}

void set_bit(std::span<MaskWord> mask, Column column) {
  mask[column / kWordColumns] |= MaskWord{1} << (column % kWordColumns);
}

std::uint32_t count_all_bits(std::span<const MaskWord> mask) {
  std::uint32_t count = 0;
  for (const MaskWord word : mask) {
    count += count_bits(word);
  }
  return count;
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

}  // namespace

SiblingBlock::SiblingBlock(bool auxiliary, Column n_children)
    : auxiliary_(auxiliary), n_columns_(n_children + (auxiliary ? 1 : 0)), mask_words_(mask_words_for(n_columns_)) {}

std::size_t SiblingBlock::row_words(std::uint32_t count) const {
  static_assert(2 * sizeof(Real) == sizeof(Arena::Word));  // a weight and its accumulator fill one word
  return mask_words_ + capacity_for(count);
}

SiblingBlock::Row SiblingBlock::row_at(std::uint32_t offset) const {
  // The row is handed out writable so that one Row serves readers and writers; const members only read it.
  MaskWord* mask = const_cast<MaskWord*>(arena_.at(offset));
  const std::uint32_t count = count_all_bits({mask, mask_words_});
  Real* weights = weights_of(mask, mask_words_);
  return {mask, weights, weights + capacity_for(count), count};
}

/// Calls visit(feature, row) for each row, in no meaningful order.
template <class Visit>
void SiblingBlock::for_each_row(Visit visit) const {
  for (const FeatureRows::Slot& slot : rows_.slots()) {
    if (slot.row != kNone) {
      visit(slot.feature, row_at(slot.row));
    }
  }
}

std::size_t SiblingBlock::n_cells() const {
  std::size_t n = 0;
  for_each_row([&](FeatureId, const Row& row) { n += row.count; });
  return n;
}

/// A new row with this mask (or these first words of it); its cells are not initialised.
SiblingBlock::Row SiblingBlock::add_row(FeatureId feature, std::span<const MaskWord> mask) {
  const std::uint32_t offset = arena_.allocate(row_words(count_all_bits(mask)));
  MaskWord* words = arena_.at(offset);
  std::copy(mask.begin(), mask.end(), words);
  std::fill(words + mask.size(), words + mask_words_, MaskWord{0});
  rows_.set(feature, offset);
  return row_at(offset);
}

/// scratch.rows: where each feature's row lies; scratch.scores: w·x of each column, summed by ascending feature.
void SiblingBlock::score(RowView x, BlockScratch& scratch) const {
  const std::size_t n = x.size();
  scratch.rows.resize(n);
  scratch.row_pointers.resize(n);
  scratch.scores.resize(std::size_t{mask_words_} * kWordColumns);
  for (const FeatureId feature : x.features) {
    rows_.prefetch(feature);
  }
  for (std::size_t i = 0; i < n; ++i) {
    scratch.rows[i] = rows_.find(x.features[i]);
    // Writable, because learn() goes on to change the rows; here they are only read.
    scratch.row_pointers[i] = scratch.rows[i] == kNone ? nullptr : const_cast<MaskWord*>(arena_.at(scratch.rows[i]));
    prefetch(scratch.row_pointers[i]);
    if (mask_words_ + n_columns_ > kCacheLine) {
      prefetch(scratch.row_pointers[i] + kCacheLine);
    }
  }
  scratch.kernels->score(scratch.row_pointers.data(), x.values.data(), n, mask_words_, scratch.scores.data());
}

std::span<const Real> SiblingBlock::child_scores(RowView x, BlockScratch& scratch) const {
  score(x, scratch);
  return std::span<const Real>(scratch.scores).subspan(auxiliary_ ? 1 : 0, n_children());
}

/// Gradients of the logistic loss and the mask of the columns that take a step; false if none does.
///
/// With z = -s for a positive and z = s for a negative column, |gradient| = sigmoid(z): a column with negated weights
/// and flipped target takes exactly the negated step, and the gate treats both alike. This symmetry makes the inverse
/// of a classifier exact to the bit.
bool SiblingBlock::compute_gradients(Real weight, std::span<const std::uint32_t> positives, const TrainParams& params,
                                     BlockScratch& scratch) const {
  std::vector<Real>& gradients = scratch.gradients;
  gradients.resize(scratch.scores.size());
  scratch.kernels->sigmoids(scratch.scores.data(), gradients.data(), gradients.size());
  const auto make_positive = [&](Column column) { gradients[column] = -sigmoid(-scratch.scores[column]); };
  if (auxiliary_) {
    make_positive(0);
  }
  for (const std::uint32_t child : positives) {
    make_positive(child + (auxiliary_ ? 1 : 0));
  }
  scratch.active.assign(mask_words_, 0);
  MaskWord any = 0;
  for (Column column = 0; column < n_columns_; ++column) {
    const MaskWord active = std::abs(gradients[column]) >= params.gate ? 1 : 0;
    any |= active;
    scratch.active[column / kWordColumns] |= active << (column % kWordColumns);
    gradients[column] *= weight;
  }
  return any != 0;
}

/// Moves a row of `before` cells to where it has room for `after`, its accumulators lying where they belong then.
std::uint32_t SiblingBlock::grow_row(std::uint32_t offset, std::uint32_t before, std::uint32_t after) {
  if (capacity_for(after) == capacity_for(before)) {
    return offset;
  }
  const std::uint32_t wider = arena_.allocate(row_words(after));
  const MaskWord* from = arena_.at(offset);
  MaskWord* to = arena_.at(wider);
  std::copy_n(from, mask_words_, to);
  std::copy_n(weights_of(from, mask_words_), before, weights_of(to, mask_words_));
  std::copy_n(weights_of(from, mask_words_) + capacity_for(before), before,
              weights_of(to, mask_words_) + capacity_for(after));
  arena_.release(offset, row_words(before));
  return wider;
}

/// Where the feature's row lies (there may be none yet) after room was made for the active cells that it lacks.
std::uint32_t SiblingBlock::make_room(FeatureId feature, std::uint32_t offset, std::span<const MaskWord> active) {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  for (std::uint32_t i = 0; i < mask_words_; ++i) {
    const MaskWord mask = offset == kNone ? 0 : arena_.at(offset)[i];
    before += count_bits(mask);
    after += count_bits(mask | active[i]);
  }
  std::uint32_t target = kNone;
  if (offset == kNone) {
    target = arena_.allocate(row_words(after));
    std::fill_n(arena_.at(target), mask_words_, MaskWord{0});
  } else {
    target = grow_row(offset, before, after);
  }
  if (target != offset) {
    rows_.set(feature, target);
  }
  return target;
}

void SiblingBlock::learn(RowView x, Real weight, std::span<const std::uint32_t> positives, const TrainParams& params,
                         BlockScratch& scratch) {
  score(x, scratch);
  if (!compute_gradients(weight, positives, params, scratch)) {
    return;
  }
  bool changed = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    // The pointers of rows that have all active cells are still those of score().
    if (scratch.rows[i] == kNone || !has_all(arena_.at(scratch.rows[i]), scratch.active)) {
      scratch.rows[i] = make_room(x.features[i], scratch.rows[i], scratch.active);
      changed = true;
    }
  }
  for (std::size_t i = 0; changed && i < x.size(); ++i) {  // only now: the arena may have moved
    scratch.row_pointers[i] = arena_.at(scratch.rows[i]);
  }
  const StepParams step{scratch.active.data(), scratch.gradients.data(), params.learning_rate, params.adagrad_eps};
  scratch.kernels->step(scratch.row_pointers.data(), x.values.data(), x.size(), mask_words_, step);
}

/// Adds a cell behind the row's last one; returns where the row lies now.
std::uint32_t SiblingBlock::append_cell(std::uint32_t offset, Column column, Real weight, Real accumulator) {
  const std::uint32_t count = row_at(offset).count;
  const std::uint32_t target = grow_row(offset, count, count + 1);
  set_bit({arena_.at(target), mask_words_}, column);
  const Row row = row_at(target);
  row.weights[count] = weight;
  row.accumulators[count] = accumulator;
  return target;
}

void SiblingBlock::widen_masks() {
  SiblingBlock wider(auxiliary_, n_children());
  wider.rows_.reserve(rows_.size());
  for_each_row([&](FeatureId feature, const Row& from) {
    const Row to = wider.add_row(feature, {from.mask, mask_words_});
    std::copy_n(from.weights, from.count, to.weights);
    std::copy_n(from.accumulators, from.count, to.accumulators);
  });
  *this = std::move(wider);
}

void SiblingBlock::add_child() {
  assert(auxiliary_);
  const Column column = n_columns_++;
  if (mask_words_for(n_columns_) != mask_words_) {
    widen_masks();
  }
  for (FeatureRows::Slot& slot : rows_.slots()) {
    if (slot.row != kNone && (*arena_.at(slot.row) & 1) != 0) {  // the auxiliary classifier knows the feature
      const Row row = row_at(slot.row);
      // Not -w: a zero keeps its sign, and so its bits.
      slot.row = append_cell(slot.row, column, Real{0} - row.weights[0], row.accumulators[0]);
    }
  }
}

SiblingBlock SiblingBlock::parent_block() const {
  assert(auxiliary_);
  SiblingBlock parent(true, 1);
  parent.rows_.reserve(rows_.size());
  for_each_row([&](FeatureId feature, const Row& from) {
    if ((*from.mask & 1) != 0) {
      const MaskWord both = 0b11;
      const Row to = parent.add_row(feature, {&both, 1});
      std::fill_n(to.weights, 2, from.weights[0]);
      std::fill_n(to.accumulators, 2, from.accumulators[0]);
    }
  });
  return parent;
}

void SiblingBlock::drop_auxiliary() {
  SiblingBlock rest(false, n_children());
  rest.rows_.reserve(rows_.size());
  std::vector<MaskWord> mask(rest.mask_words_);
  for_each_row([&](FeatureId feature, const Row& from) {
    for (std::uint32_t i = 0; i < rest.mask_words_; ++i) {  // shift all columns down by one
      const MaskWord next = i + 1 < mask_words_ ? from.mask[i + 1] : 0;
      mask[i] = (from.mask[i] >> 1) | (next << (kWordColumns - 1));
    }
    const std::uint32_t dropped = *from.mask & 1;
    if (from.count > dropped) {
      const Row to = rest.add_row(feature, mask);
      std::copy_n(from.weights + dropped, to.count, to.weights);
      std::copy_n(from.accumulators + dropped, to.count, to.accumulators);
    }
  });
  *this = std::move(rest);
}

std::vector<FeatureRows::Slot> SiblingBlock::sorted_rows() const {
  std::vector<FeatureRows::Slot> rows;
  rows.reserve(rows_.size());
  std::copy_if(rows_.slots().begin(), rows_.slots().end(), std::back_inserter(rows),
               [](const FeatureRows::Slot& slot) { return slot.row != kNone; });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.feature < b.feature; });
  return rows;
}

std::vector<Cell> SiblingBlock::cells(Column wanted) const {
  std::vector<Cell> result;
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    const Row row = row_at(slot.row);
    std::uint32_t i = 0;
    for_each_bit({row.mask, mask_words_}, [&](Column column) {
      if (column == wanted && (row.weights[i] != 0 || row.accumulators[i] != 0)) {
        result.push_back({slot.feature, row.weights[i], row.accumulators[i]});
      }
      ++i;
    });
  }
  return result;
}

// Sorted rows, the fewest mask words, and only cells that hold something: how a block happens to be laid out in memory
// leaves no trace in a file.
void SiblingBlock::save(Writer& out) const {
  const std::uint32_t saved_words = (n_columns_ + kWordColumns - 1) / kWordColumns;
  std::vector<FeatureId> features;
  std::vector<MaskWord> masks;
  std::vector<Real> weights;
  std::vector<Real> accumulators;
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    const Row row = row_at(slot.row);
    std::vector<MaskWord> mask(saved_words, 0);
    std::uint32_t i = 0;
    for_each_bit({row.mask, mask_words_}, [&](Column column) {
      if (row.weights[i] != 0 || row.accumulators[i] != 0) {
        set_bit(mask, column);
        weights.push_back(row.weights[i]);
        accumulators.push_back(row.accumulators[i]);
      }
      ++i;
    });
    if (count_all_bits(mask) > 0) {
      features.push_back(slot.feature);
      masks.insert(masks.end(), mask.begin(), mask.end());
    }
  }
  out.put(static_cast<std::uint8_t>(auxiliary_));
  out.put(n_columns_);
  out.put_array(std::span<const FeatureId>(features));
  out.put_array(std::span<const MaskWord>(masks));
  out.put_array(std::span<const Real>(weights));
  out.put_array(std::span<const Real>(accumulators));
}

SiblingBlock SiblingBlock::load(Reader& in) {
  const bool auxiliary = in.get<std::uint8_t>() != 0;
  const auto n_columns = in.get<std::uint32_t>();
  const auto features = in.get_array<FeatureId>();
  const auto masks = in.get_array<MaskWord>();
  const auto weights = in.get_array<Real>();
  const auto accumulators = in.get_array<Real>();
  const std::uint64_t saved_words = (std::uint64_t{n_columns} + kWordColumns - 1) / kWordColumns;
  if (n_columns < (auxiliary ? 1U : 0U) || (n_columns == 0 && !features.empty()) ||
      masks.size() != features.size() * saved_words || weights.size() != accumulators.size() ||
      weights.size() != count_all_bits(masks)) {
    throw FormatError("the parts of a sibling block do not fit together");
  }
  SiblingBlock block(auxiliary, n_columns - (auxiliary ? 1 : 0));
  std::size_t next = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto mask = std::span<const MaskWord>(masks).subspan(i * saved_words, saved_words);
    const MaskWord beyond = n_columns % kWordColumns == 0 ? 0 : ~MaskWord{0} << (n_columns % kWordColumns);
    if ((i > 0 && features[i] <= features[i - 1]) || (mask.back() & beyond) != 0) {
      throw FormatError("a row of a sibling block is out of order or has too many columns");
    }
    const Row row = block.add_row(features[i], mask);
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(next), row.count, row.weights);
    std::copy_n(accumulators.begin() + static_cast<std::ptrdiff_t>(next), row.count, row.accumulators);
    next += row.count;
  }
  return block;
}

}  // namespace oplt

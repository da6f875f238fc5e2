// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/sibling_block.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "oplt/math.hpp"

namespace oplt {

namespace {

using Word = Arena::Word;
constexpr std::uint32_t kWordBits = 64;

std::uint32_t mask_words_for(Column n_columns) {
  // Powers of two: a block of many columns (policy flat) is rebuilt seldom.
  return std::bit_ceil(std::max<std::uint32_t>(1, (n_columns + kWordBits - 1) / kWordBits));
}

bool has_bit(std::span<const Word> mask, Column column) {
  return ((mask[column / kWordBits] >> (column % kWordBits)) & 1) != 0;
}

void set_bit(std::span<Word> mask, Column column) { mask[column / kWordBits] |= Word{1} << (column % kWordBits); }

std::uint32_t count_bits(std::span<const Word> mask) {
  std::uint32_t count = 0;
  for (const Word word : mask) {
    count += static_cast<std::uint32_t>(std::popcount(word));
  }
  return count;
}

/// Calls visit(column) for each bit, ascending.
template <class Visit>
void for_each_bit(std::span<const Word> mask, Visit visit) {
  Column base = 0;
  for (Word word : mask) {
    for (; word != 0; word &= word - 1) {
      visit(base + static_cast<Column>(std::countr_zero(word)));
    }
    base += kWordBits;
  }
}

/// Cells that are reserved for a row of `count`: exact up to 8, then in steps of an eighth to a quarter.
std::uint32_t capacity_for(std::uint32_t count) {
  if (count <= 8) {
    return count;
  }
  const std::uint32_t step = std::bit_floor(count - 1) / 4;
  return (count + step - 1) / step * step;
}

/// AdaGrad: G += g², w -= learning_rate · g / sqrt(eps + G), with g the gradient times the feature's value.
inline void adagrad_step(Real& weight, Real& accumulator, Real g, const TrainParams& params) {
  accumulator += g * g;
  weight -= params.learning_rate * g / std::sqrt(params.adagrad_eps + accumulator);
}

}  // namespace

SiblingBlock::SiblingBlock(bool auxiliary, Column n_children)
    : auxiliary_(auxiliary), n_columns_(n_children + (auxiliary ? 1 : 0)), mask_words_(mask_words_for(n_columns_)) {}

std::size_t SiblingBlock::row_words(std::uint32_t count) const {
  static_assert(2 * sizeof(Real) == sizeof(Word));  // a weight and its accumulator fill one word
  return mask_words_ + capacity_for(count);
}

SiblingBlock::Row SiblingBlock::row_at(std::uint32_t offset) const {
  // The row is handed out writable so that one Row serves readers and writers; const members only read it.
  Word* mask = const_cast<Word*>(arena_.at(offset));
  const std::uint32_t count = count_bits({mask, mask_words_});
  Real* weights = reinterpret_cast<Real*>(mask + mask_words_);
  return {mask, weights, weights + capacity_for(count), count};
}

/// A new row with a zero cell for each bit of the mask.
std::uint32_t SiblingBlock::add_row(FeatureId feature, std::span<const Word> mask) {
  const std::uint32_t count = count_bits(mask);
  const std::uint32_t offset = arena_.allocate(row_words(count));
  Word* words = arena_.at(offset);
  std::fill_n(words, mask_words_, 0);
  std::copy(mask.begin(), mask.end(), words);
  std::fill_n(reinterpret_cast<Real*>(words + mask_words_), 2 * capacity_for(count), Real{0});
  rows_.set(feature, offset);
  return offset;
}

/// Gives the row the cells it lacks of the wanted ones; returns where it lies now.
std::uint32_t SiblingBlock::widen_row(FeatureId feature, std::uint32_t offset, std::span<const Word> wanted) {
  const std::span<const Word> present(arena_.at(offset), mask_words_);
  std::vector<Word> joined(present.begin(), present.end());
  bool lacks = false;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    lacks = lacks || (wanted[i] & ~joined[i]) != 0;
    joined[i] |= wanted[i];
  }
  if (!lacks) {
    return offset;
  }
  const std::uint32_t wider = add_row(feature, joined);
  const Row from = row_at(offset);
  const Row to = row_at(wider);
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  for_each_bit(joined, [&](Column column) {
    if (has_bit({from.mask, mask_words_}, column)) {
      to.weights[j] = from.weights[i];
      to.accumulators[j] = from.accumulators[i];
      ++i;
    }
    ++j;
  });
  arena_.release(offset, row_words(from.count));
  return wider;
}

/// scratch.rows: where each feature's row lies; scratch.scores: w·x of each column, summed by ascending feature.
void SiblingBlock::score(RowView x, BlockScratch& scratch) const {
  scratch.scores.assign(n_columns_, Real{0});
  scratch.rows.resize(x.size());
  Real* scores = scratch.scores.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t offset = rows_.find(x.features[i]);
    scratch.rows[i] = offset;
    if (offset == kNone) {
      continue;
    }
    const Row row = row_at(offset);
    const Real value = x.values[i];
    if (row.count == n_columns_) {
      for (Column column = 0; column < n_columns_; ++column) {
        scores[column] += row.weights[column] * value;
      }
    } else {
      const Real* weight = row.weights;
      for_each_bit({row.mask, mask_words_}, [&](Column column) { scores[column] += *weight++ * value; });
    }
  }
}

std::span<const Real> SiblingBlock::child_scores(RowView x, BlockScratch& scratch) const {
  score(x, scratch);
  return std::span<const Real>(scratch.scores).subspan(auxiliary_ ? 1 : 0);
}

/// Gradients of the logistic loss and the mask of the columns that take a step; false if none does.
///
/// With z = -s for a positive and z = s for a negative column, |gradient| = sigmoid(z): a column with negated weights
/// and flipped target takes exactly the negated step, and the gate treats both alike. This symmetry makes the inverse
/// of a classifier exact to the bit.
bool SiblingBlock::compute_gradients(Real weight, std::span<const std::uint32_t> positives, const TrainParams& params,
                                     BlockScratch& scratch) const {
  scratch.gradients.resize(n_columns_);
  scratch.active.assign(mask_words_, 0);
  for (Column column = 0; column < n_columns_; ++column) {
    scratch.gradients[column] = sigmoid(scratch.scores[column]);
  }
  const auto make_positive = [&](Column column) { scratch.gradients[column] = -sigmoid(-scratch.scores[column]); };
  if (auxiliary_) {
    make_positive(0);
  }
  for (const std::uint32_t child : positives) {
    make_positive(child + (auxiliary_ ? 1 : 0));
  }
  bool any = false;
  for (Column column = 0; column < n_columns_; ++column) {
    if (std::abs(scratch.gradients[column]) >= params.gate) {
      set_bit(scratch.active, column);
      any = true;
    }
    scratch.gradients[column] *= weight;
  }
  return any;
}

void SiblingBlock::step_row(const Row& row, Real value, const TrainParams& params, const BlockScratch& scratch) {
  const Real* gradients = scratch.gradients.data();
  if (row.count == n_columns_ && count_bits(scratch.active) == n_columns_) {
    for (Column column = 0; column < n_columns_; ++column) {
      adagrad_step(row.weights[column], row.accumulators[column], gradients[column] * value, params);
    }
    return;
  }
  std::uint32_t before = 0;  // cells of the words passed
  for (std::uint32_t i = 0; i < mask_words_; ++i) {
    const Word present = row.mask[i];
    for (Word active = scratch.active[i]; active != 0; active &= active - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(active));
      const auto cell = before + static_cast<std::uint32_t>(std::popcount(present & ((Word{1} << bit) - 1)));
      adagrad_step(row.weights[cell], row.accumulators[cell], gradients[i * kWordBits + bit] * value, params);
    }
    before += static_cast<std::uint32_t>(std::popcount(present));
  }
}

void SiblingBlock::learn(RowView x, Real weight, std::span<const std::uint32_t> positives, const TrainParams& params,
                         BlockScratch& scratch) {
  score(x, scratch);
  if (!compute_gradients(weight, positives, params, scratch)) {
    return;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t offset = scratch.rows[i];
    offset =
        offset == kNone ? add_row(x.features[i], scratch.active) : widen_row(x.features[i], offset, scratch.active);
    step_row(row_at(offset), x.values[i], params, scratch);
  }
}

void SiblingBlock::add_child() {
  assert(auxiliary_);
  const Column column = n_columns_++;
  if (mask_words_for(n_columns_) != mask_words_) {
    SiblingBlock wider(auxiliary_, n_children());
    for (const FeatureRows::Slot& slot : sorted_rows()) {
      const Row from = row_at(slot.row);
      const Row to = wider.row_at(wider.add_row(slot.feature, {from.mask, mask_words_}));
      std::copy_n(from.weights, from.count, to.weights);
      std::copy_n(from.accumulators, from.count, to.accumulators);
    }
    *this = std::move(wider);
  }
  std::vector<Word> wanted(mask_words_, 0);
  set_bit(wanted, column);
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    if ((*arena_.at(slot.row) & 1) == 0) {
      continue;  // the auxiliary classifier does not know this feature
    }
    const Row row = row_at(widen_row(slot.feature, slot.row, wanted));
    row.weights[row.count - 1] = Real{0} - row.weights[0];  // not -w: zeros keep their sign, and so their bits
    row.accumulators[row.count - 1] = row.accumulators[0];
  }
}

SiblingBlock SiblingBlock::parent_block() const {
  assert(auxiliary_);
  SiblingBlock parent(true, 1);
  const Word both = 0b11;
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    const Row from = row_at(slot.row);
    if ((*from.mask & 1) != 0) {
      const Row to = parent.row_at(parent.add_row(slot.feature, {&both, 1}));
      std::fill_n(to.weights, 2, from.weights[0]);
      std::fill_n(to.accumulators, 2, from.accumulators[0]);
    }
  }
  return parent;
}

void SiblingBlock::drop_auxiliary() {
  SiblingBlock rest(false, n_children());
  std::vector<Word> mask(rest.mask_words_);
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    const Row from = row_at(slot.row);
    for (std::uint32_t i = 0; i < rest.mask_words_; ++i) {  // shift all columns down by one
      const Word next = i + 1 < mask_words_ ? from.mask[i + 1] : 0;
      mask[i] = (from.mask[i] >> 1) | (next << (kWordBits - 1));
    }
    const std::uint32_t dropped = *from.mask & 1;
    if (from.count == dropped) {
      continue;
    }
    const Row to = rest.row_at(rest.add_row(slot.feature, mask));
    std::copy_n(from.weights + dropped, to.count, to.weights);
    std::copy_n(from.accumulators + dropped, to.count, to.accumulators);
  }
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
  const std::uint32_t saved_words = (n_columns_ + kWordBits - 1) / kWordBits;
  std::vector<FeatureId> features;
  std::vector<Word> masks;
  std::vector<Real> weights;
  std::vector<Real> accumulators;
  for (const FeatureRows::Slot& slot : sorted_rows()) {
    const Row row = row_at(slot.row);
    std::vector<Word> mask(saved_words, 0);
    std::uint32_t i = 0;
    for_each_bit({row.mask, mask_words_}, [&](Column column) {
      if (row.weights[i] != 0 || row.accumulators[i] != 0) {
        set_bit(mask, column);
        weights.push_back(row.weights[i]);
        accumulators.push_back(row.accumulators[i]);
      }
      ++i;
    });
    if (count_bits(mask) > 0) {
      features.push_back(slot.feature);
      masks.insert(masks.end(), mask.begin(), mask.end());
    }
  }
  out.put(static_cast<std::uint8_t>(auxiliary_));
  out.put(n_columns_);
  out.put_array(std::span<const FeatureId>(features));
  out.put_array(std::span<const Word>(masks));
  out.put_array(std::span<const Real>(weights));
  out.put_array(std::span<const Real>(accumulators));
}

SiblingBlock SiblingBlock::load(Reader& in) {
  const bool auxiliary = in.get<std::uint8_t>() != 0;
  const auto n_columns = in.get<std::uint32_t>();
  const auto features = in.get_array<FeatureId>();
  const auto masks = in.get_array<Word>();
  const auto weights = in.get_array<Real>();
  const auto accumulators = in.get_array<Real>();
  const std::uint64_t saved_words = (std::uint64_t{n_columns} + kWordBits - 1) / kWordBits;
  if (n_columns < (auxiliary ? 1U : 0U) || (n_columns == 0 && !features.empty()) ||
      masks.size() != features.size() * saved_words || weights.size() != accumulators.size() ||
      weights.size() != count_bits(masks)) {
    throw FormatError("the parts of a sibling block do not fit together");
  }
  SiblingBlock block(auxiliary, n_columns - (auxiliary ? 1 : 0));
  std::size_t next = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto mask = std::span<const Word>(masks).subspan(i * saved_words, saved_words);
    const Word beyond = n_columns % kWordBits == 0 ? 0 : ~Word{0} << (n_columns % kWordBits);
    if ((i > 0 && features[i] <= features[i - 1]) || (mask.back() & beyond) != 0) {
      throw FormatError("a row of a sibling block is out of order or has too many columns");
    }
    const Row row = block.row_at(block.add_row(features[i], mask));
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(next), row.count, row.weights);
    std::copy_n(accumulators.begin() + static_cast<std::ptrdiff_t>(next), row.count, row.accumulators);
    next += row.count;
  }
  return block;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/sibling_block.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

namespace oplt {

namespace {

constexpr std::size_t kCacheLine = 64 / sizeof(MaskWord);

// AROW normalises each step by its own example only. If the values of one row differ by many orders of magnitude from
// those of another, each could enlarge the other's errors, up to infinity, without this bound.
constexpr Real kMostError = 1e6F;

bool has_all(const MaskWord* mask, std::span<const MaskWord> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if ((wanted[i] & ~mask[i]) != 0) {
      return false;
    }
  }
  return true;
}

/// How many cache lines to prefetch for a row: all, if each column has a weight, but at most three. Rows may be
/// shorter, and what follows them is then prefetched in vain.
std::size_t n_lines_of(RowShape shape) {
  constexpr std::size_t kMost = 3;
  return std::min(kMost, 1 + (shape.mask_words + shape.n_columns / 2) / kCacheLine);
}

std::uint32_t mask_words_for(Column n_columns) {
  // Powers of two, so that a block with many columns (policy flat) is rarely rebuilt.
  return std::bit_ceil(std::max<std::uint32_t>(1, (n_columns + kWordColumns - 1) / kWordColumns));
}

}  // namespace

std::uint32_t SiblingBlock::mask_words_for_children(Column n_children) { return mask_words_for(column_of(n_children)); }

SiblingBlock::SiblingBlock(bool auxiliary, Column n_children)
    : auxiliary_(auxiliary), n_children_(n_children), rows_(mask_words_for(column_of(n_children))) {}

/// Calls visit(column, weight, accumulator) for each non-zero cell of the row, ascending. Skips an auxiliary cell that
/// drop_auxiliary() kept only as the source of pending columns.
template <class Visit>
void SiblingBlock::for_each_cell(const Row& row, Visit visit) const {
  const auto visit_cell = [&](Column column, Real weight, Real accumulator) {
    if ((weight != 0 || accumulator != 0) && (column != kAuxiliary || auxiliary_)) {
      visit(column, weight, accumulator);
    }
  };
  std::uint32_t i = 0;
  for_each_bit({row.mask, rows_.mask_words()}, [&](Column column) {
    visit_cell(column, row.weight(i), row.accumulator(i));
    ++i;
  });
  for_each_pending(row.mask, shape(), [&](std::uint32_t word, MaskWord pending) {
    for_each_bit({&pending, 1}, [&](Column bit) {
      visit_cell(word * kWordColumns + bit, inverse_weight(row.weight(0)), row.accumulator(0));
    });
  });
}

SiblingBlock::Size SiblingBlock::counted() const {
  Size size;
  rows_.for_each([&](FeatureId, const Row& row) {
    for_each_cell(row, [&](Column column, Real, Real) {
      ++size.n_cells;
      size.n_auxiliary += column == kAuxiliary ? 1 : 0;
    });
  });
  return size;
}

/// Sets scratch.rows, the offset of each feature's row, and scratch.scores, w·x of each column, summed by ascending
/// feature.
void SiblingBlock::score(RowView x, BlockScratch& scratch) const {
  const std::size_t n = x.size();
  scratch.rows.resize(n);
  scratch.row_pointers.resize(n);
  scratch.scores.resize(n_scores(shape()));
  scratch.base = rows_.words(0);
  const std::size_t n_prefetched = n_lines_of(shape());
  for (const FeatureId feature : x.features) {
    rows_.prefetch(feature);
  }
  for (std::size_t i = 0; i < n; ++i) {
    scratch.rows[i] = rows_.find(x.features[i]);
    if (scratch.rows[i] == kNone) {
      scratch.row_pointers[i] = nullptr;
      continue;
    }
    scratch.row_pointers[i] = rows_.words(scratch.rows[i]);
    for (std::size_t line = 0; line < n_prefetched; ++line) {
      prefetch(scratch.row_pointers[i] + line * kCacheLine);
    }
  }
  const Kernels& kernels = *scratch.kernels;
  const auto score_rows = rows_.content() == RowContent::kHalfWeights ? kernels.score_halves : kernels.score;
  score_rows(scratch.row_pointers.data(), x.values.data(), n, shape(), scratch.scores.data());
}

std::span<const Real> SiblingBlock::child_scores(RowView x, BlockScratch& scratch) const {
  score(x, scratch);
  return std::span<const Real>(scratch.scores).subspan(column_of(0), n_children_);
}

std::vector<Real> SiblingBlock::child_weights(Column child, RowView x) const {
  std::vector<Real> weights;
  weights.reserve(x.size());
  for (const FeatureId feature : x.features) {
    const std::uint32_t offset = rows_.find(feature);
    weights.push_back(offset == kNone ? Real{0} : rows_.weight(offset, column_of(child)));
  }
  return weights;
}

/// Marks the columns to update; false if there is none.
template <class IsActive>
bool SiblingBlock::find_active(BlockScratch& scratch, IsActive is_active) const {
  scratch.active.assign(rows_.mask_words(), 0);
  MaskWord any = 0;
  for (Column column = auxiliary_ ? kAuxiliary : column_of(0); column < shape().n_columns; ++column) {
    const MaskWord active = is_active(scratch.gradients[column]) ? 1 : 0;
    any |= active;
    scratch.active[column / kWordColumns] |= active << (column % kWordColumns);
  }
  return any != 0;
}

/// The gradient of the logistic loss is sigmoid(z), z = -(y·s).
bool SiblingBlock::compute_gradients(Real weight, const AdaGradParams& params, BlockScratch& scratch) const {
  std::vector<Real>& gradients = scratch.gradients;
  scratch.kernels->sigmoids(gradients.data(), gradients.size());
  if (!find_active(scratch, [&](Real gradient) { return gradient >= params.gate; })) {
    return false;
  }
  for (Real& gradient : gradients) {
    gradient *= weight;
  }
  return true;
}

/// With the margin y·s = -z, AROW corrects errors 1 + z > 0 by (1 + z) / (r + v), where v is the variance of the score:
/// the sum of x² · (1 - confidence) over the row. An example of weight c counts as c examples: its r is r / c.
bool SiblingBlock::compute_gradients(RowView x, Real weight, const ArowParams& params, BlockScratch& scratch) const {
  if (!find_active(scratch, [](Real z) { return z > -1; })) {
    return false;
  }
  scratch.squares.resize(x.size());
  Real norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    scratch.squares[i] = x.values[i] * x.values[i];
    norm += scratch.squares[i];
  }
  scratch.confidences.resize(n_scores(shape()));
  scratch.kernels->sum_accumulators(scratch.row_pointers.data(), scratch.squares.data(), x.size(), shape(),
                                    scratch.active.data(), scratch.confidences.data());
  const Real r = params.r / weight;
  scratch.largest_gradient = 0;
  for (std::size_t i = 0; i < scratch.gradients.size(); ++i) {
    const Real variance = norm > scratch.confidences[i] ? norm - scratch.confidences[i] : 0;
    scratch.gradients[i] = std::min(kMostError, 1 + scratch.gradients[i]) / (r + variance);
    scratch.largest_gradient = std::max(scratch.largest_gradient, scratch.gradients[i]);
  }
  // As a fraction of the first step of a feature of medium size in a classifier that knows nothing about the row.
  const Real medium = std::sqrt(norm / static_cast<Real>(std::max<std::size_t>(1, x.size())));
  scratch.arow = {r, params.sparsity * medium / (r + norm)};
  return true;
}

/// Computes the mask of a row after an update of the active columns. `mask` is null for a row that does not exist yet.
void SiblingBlock::find_cells_after(const MaskWord* mask, std::span<const MaskWord> active, MaskWord* after) const {
  if (mask == nullptr) {
    std::copy(active.begin(), active.end(), after);
  } else {
    // Pending columns get cells when one of them, or the auxiliary cell that defines them, is updated.
    bool wake = (active[0] & kAuxiliaryBit) != 0;
    for (std::uint32_t i = 0; i < rows_.mask_words(); ++i) {
      after[i] = mask[i] | active[i];
    }
    for_each_pending(mask, shape(),
                     [&](std::uint32_t word, MaskWord pending) { wake = wake || (active[word] & pending) != 0; });
    if (wake) {
      for_each_pending(mask, shape(), [&](std::uint32_t word, MaskWord pending) { after[word] |= pending; });
    }
  }
  if ((after[0] & kAuxiliaryBit) != 0 && (mask == nullptr || (mask[0] & kAuxiliaryBit) == 0)) {
    // The row gets its auxiliary cell only now, so existing columns without a cell are (0, 0) and not pending.
    mark_none_pending({after, rows_.mask_words()}, shape());
  }
}

/// With z = -s for a positive and z = s for a negative column, the size of a gradient depends on z alone: a column with
/// negated weights and flipped target takes exactly the negated step. This symmetry makes the inverse of a classifier
/// exact to the bit.
bool SiblingBlock::find_step(RowView x, Real weight, std::span<const std::uint32_t> positives,
                             const LearningParams& params, BlockScratch& scratch) const {
  std::vector<Real>& gradients = scratch.gradients;
  gradients.assign(scratch.scores.begin(), scratch.scores.end());
  const auto negate_positives = [&] {
    gradients[kAuxiliary] = -gradients[kAuxiliary];
    for (const std::uint32_t child : positives) {
      gradients[column_of(child)] = -gradients[column_of(child)];
    }
  };
  negate_positives();
  const auto* arow = std::get_if<ArowParams>(&params);
  const bool any = arow != nullptr ? compute_gradients(x, weight, *arow, scratch)
                                   : compute_gradients(weight, std::get<AdaGradParams>(params), scratch);
  negate_positives();
  return any;
}

void SiblingBlock::take_step(RowView x, const LearningParams& params, BlockScratch& scratch) {
  if (const auto* adagrad = std::get_if<AdaGradParams>(&params)) {
    take_step(x, AdaGradStep{adagrad->learning_rate, adagrad->eps, adagrad->least}, scratch.kernels->step_adagrad,
              scratch);
  } else {
    take_step(x, scratch.arow, scratch.kernels->step_arow, scratch);
  }
}

/// The active columns, without those that have no cell in the row and would not get one by the rule.
template <class Rule>
std::span<const MaskWord> SiblingBlock::starting(const MaskWord* mask, Real value, const Rule& rule,
                                                 BlockScratch& scratch) const {
  if (rule.starts_all()) {
    return scratch.active;
  }
  scratch.starting.resize(rows_.mask_words());
  const bool any_starts = rule.starts(scratch.largest_gradient, value);
  const PendingColumns pending(mask, rows_.mask_words());
  for (std::uint32_t word = 0; word < rows_.mask_words(); ++word) {
    const MaskWord present = mask[word] | pending.in(word);
    MaskWord starting = scratch.active[word] & present;
    for (MaskWord absent = any_starts ? scratch.active[word] & ~present : 0; absent != 0; absent &= absent - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(absent));
      if (rule.starts(scratch.gradients[word * kWordColumns + bit], value)) {
        starting |= MaskWord{1} << bit;
      }
    }
    scratch.starting[word] = starting;
  }
  return scratch.starting;
}

template <class Rule>
void SiblingBlock::take_step(RowView x, const Rule& rule, Kernels::Step<Rule>* step, BlockScratch& scratch) {
  rows_.own();
  // A row that has cells for the active columns needs no new ones, unless its auxiliary cell is updated while columns
  // are pending, i.e. while the last column has no cell.
  scratch.required = scratch.active;
  if ((scratch.active[0] & kAuxiliaryBit) != 0) {
    mark_none_pending(scratch.required, shape());
  }
  const std::uint32_t mask_words = rows_.mask_words();
  scratch.no_cells.assign(mask_words, 0);
  bool changed = rows_.words(0) != scratch.base;  // the block has been copied since score()
  scratch.after.resize(x.size() * mask_words);
  MaskWord* after = scratch.after.data();
  std::size_t n_new_auxiliary = 0;
  for (std::size_t i = 0; i < x.size(); ++i, after += mask_words) {
    const MaskWord* mask = scratch.rows[i] == kNone ? nullptr : rows_.words(scratch.rows[i]);
    if (mask != nullptr && has_all(mask, scratch.required)) {
      *after = *mask;
      for (std::uint32_t word = 1; word < mask_words; ++word) {  // usually there is only word 0
        after[word] = mask[word];
      }
      continue;
    }
    const MaskWord* before = mask == nullptr ? scratch.no_cells.data() : mask;
    find_cells_after(mask, starting(before, x.values[i], rule, scratch), after);
    if (!has_all(before, {after, mask_words})) {
      n_new_auxiliary += (after[0] & ~before[0]) & kAuxiliaryBit;
      scratch.rows[i] = rows_.make_room(x.features[i], scratch.rows[i], {after, mask_words});
      changed = true;
    }
  }
  for (std::size_t i = 0; changed && i < x.size(); ++i) {  // after all make_room(), which may move the arena
    scratch.row_pointers[i] = scratch.rows[i] == kNone ? nullptr : rows_.words(scratch.rows[i]);
  }
  const StepColumns columns{scratch.active.data(), scratch.gradients.data()};
  const std::size_t n_started =
      step(scratch.row_pointers.data(), scratch.after.data(), x.values.data(), x.size(), mask_words, columns, rule);
  if (size_) {
    size_->n_cells += n_started;
    size_->n_auxiliary += n_new_auxiliary;
  }
}

/// Makes space for the columns of `n_children` children.
void SiblingBlock::widen_masks(Column n_children) {
  SiblingBlock wider(auxiliary_, n_children);
  wider.n_children_ = n_children_;
  wider.size_ = size_;
  wider.rows_.reserve(rows_.size());
  rows_.for_each(
      [&](FeatureId feature, const Row& row) { wider.rows_.add_copy(feature, row, {row.mask, rows_.mask_words()}); });
  *this = std::move(wider);
}

void SiblingBlock::add_child() {
  assert(auxiliary_);
  if (mask_words_for(column_of(n_children_ + 1)) != rows_.mask_words()) {
    widen_masks(n_children_ + 1);
  }
  ++n_children_;  // pending in all rows
  if (size_) {
    size_->n_cells += size_->n_auxiliary;
  }
}

SiblingBlock SiblingBlock::parent_block() const {
  assert(auxiliary_);
  SiblingBlock parent(true, 1);
  parent.rows_.reserve(rows_.size());
  rows_.for_each([&](FeatureId feature, const Row& from) {
    if ((*from.mask & kAuxiliaryBit) != 0) {
      const MaskWord both = 0b11;
      const Row to = parent.rows_.add_empty(feature, {&both, 1});
      std::fill_n(to.weights, 2, from.weights[0]);
      std::fill_n(to.accumulators, 2, from.accumulators[0]);
      parent.size_->n_cells += 2;
      parent.size_->n_auxiliary += 1;
    }
  });
  return parent;
}

void SiblingBlock::drop_auxiliary() {
  SiblingBlock rest(false, n_children_);
  rest.rows_.reserve(rows_.size());
  std::vector<MaskWord> mask(rows_.mask_words());
  rows_.for_each([&](FeatureId feature, const Row& row) {
    std::copy_n(row.mask, mask.size(), mask.begin());
    mask[0] &= ~kAuxiliaryBit;
    // Pending columns are the inverse of the auxiliary cell, so it must stay.
    for_each_pending(row.mask, shape(), [&](std::uint32_t, MaskWord) { mask[0] |= kAuxiliaryBit; });
    // A zero cell that only marked the columns below it as not pending does not need a row.
    const std::size_t count = count_bits(mask);
    const bool is_zero = row.weight(row.count - 1) == 0 && row.accumulator(row.count - 1) == 0;
    if (count > 1 || (count == 1 && !is_zero)) {
      rest.rows_.add_copy(feature, row, mask);
    }
  });
  rest.size_ = size_;
  if (size_) {
    rest.size_->n_cells -= size_->n_auxiliary;
    rest.size_->n_auxiliary = 0;
  }
  *this = std::move(rest);
}

void SiblingBlock::set_weights(FeatureId feature, std::span<const ChildWeight> weights) {
  assert(!auxiliary_);
  std::vector<CellAt> cells;
  cells.reserve(weights.size());
  for (const ChildWeight& given : weights) {
    cells.push_back({column_of(given.child), given.weight, 0});
  }
  add_row(feature, std::move(cells));
}

std::vector<Cell> SiblingBlock::cells(Column wanted) const {
  std::vector<Cell> result;
  for (const FeatureRows::Slot& slot : rows_.sorted()) {
    for_each_cell(rows_.row(slot.row), [&](Column column, Real weight, Real accumulator) {
      if (column == wanted) {
        result.push_back({slot.feature, weight, accumulator});
      }
    });
  }
  return result;
}

void SiblingBlock::visit_canonical_rows(const VisitRow& visit) const {
  std::vector<CellAt> cells;
  std::vector<MaskWord> words;
  for (const FeatureRows::Slot& slot : rows_.sorted()) {
    cells.clear();
    for_each_cell(rows_.row(slot.row), [&](Column column, Real weight, Real accumulator) {
      cells.push_back({column, weight, accumulator});
    });
    if (!cells.empty()) {
      pack(cells, words);
      visit(slot.feature, words);
    }
  }
}

SiblingBlock SiblingBlock::for_prediction(Real prune, bool half) const {
  const bool halves = half || rows_.content() == RowContent::kHalfWeights;
  SiblingBlock result = only_weights(n_children_, halves ? RowContent::kHalfWeights : RowContent::kWeights);
  std::vector<CellAt> cells;
  for (const FeatureRows::Slot& slot : rows_.sorted()) {
    cells.clear();
    for_each_cell(rows_.row(slot.row), [&](Column column, Real weight, Real) {
      const Real kept = halves ? to_real(to_half(weight)) : weight;
      if (column != kAuxiliary && kept != 0 && std::abs(weight) >= prune) {
        cells.push_back({column, kept, 0});
      }
    });
    if (!cells.empty()) {
      result.add_row(slot.feature, cells);
    }
  }
  return result;
}

/// Adds a row with these cells, which are in ascending order.
void SiblingBlock::add_row(FeatureId feature, std::vector<CellAt> cells) {
  std::vector<MaskWord> words;
  if (size_) {
    size_->n_cells += cells.size();
  }
  pack(cells, words);
  rows_.add(feature, words);
}

/// Packs these cells into the words of a row. Trailing ones that are the inverse of the auxiliary cell become pending.
void SiblingBlock::pack(std::vector<CellAt>& cells, std::vector<MaskWord>& words) const {
  if (cells[0].column == kAuxiliary) {
    const CellAt auxiliary = cells[0];
    Column n_known = shape().n_columns;
    while (n_known > 1 &&
           cells.back() == CellAt{n_known - 1, inverse_weight(auxiliary.weight), auxiliary.accumulator}) {
      cells.pop_back();
      --n_known;
    }
    if (cells.back().column != n_known - 1) {
      cells.push_back({n_known - 1, 0, 0});  // else the empty columns below the pending ones would be pending, too
    }
  }
  words.assign(rows_.n_words(static_cast<std::uint32_t>(cells.size())), 0);
  for (const CellAt& cell : cells) {
    set_bit(words, cell.column);
  }
  const Row row = rows_.taken_apart(words.data());
  for (std::uint32_t i = 0; i < row.count; ++i) {
    row.set(i, cells[i].weight, cells[i].accumulator);
  }
}

}  // namespace oplt

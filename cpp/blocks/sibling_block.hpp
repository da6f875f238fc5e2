// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "blocks/kernels.hpp"
#include "blocks/packed_rows.hpp"

namespace oplt {

/// Working memory of one thread, so that the kernels do not allocate.
struct BlockScratch {
  std::vector<Real> scores;     // by column, padded to whole vectors
  std::vector<Real> gradients;  // likewise
  std::vector<MaskWord> active;
  std::vector<MaskWord> starting;  // the active columns, without those that do not start a cell in a row
  std::vector<MaskWord> no_cells;
  std::vector<MaskWord> required;       // the cells with which a row needs no new ones
  std::vector<MaskWord> after;          // by feature: the mask of its row after the update
  std::vector<std::uint32_t> rows;      // by feature: the offset of its row, or kNone
  std::vector<MaskWord*> row_pointers;  // the same as pointers
  const MaskWord* base = nullptr;       // where offset 0 was when row_pointers were set
  std::vector<Real> squares;            // by feature: the square of its value
  std::vector<Real> confidences;        // by column, padded to whole vectors
  ArowStep arow{};
  Real largest_gradient = 0;
  const Kernels* kernels = &oplt::kernels();
};

/// The weight and the accumulator of one feature in one classifier.
struct Cell {
  FeatureId feature;
  Real weight;
  Real accumulator;  // see update_rules.hpp

  friend bool operator==(const Cell&, const Cell&) = default;
};

/// One child's weight for some feature.
struct ChildWeight {
  Column child;
  Real weight;
};

/// The linear classifiers of one node's children, and the node's auxiliary classifier while it can be extended.
///
/// All children of a node see the same examples, so their classifiers are the columns of one matrix: column 0 is the
/// auxiliary classifier, then come the children in order of arrival; rows are features. A row holds only the cells that
/// have been updated (packed_row.hpp). An absent cell is (0, 0), which adds nothing to any score, or, in a column newer
/// than the row's last update, the inverse of the auxiliary cell.
class SiblingBlock {
 public:
  SiblingBlock() = default;
  SiblingBlock(bool auxiliary, Column n_children);

  /// A block whose classifiers are not updated: no accumulators, no auxiliary classifier.
  static SiblingBlock only_weights(Column n_children, RowContent content = RowContent::kWeights) {
    return {false, n_children, PackedRows(mask_words_for_children(n_children), content)};
  }

  bool has_auxiliary() const { return auxiliary_; }
  Column n_children() const { return n_children_; }
  /// Number of classifiers, including the auxiliary one.
  Column n_classifiers() const { return n_children_ + (auxiliary_ ? 1 : 0); }
  std::size_t n_rows() const { return rows_.size(); }
  /// Number of non-zero cells, including pending ones. Visits all cells of a block that was loaded and not counted.
  std::size_t n_cells() const { return size_ ? size_->n_cells : counted().n_cells; }
  /// Whether n_cells() is known without visiting all cells. It is in every block except loaded ones, which read no cell
  /// before it is needed.
  bool is_counted() const { return size_.has_value(); }
  void count() { size_ = counted(); }
  std::size_t memory_bytes() const { return rows_.memory_bytes(); }
  /// For the memory budget (ModelState::budget_bytes). Includes what pending cells may take later.
  std::size_t budget_bytes() const { return sizeof(SiblingBlock) + rows_.budget_bytes(n_cells()); }

  /// Sets the scores w·x of all columns in `scratch`.
  void score(RowView x, BlockScratch& scratch) const;

  /// Scores w·x of the children; the span is part of `scratch` and is valid until its next use.
  std::span<const Real> child_scores(RowView x, BlockScratch& scratch) const;

  /// The first half of an online update of every column on x: the target is 1 for the auxiliary classifier and the
  /// children in `positives`, 0 for the rest. An example of weight 2 counts about as much as two examples. `scratch`
  /// has the scores of x, by this block as it is now. Returns false if no column changes.
  bool find_step(RowView x, Real weight, std::span<const std::uint32_t> positives, const LearningParams& params,
                 BlockScratch& scratch) const;

  /// The second half: applies the update that find_step() left in `scratch`, whether it was called on this block or on
  /// the block of which this is a copy.
  void take_step(RowView x, const LearningParams& params, BlockScratch& scratch);

  /// AddLeaf, Algorithm 6: a new child whose classifier is the inverse of the auxiliary one.
  void add_child();

  /// InsertNode, Algorithm 5: the new block of this block's node, whose only child takes over all its former children.
  /// Both its columns, auxiliary and child, are copies of this block's auxiliary column.
  SiblingBlock parent_block() const;

  /// Drops the auxiliary classifier, which is no longer needed.
  void drop_auxiliary();

  /// For batch-trained classifiers: adds a row with these weights, by ascending child, for a feature that has no row
  /// yet. The block must not have an auxiliary classifier.
  void set_weights(FeatureId feature, std::span<const ChildWeight> weights);

  /// The non-zero cells of a classifier, by ascending feature.
  std::vector<Cell> child_cells(Column child) const { return cells(column_of(child)); }
  std::vector<Cell> auxiliary_cells() const { return cells(kAuxiliary); }

  /// The weight of each feature of x in a child's classifier, in the order of x; 0 where the classifier has none.
  std::vector<Real> child_weights(Column child, RowView x) const;

  /// Calls visit(feature, words) for each non-empty row, by ascending feature and packed anew, so that a saved block
  /// does not depend on its memory layout.
  using VisitRow = std::function<void(FeatureId, std::span<const MaskWord>)>;
  void visit_canonical_rows(const VisitRow& visit) const;

  /// A copy for prediction, which cannot be updated: no accumulators, no auxiliary classifier, and no weights below
  /// `prune` in absolute value. Weights are in half precision if `half` is set or if they already are in this block.
  SiblingBlock for_prediction(Real prune, bool half = false) const;

  /// For saving and loading.
  const PackedRows& rows() const { return rows_; }
  SiblingBlock(bool auxiliary, Column n_children, PackedRows rows)
      : auxiliary_(auxiliary), n_children_(n_children), rows_(std::move(rows)), size_(std::nullopt) {}
  static std::uint32_t mask_words_for_children(Column n_children);

  /// Throws FormatError unless the block is consistent and can be updated, and all its features are below n_features.
  void check(std::uint32_t n_features) const { rows_.check(shape(), n_features); }

 private:
  static constexpr Column kAuxiliary = 0;
  static Column column_of(Column child) { return child + 1; }

  using Row = PackedRows::Row;

  /// Numbers that depend on the content alone, not on what is pending or on how the block came to be.
  struct Size {
    std::size_t n_cells = 0;      // that are not zero, including pending ones
    std::size_t n_auxiliary = 0;  // those of the auxiliary classifier among them
  };

  struct CellAt {
    Column column;
    Real weight;
    Real accumulator;

    friend bool operator==(const CellAt&, const CellAt&) = default;
  };

  Size counted() const;
  RowShape shape() const { return {rows_.mask_words(), column_of(n_children_)}; }
  void add_row(FeatureId feature, std::vector<CellAt> cells);
  void pack(std::vector<CellAt>& cells, std::vector<MaskWord>& words) const;
  std::vector<Cell> cells(Column column) const;
  template <class Visit>
  void for_each_cell(const Row& row, Visit visit) const;
  void widen_masks(Column n_children);

  bool compute_gradients(Real weight, const AdaGradParams& params, BlockScratch& scratch) const;
  bool compute_gradients(RowView x, Real weight, const ArowParams& params, BlockScratch& scratch) const;
  template <class IsActive>
  bool find_active(BlockScratch& scratch, IsActive is_active) const;
  template <class Rule>
  void take_step(RowView x, const Rule& rule, Kernels::Step<Rule>* step, BlockScratch& scratch);
  template <class Rule>
  std::span<const MaskWord> starting(const MaskWord* mask, Real value, const Rule& rule, BlockScratch& scratch) const;
  void find_cells_after(const MaskWord* mask, std::span<const MaskWord> active, MaskWord* after) const;

  bool auxiliary_ = false;
  Column n_children_ = 0;
  PackedRows rows_;
  std::optional<Size> size_ = Size{};  // nullopt in a loaded block that has not been counted
};

/// One online update of a block that may be shared, after SiblingBlock::score(). A shared block is copied only if the
/// update changes it.
inline void learn_scored(Shared<SiblingBlock>& block, RowView x, Real weight, std::span<const std::uint32_t> positives,
                         const LearningParams& params, BlockScratch& scratch) {
  if (block->find_step(x, weight, positives, params, scratch)) {
    block.write().take_step(x, params, scratch);
  }
}

/// The same, scores included.
inline void learn(Shared<SiblingBlock>& block, RowView x, Real weight, std::span<const std::uint32_t> positives,
                  const LearningParams& params, BlockScratch& scratch) {
  block->score(x, scratch);
  learn_scored(block, x, weight, positives, params, scratch);
}

}  // namespace oplt

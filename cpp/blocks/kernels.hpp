// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The inner loops of a sibling block, in several versions that give the same bits: one for any machine, and one for
// each of the instruction sets AVX-512, AVX2 and NEON. AVX-512 suits rows that are packed under a mask best, because it
// has instructions to expand and compress them; the others permute by tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/types.hpp"
#include "blocks/packed_row.hpp"
#include "blocks/update_rules.hpp"

namespace oplt {

/// Arrays of scores and gradients are padded to a multiple of this.
inline constexpr std::uint32_t kLanes = 16;
inline std::size_t n_scores(RowShape shape) { return (shape.n_columns + kLanes - 1) / kLanes * kLanes; }

/// The columns to update, and their gradients.
struct StepColumns {
  const MaskWord* active;  // mask of the columns to update, mask_words long
  const Real* gradients;   // by column
};

struct Kernels {
  const char* name;

  /// scores[column] = sum of weight · value over the rows, in their order; null rows are skipped. Writes
  /// n_scores(shape) scores.
  using Score = void(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape, Real* scores);
  Score* score;
  Score* score_halves;  // for rows with RowContent::kHalfWeights

  /// sums[column] = sum of accumulator · value over the rows, in their order, for the columns in the mask `active`.
  /// What it writes for other columns, up to n_scores(shape), is unspecified.
  void (*sum_accumulators)(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape,
                           const MaskWord* active, Real* sums);

  /// Adds the missing cells to each row and updates all active cells by the rule (update_rules.hpp); null rows are
  /// skipped. `after` has mask_words words per row: the mask of its cells after the step, which includes its present
  /// cells and the active ones that the step starts. The accumulators must already be at the position that this mask
  /// implies (PackedRows::make_room). Returns the number of weights that it starts.
  template <class Rule>
  using Step = std::size_t(MaskWord* const* rows, const MaskWord* after, const Real* values, std::size_t n_rows,
                           std::uint32_t mask_words, const StepColumns& columns, const Rule& rule);
  Step<AdaGradStep>* step_adagrad;
  Step<ArowStep>* step_arow;

  /// Replaces each value by its sigmoid.
  void (*sigmoids)(Real* values, std::size_t n);
};

/// All versions that this machine can run, the fastest first. The last one runs on any machine.
std::span<const Kernels* const> all_kernels();

/// The version of this name; the fastest one if the name is empty. Throws UnknownKernels if there is none.
const Kernels& kernels_named(std::string_view name);

/// The fastest version, or the one that the environment variable OPLT_KERNELS names. Throws UnknownKernels.
const Kernels& kernels();

/// The version for any machine.
const Kernels& portable_kernels();

}  // namespace oplt

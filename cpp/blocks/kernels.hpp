// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The inner loops of a sibling block, in two versions that give the same bits: one for any machine, and one for
// AVX-512, whose expand and compress instructions suit rows that are packed under a mask.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "blocks/packed_row.hpp"

namespace oplt {

/// Scores and gradients come in whole vectors of this many.
inline constexpr std::uint32_t kLanes = 16;
inline std::size_t n_scores(RowShape shape) { return (shape.n_columns + kLanes - 1) / kLanes * kLanes; }

/// The columns that take a step, and how.
struct StepParams {
  const MaskWord* active;  // mask_words of them
  const Real* gradients;   // by column
  Real learning_rate;
  Real adagrad_eps;
};

struct Kernels {
  /// scores[column] = sum of weight · value over the rows, in their order; null stands for a row that is not there.
  /// Writes n_scores(shape) of them.
  using Score = void(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape, Real* scores);
  Score* score;
  Score* score_halves;  // of rows that hold RowContent::kHalfWeights

  /// Gives each row the cells that it is to have (`after`: mask_words for each row, what it has and the active ones
  /// among them) and lets all active cells take a step of AdaGrad: G += g², w -= learning_rate · g / sqrt(eps + G),
  /// with g = gradient · value. The rows' accumulators are already in the places that the mask after the step requires.
  void (*step)(MaskWord* const* rows, const MaskWord* after, const Real* values, std::size_t n_rows,
               std::uint32_t mask_words, const StepParams& params);

  /// out[i] = sigmoid(in[i]).
  void (*sigmoids)(const Real* in, Real* out, std::size_t n);
};

/// The fastest version that this machine can run.
const Kernels& kernels();

/// The version for any machine; the tests compare the two.
const Kernels& portable_kernels();

}  // namespace oplt

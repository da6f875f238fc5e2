// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Shared by the versions of the kernels.
#pragma once

#include "blocks/kernels.hpp"

namespace oplt {

/// The versions for instruction sets; null if the compiler or the processor does not support them.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
const Kernels* neon_kernels();

/// The accumulators of a row.
inline const Real* accumulators_of(const MaskWord* row, std::uint32_t mask_words) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < mask_words; ++i) {
    count += count_bits(row[i]);
  }
  return weights_of(row, mask_words) + capacity_for(count);
}

/// The cells of one mask word of a row, before and after a step.
struct WordStep {
  MaskWord before;
  MaskWord after;
  MaskWord active;
  MaskWord pending;  // new cells that are initialised with the inverse of the auxiliary cell
  Real* weights_before;
  Real* weights_after;
  Real* accumulators_before;
  Real* accumulators_after;
  Real pending_weight;
  Real pending_accumulator;
  const Real* gradients;
};

/// Calls step_word for each word that changes, from the last to the first, because cells only move to higher addresses.
/// Returns the sum of what it returns.
template <class StepWord>
inline std::uint32_t step_row(MaskWord* row, const MaskWord* after_mask, std::uint32_t mask_words,
                              const StepColumns& columns, StepWord step_word) {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  for (std::uint32_t i = 0; i < mask_words; ++i) {
    before += count_bits(row[i]);
    after += count_bits(after_mask[i]);
  }
  Real* weights = weights_of(row, mask_words);
  Real* accumulators = weights + capacity_for(after);
  const Real pending_weight = inverse_weight(weights[0]);
  const Real pending_accumulator = accumulators[0];
  const PendingColumns pending(row, mask_words);
  std::uint32_t n_started = 0;
  for (std::uint32_t i = mask_words; i-- > 0;) {
    const MaskWord mask = row[i];
    before -= count_bits(mask);
    after -= count_bits(after_mask[i]);
    if (columns.active[i] != 0 || mask != after_mask[i] || before != after) {
      n_started += step_word(WordStep{mask, after_mask[i], columns.active[i], after_mask[i] & pending.in(i),
                                      weights + before, weights + after, accumulators + before, accumulators + after,
                                      pending_weight, pending_accumulator, columns.gradients + i * kWordColumns});
      row[i] = after_mask[i];
    }
  }
  return n_started;
}

}  // namespace oplt

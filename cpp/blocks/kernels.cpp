// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "base/half.hpp"
#include "base/math.hpp"
#include "blocks/kernel_steps.hpp"

namespace oplt {

namespace {

/// Weight is Real or Half; the arithmetic is in Real for both.
template <class Weight>
void score(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape, Real* scores) {
  std::fill_n(scores, n_scores(shape), Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Weight* weight = weights_of<Weight>(rows[i], shape.mask_words);
    const Real inverse = inverse_weight(to_real(*weight));
    const auto add = [&](std::uint32_t word, MaskWord columns, auto next_weight) {
      for (; columns != 0; columns &= columns - 1) {
        scores[word * kWordColumns + static_cast<std::uint32_t>(std::countr_zero(columns))] +=
            next_weight() * values[i];
      }
    };
    for (std::uint32_t word = 0; word < shape.mask_words; ++word) {
      add(word, rows[i][word], [&] { return to_real(*weight++); });
    }
    for_each_pending(rows[i], shape,
                     [&](std::uint32_t word, MaskWord pending) { add(word, pending, [&] { return inverse; }); });
  }
}

void step_word(const WordStep& cells, Real value, const StepParams& params) {
  // From the last cell to the first, so that cells that move do not overwrite each other.
  std::uint32_t from = count_bits(cells.before);
  std::uint32_t to = count_bits(cells.after);
  for (MaskWord rest = cells.after; rest != 0;) {
    const int column = 63 - std::countl_zero(rest);
    const MaskWord bit = MaskWord{1} << column;
    rest ^= bit;
    --to;
    Real weight = 0;
    Real accumulator = 0;
    if ((cells.before & bit) != 0) {
      --from;
      weight = cells.weights_before[from];
      accumulator = cells.accumulators_before[from];
    } else if ((cells.pending & bit) != 0) {
      weight = cells.pending_weight;
      accumulator = cells.pending_accumulator;
    }
    if ((cells.active & bit) != 0) {
      const Real g = cells.gradients[column] * value;
      accumulator += g * g;
      weight -= params.learning_rate * g / std::sqrt(params.adagrad_eps + accumulator);
    }
    cells.weights_after[to] = weight;
    cells.accumulators_after[to] = accumulator;
  }
}

void step(MaskWord* const* rows, const MaskWord* after, const Real* values, std::size_t n_rows,
          std::uint32_t mask_words, const StepParams& params) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    step_row(rows[i], after + i * mask_words, mask_words, params,
             [&](const WordStep& cells) { step_word(cells, values[i], params); });
  }
}

void sigmoids(const Real* in, Real* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = sigmoid(in[i]);
  }
}

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kPortable{score<Real>, score<Half>, step, sigmoids};
  return kPortable;
}

const Kernels& kernels() {
  static const Kernels* const best = avx512_kernels();
  return best == nullptr ? portable_kernels() : *best;
}

}  // namespace oplt

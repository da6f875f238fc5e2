// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
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

/// Calls visit(column, index of its cell) for the columns in `wanted`, a subset of the mask, ascending.
template <class Visit>
void for_each_cell(MaskWord mask, MaskWord wanted, Visit visit) {
  for (; wanted != 0; wanted &= wanted - 1) {
    const MaskWord lowest = wanted & (~wanted + 1);
    visit(static_cast<std::uint32_t>(std::countr_zero(wanted)), count_bits(mask & (lowest - 1)));
  }
}

/// Visits only the active columns, of which there are usually few.
void sum_accumulators(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape,
                      const MaskWord* active, Real* sums) {
  std::fill_n(sums, n_scores(shape), Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Real* accumulators = accumulators_of(rows[i], shape.mask_words);
    const Real* next = accumulators;
    for (std::uint32_t word = 0; word < shape.mask_words; ++word) {
      for_each_cell(rows[i][word], rows[i][word] & active[word], [&](std::uint32_t column, std::uint32_t cell) {
        sums[word * kWordColumns + column] += next[cell] * values[i];
      });
      next += count_bits(rows[i][word]);
    }
    for_each_pending(rows[i], shape, [&](std::uint32_t word, MaskWord pending) {
      for_each_cell(pending, pending & active[word], [&](std::uint32_t column, std::uint32_t) {
        sums[word * kWordColumns + column] += *accumulators * values[i];
      });
    });
  }
}

template <class Rule>
std::uint32_t step_word(const WordStep& cells, Real value, const Rule& rule) {
  std::uint32_t n_started = 0;
  if (cells.before == cells.after && cells.weights_before == cells.weights_after) {  // no cell moves
    for_each_cell(cells.after, cells.after & cells.active, [&](std::uint32_t column, std::uint32_t cell) {
      n_started +=
          rule.step(cells.gradients[column], value, cells.weights_after[cell], cells.accumulators_after[cell]) ? 1 : 0;
    });
    return n_started;
  }
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
      n_started += rule.step(cells.gradients[column], value, weight, accumulator) ? 1 : 0;
    }
    cells.weights_after[to] = weight;
    cells.accumulators_after[to] = accumulator;
  }
  return n_started;
}

template <class Rule>
std::size_t step(MaskWord* const* rows, const MaskWord* after, const Real* values, std::size_t n_rows,
                 std::uint32_t mask_words, const StepColumns& columns, const Rule& rule) {
  std::size_t n_started = 0;
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] != nullptr) {
      n_started += step_row(rows[i], after + i * mask_words, mask_words, columns,
                            [&](const WordStep& cells) { return step_word(cells, values[i], rule); });
    }
  }
  return n_started;
}

void sigmoids(Real* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = sigmoid(values[i]);
  }
}

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kPortable{.name = "portable",
                                     .score = score<Real>,
                                     .score_halves = score<Half>,
                                     .sum_accumulators = sum_accumulators,
                                     .step_adagrad = step<AdaGradStep>,
                                     .step_arow = step<ArowStep>,
                                     .sigmoids = sigmoids};
  return kPortable;
}

std::span<const Kernels* const> all_kernels() {
  static const std::vector<const Kernels*> found = [] {
    std::vector<const Kernels*> some{avx512_kernels(), avx2_kernels(), neon_kernels(), &portable_kernels()};
    std::erase(some, nullptr);
    return some;
  }();
  return found;
}

const Kernels& kernels_named(std::string_view name) {
  if (name.empty()) {
    return *all_kernels().front();
  }
  std::string known;
  for (const Kernels* some : all_kernels()) {
    if (name == some->name) {
      return *some;
    }
    known.append(known.empty() ? "" : " or ").append(some->name);
  }
  throw UnknownKernels(std::string(name), "Set it to " + known + ", or unset it to get the fastest.");
}

const Kernels& kernels() {
  static const Kernels& chosen = []() -> const Kernels& {
    const char* name = std::getenv("OPLT_KERNELS");
    return kernels_named(name == nullptr ? "" : name);
  }();
  return chosen;
}

}  // namespace oplt

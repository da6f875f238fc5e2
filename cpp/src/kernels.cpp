// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "oplt/math.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define OPLT_AVX512_KERNELS 1
#include <immintrin.h>
#else
#define OPLT_AVX512_KERNELS 0
#endif

namespace oplt {

namespace {

/// The cells of one mask word of a row, before and after a step.
struct WordStep {
  MaskWord before;
  MaskWord after;
  MaskWord active;
  Real* weights_before;
  Real* weights_after;
  Real* accumulators_before;
  Real* accumulators_after;
  const Real* gradients;
};

/// Calls step_word for each word in which something changes, from the last to the first: cells move to the right only.
template <class StepWord>
inline void step_row(MaskWord* row, std::uint32_t mask_words, const StepParams& params, StepWord step_word) {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  for (std::uint32_t i = 0; i < mask_words; ++i) {
    before += count_bits(row[i]);
    after += count_bits(row[i] | params.active[i]);
  }
  Real* weights = weights_of(row, mask_words);
  Real* accumulators = weights + capacity_for(after);
  for (std::uint32_t i = mask_words; i-- > 0;) {
    const MaskWord mask = row[i] | params.active[i];
    before -= count_bits(row[i]);
    after -= count_bits(mask);
    if (params.active[i] != 0 || before != after) {
      step_word(WordStep{row[i], mask, params.active[i], weights + before, weights + after, accumulators + before,
                         accumulators + after, params.gradients + i * kWordColumns});
      row[i] = mask;
    }
  }
}

namespace portable {

void score(const MaskWord* const* rows, const Real* values, std::size_t n_rows, std::uint32_t mask_words,
           Real* scores) {
  std::fill_n(scores, std::size_t{mask_words} * kWordColumns, Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Real* weight = weights_of(rows[i], mask_words);
    for (std::uint32_t word = 0; word < mask_words; ++word) {
      for (MaskWord mask = rows[i][word]; mask != 0; mask &= mask - 1) {
        scores[word * kWordColumns + static_cast<std::uint32_t>(std::countr_zero(mask))] += *weight++ * values[i];
      }
    }
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

void step(MaskWord* const* rows, const Real* values, std::size_t n_rows, std::uint32_t mask_words,
          const StepParams& params) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    step_row(rows[i], mask_words, params, [&](const WordStep& cells) { step_word(cells, values[i], params); });
  }
}

void sigmoids(const Real* in, Real* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = sigmoid(in[i]);
  }
}

}  // namespace portable

#if OPLT_AVX512_KERNELS

namespace avx512 {

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt")

constexpr std::uint32_t kLanes = 16;
constexpr std::uint32_t kGroups = kWordColumns / kLanes;

inline __mmask16 lanes_of(MaskWord mask, std::uint32_t group) {
  return static_cast<__mmask16>(mask >> (kLanes * group));
}

/// The scores stay in registers over all rows. Adding w·x = 0 for absent cells changes no bit of a sum.
void score_one_word(const MaskWord* const* rows, const Real* values, std::size_t n_rows, Real* scores) {
  __m512 sums[kGroups] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const MaskWord mask = *rows[i];
    const Real* weights = weights_of(rows[i], 1);
    const __m512 x = _mm512_set1_ps(values[i]);
#pragma GCC unroll 4
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      const __mmask16 lanes = lanes_of(mask, group);
      sums[group] = _mm512_add_ps(sums[group], _mm512_mul_ps(_mm512_maskz_expandloadu_ps(lanes, weights), x));
      weights += count_bits(lanes);
      if (group + 1 < kGroups && (mask >> (kLanes * (group + 1))) == 0) {
        break;
      }
    }
  }
#pragma GCC unroll 4
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    _mm512_storeu_ps(scores + kLanes * group, sums[group]);
  }
}

void score(const MaskWord* const* rows, const Real* values, std::size_t n_rows, std::uint32_t mask_words,
           Real* scores) {
  if (mask_words == 1) {
    score_one_word(rows, values, n_rows, scores);
    return;
  }
  std::fill_n(scores, std::size_t{mask_words} * kWordColumns, Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Real* weights = weights_of(rows[i], mask_words);
    const __m512 x = _mm512_set1_ps(values[i]);
    for (std::uint32_t word = 0; word < mask_words; ++word) {
      Real* out = scores + word * kWordColumns;
      for (MaskWord mask = rows[i][word]; mask != 0; mask >>= kLanes, out += kLanes) {
        const __mmask16 lanes = lanes_of(mask, 0);
        const __m512 wx = _mm512_mul_ps(_mm512_maskz_expandloadu_ps(lanes, weights), x);
        _mm512_storeu_ps(out, _mm512_add_ps(_mm512_loadu_ps(out), wx));
        weights += count_bits(lanes);
      }
    }
  }
}

// Vectors of 4, 8 and 16 numbers. Narrow rows take narrow ones: a wide load that reaches into a neighbouring row, just
// stored to, would have to wait for that store, and narrow roots and divisions are faster.
struct Lanes4 {
  using Vector = __m128;
  static constexpr std::uint32_t kSize = 4;
  static Vector all(Real x) { return _mm_set1_ps(x); }
  static Vector load(const Real* from) { return _mm_loadu_ps(from); }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector compress(std::uint32_t mask, Vector v) { return _mm_maskz_compress_ps(static_cast<__mmask8>(mask), v); }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm_mask_mov_ps(no, static_cast<__mmask8>(mask), yes);
  }
  static void store(Real* to, std::uint32_t mask, Vector v) { _mm_mask_storeu_ps(to, static_cast<__mmask8>(mask), v); }
  static Vector sqrt(Vector v) { return _mm_sqrt_ps(v); }
};

struct Lanes8 {
  using Vector = __m256;
  static constexpr std::uint32_t kSize = 8;
  static Vector all(Real x) { return _mm256_set1_ps(x); }
  static Vector load(const Real* from) { return _mm256_loadu_ps(from); }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm256_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector compress(std::uint32_t mask, Vector v) {
    return _mm256_maskz_compress_ps(static_cast<__mmask8>(mask), v);
  }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm256_mask_mov_ps(no, static_cast<__mmask8>(mask), yes);
  }
  static void store(Real* to, std::uint32_t mask, Vector v) {
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>(mask), v);
  }
  static Vector sqrt(Vector v) { return _mm256_sqrt_ps(v); }
};

struct Lanes16 {
  using Vector = __m512;
  static constexpr std::uint32_t kSize = 16;
  static Vector all(Real x) { return _mm512_set1_ps(x); }
  static Vector load(const Real* from) { return _mm512_loadu_ps(from); }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm512_maskz_expandloadu_ps(static_cast<__mmask16>(mask), from);
  }
  static Vector compress(std::uint32_t mask, Vector v) {
    return _mm512_maskz_compress_ps(static_cast<__mmask16>(mask), v);
  }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm512_mask_mov_ps(no, static_cast<__mmask16>(mask), yes);
  }
  static void store(Real* to, std::uint32_t mask, Vector v) {
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), v);
  }
  static Vector sqrt(Vector v) { return _mm512_maskz_sqrt_ps(0xFFFF, v); }
};

/// Some columns of a row, unpacked.
template <class Lanes>
struct Cells {
  typename Lanes::Vector weights;
  typename Lanes::Vector accumulators;

  static Cells expand(std::uint32_t mask, const Real* weights, const Real* accumulators) {
    return {Lanes::expand(mask, weights), Lanes::expand(mask, accumulators)};
  }

  void compress(std::uint32_t mask, Real* to_weights, Real* to_accumulators) const {
    const std::uint32_t first = _bzhi_u32(0xFFFF, count_bits(mask));
    Lanes::store(to_weights, first, Lanes::compress(mask, weights));
    Lanes::store(to_accumulators, first, Lanes::compress(mask, accumulators));
  }

  /// A step of the columns in the mask.
  void step(std::uint32_t mask, const Real* gradients, Real value, const StepParams& params) {
    const auto g = Lanes::load(gradients) * Lanes::all(value);
    const auto sum = accumulators + g * g;
    const auto root = Lanes::sqrt(Lanes::all(params.adagrad_eps) + sum);
    weights = Lanes::blend(mask, weights, weights - Lanes::all(params.learning_rate) * g / root);
    accumulators = Lanes::blend(mask, accumulators, sum);
  }
};

/// Columns [first, first + Lanes::kSize) of a word, none of which is new or moves.
template <class Lanes>
inline void step_in_place(const WordStep& cells, std::uint32_t first, Real value, const StepParams& params) {
  const auto present = static_cast<std::uint32_t>(_bzhi_u64(cells.after >> first, Lanes::kSize));
  const auto stepping = static_cast<std::uint32_t>(_bzhi_u64(cells.active >> first, Lanes::kSize));
  const std::uint32_t at = count_bits(_bzhi_u64(cells.after, first));
  auto unpacked = Cells<Lanes>::expand(present, cells.weights_before + at, cells.accumulators_before + at);
  unpacked.step(stepping, cells.gradients + first, value, params);
  unpacked.compress(present, cells.weights_after + at, cells.accumulators_after + at);
}

/// Any change of a word. All loads come before all stores, because cells may move.
inline void step_moving(const WordStep& cells, Real value, const StepParams& params) {
  Cells<Lanes16> groups[kGroups];
  const std::uint32_t n_columns = kWordColumns - static_cast<std::uint32_t>(std::countl_zero(cells.after));
  std::uint32_t from = 0;
  for (std::uint32_t group = 0; group * kLanes < n_columns; ++group) {
    const __mmask16 present = lanes_of(cells.before, group);
    groups[group] = Cells<Lanes16>::expand(present, cells.weights_before + from, cells.accumulators_before + from);
    groups[group].step(lanes_of(cells.active, group), cells.gradients + kLanes * group, value, params);
    from += count_bits(present);
  }
  std::uint32_t to = 0;
  for (std::uint32_t group = 0; group * kLanes < n_columns; ++group) {
    const __mmask16 lanes = lanes_of(cells.after, group);
    groups[group].compress(lanes, cells.weights_after + to, cells.accumulators_after + to);
    to += count_bits(lanes);
  }
}

inline void step_word(const WordStep& cells, Real value, const StepParams& params) {
  if (cells.before != cells.after || cells.weights_before != cells.weights_after) {
    step_moving(cells, value, params);
  } else if (cells.after >> Lanes4::kSize == 0) {
    step_in_place<Lanes4>(cells, 0, value, params);
  } else if (cells.after >> Lanes8::kSize == 0) {
    step_in_place<Lanes8>(cells, 0, value, params);
  } else {
    for (MaskWord rest = cells.active; rest != 0;) {  // only where something is active
      const std::uint32_t first = static_cast<std::uint32_t>(std::countr_zero(rest)) / kLanes * kLanes;
      rest &= ~(MaskWord{0xFFFF} << first);
      step_in_place<Lanes16>(cells, first, value, params);
    }
  }
}

// Rows whose accumulators are fetched ahead of their step.
constexpr std::size_t kAhead = 4;

inline void prefetch_accumulators(const MaskWord* row, std::uint32_t mask_words, const MaskWord* active) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < mask_words; ++i) {
    count += count_bits(row[i] | active[i]);
  }
  const Real* accumulators = weights_of(row, mask_words) + capacity_for(count);
  prefetch(accumulators);
  if (count > kLanes) {
    prefetch(accumulators + kLanes);
  }
}

void step(MaskWord* const* rows, const Real* values, std::size_t n_rows, std::uint32_t mask_words,
          const StepParams& params) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (i + kAhead < n_rows) {
      prefetch_accumulators(rows[i + kAhead], mask_words, params.active);
    }
    const auto step_cells = [&](const WordStep& cells) { step_word(cells, values[i], params); };
    if (mask_words == 1) {
      step_row(rows[i], 1, params, step_cells);  // a constant, so that its loops vanish
    } else {
      step_row(rows[i], mask_words, params, step_cells);
    }
  }
}

void sigmoids(const Real* in, Real* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = sigmoid(in[i]);
  }
}

#pragma GCC pop_options

}  // namespace avx512

#endif

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels kPortable{portable::score, portable::step, portable::sigmoids};
  return kPortable;
}

const Kernels& kernels() {
#if OPLT_AVX512_KERNELS
  static constexpr Kernels kAvx512{avx512::score, avx512::step, avx512::sigmoids};
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                                 __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                                 __builtin_cpu_supports("bmi2") != 0;
  if (has_avx512) {
    return kAvx512;
  }
#endif
  return portable_kernels();
}

}  // namespace oplt

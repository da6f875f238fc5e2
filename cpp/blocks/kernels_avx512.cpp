// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernel_steps.hpp"

// Clang does not support `#pragma GCC target`.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

#include <algorithm>

#include "base/half.hpp"
#include "base/math.hpp"

namespace oplt {

namespace {

// After all headers: their inline functions must run on any machine.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt,f16c")

constexpr std::uint32_t kGroups = kWordColumns / kLanes;

inline __mmask16 lanes_of(MaskWord mask, std::uint32_t group) {
  return static_cast<__mmask16>(mask >> (kLanes * group));
}

/// The mask of the first `count` of up to 16 lanes.
inline std::uint32_t first_lanes(std::uint32_t count) { return _bzhi_u32(0xFFFF, count); }

// Vectors of 4, 8 and 16 floats. Narrow rows use narrow vectors: a wide load that overlaps a neighbouring row would
// stall if that row has just been stored to, and narrow square roots and divisions are faster.
struct Lanes4 {
  using Vector = __m128;
  static constexpr std::uint32_t kSize = 4;
  static Vector all(Real x) { return _mm_set1_ps(x); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm_maskz_loadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m128i halves = _mm_maskz_loadu_epi16(static_cast<__mmask8>(first_lanes(count_bits(mask))), from);
    return _mm_maskz_expand_ps(static_cast<__mmask8>(mask), _mm_cvtph_ps(halves));
  }
  static Vector compress(std::uint32_t mask, Vector v) { return _mm_maskz_compress_ps(static_cast<__mmask8>(mask), v); }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm_mask_mov_ps(no, static_cast<__mmask8>(mask), yes);
  }
  static void store(Real* to, std::uint32_t mask, Vector v) { _mm_mask_storeu_ps(to, static_cast<__mmask8>(mask), v); }
  static Vector sqrt(Vector v) { return _mm_sqrt_ps(v); }
  static Vector abs(Vector v) { return _mm_andnot_ps(all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm_max_ps(a, b); }
  static std::uint32_t above(Vector a, Vector b) { return _mm_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static std::uint32_t at_least(Vector a, Vector b) { return _mm_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

struct Lanes8 {
  using Vector = __m256;
  static constexpr std::uint32_t kSize = 8;
  static Vector all(Real x) { return _mm256_set1_ps(x); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm256_maskz_loadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm256_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m128i halves = _mm_maskz_loadu_epi16(static_cast<__mmask8>(first_lanes(count_bits(mask))), from);
    return _mm256_maskz_expand_ps(static_cast<__mmask8>(mask), _mm256_cvtph_ps(halves));
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
  static Vector abs(Vector v) { return _mm256_andnot_ps(all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  static std::uint32_t above(Vector a, Vector b) { return _mm256_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static std::uint32_t at_least(Vector a, Vector b) { return _mm256_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

struct Lanes16 {
  using Vector = __m512;
  static constexpr std::uint32_t kSize = 16;
  static Vector all(Real x) { return _mm512_set1_ps(x); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm512_maskz_expandloadu_ps(static_cast<__mmask16>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m256i halves = _mm256_maskz_loadu_epi16(static_cast<__mmask16>(first_lanes(count_bits(mask))), from);
    return _mm512_maskz_expand_ps(static_cast<__mmask16>(mask), _mm512_maskz_cvtph_ps(0xFFFF, halves));
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
  static Vector abs(Vector v) { return _mm512_maskz_andnot_ps(0xFFFF, all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
  static std::uint32_t above(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static std::uint32_t at_least(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

inline Real first_weight(const Real* weights) { return *weights; }
inline Real first_weight(const Half* weights) { return _cvtsh_ss(weights->bits); }

/// Weights of some columns of a row as one vector: those of its cells, the inverse auxiliary weight in pending columns,
/// and 0 elsewhere.
template <class Lanes, class Weight>
inline typename Lanes::Vector unpack_weights(MaskWord mask, MaskWord pending, const Weight* weights,
                                             typename Lanes::Vector inverse) {
  const auto cells = Lanes::expand(static_cast<std::uint32_t>(mask), weights);
  return Lanes::blend(static_cast<std::uint32_t>(pending), cells, inverse);
}

/// Scores of a block with one mask word and at most kVectors vectors of columns, whose sums stay in registers. Adding
/// w·x = 0 for an absent cell does not change any bit of a sum. Weight is Real or Half in all scoring functions.
template <class Weight, class Lanes, std::uint32_t kVectors>
void score_narrow(const MaskWord* const* rows, const Real* values, std::size_t n_rows, MaskWord columns, Real* scores) {
  typename Lanes::Vector sums[kVectors];
  if (Lanes::kSize * kVectors < kLanes) {
    std::fill_n(scores, kLanes, Real{0});
  }
  for (auto& sum : sums) {
    sum = Lanes::all(0);
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    MaskWord mask = *rows[i];
    MaskWord pending = PendingColumns(&mask, 1).in(0) & columns;
    const Weight* weights = weights_of<Weight>(rows[i], 1);
    const auto inverse = Lanes::all(inverse_weight(first_weight(weights)));
    const auto x = Lanes::all(values[i]);
#pragma GCC unroll 4
    for (std::uint32_t group = 0; group < kVectors; ++group) {
      sums[group] += unpack_weights<Lanes>(mask, pending, weights, inverse) * x;
      if (group + 1 < kVectors) {
        weights += count_bits(_bzhi_u64(mask, Lanes::kSize));
        mask >>= Lanes::kSize;
        pending >>= Lanes::kSize;
      }
    }
  }
#pragma GCC unroll 4
  for (std::uint32_t group = 0; group < kVectors; ++group) {
    Lanes::store(scores + Lanes::kSize * group, 0xFFFF, sums[group]);
  }
}

template <class Weight>
void score_wide(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape, Real* scores) {
  std::fill_n(scores, n_scores(shape), Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Weight* weights = weights_of<Weight>(rows[i], shape.mask_words);
    const __m512 inverse = _mm512_set1_ps(inverse_weight(first_weight(weights)));
    const __m512 x = _mm512_set1_ps(values[i]);
    const auto add = [&](Real* out, __m512 w) { _mm512_storeu_ps(out, _mm512_loadu_ps(out) + w * x); };
    for (std::uint32_t word = 0; word < shape.mask_words; ++word) {
      Real* out = scores + word * kWordColumns;
      for (MaskWord mask = rows[i][word]; mask != 0; mask >>= kLanes, out += kLanes) {
        const __mmask16 lanes = lanes_of(mask, 0);
        add(out, Lanes16::expand(lanes, weights));
        weights += count_bits(lanes);
      }
    }
    for_each_pending(rows[i], shape, [&](std::uint32_t word, MaskWord pending) {
      Real* out = scores + word * kWordColumns;
      for (; pending != 0; pending >>= kLanes, out += kLanes) {
        add(out, _mm512_maskz_mov_ps(lanes_of(pending, 0), inverse));
      }
    });
  }
}

template <class Weight>
void score(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape, Real* scores) {
  const MaskWord columns = shape.columns_in(0);
  if (shape.n_columns <= Lanes4::kSize) {
    score_narrow<Weight, Lanes4, 1>(rows, values, n_rows, columns, scores);
  } else if (shape.n_columns <= Lanes8::kSize) {
    score_narrow<Weight, Lanes8, 1>(rows, values, n_rows, columns, scores);
  } else if (shape.n_columns <= kLanes) {
    score_narrow<Weight, Lanes16, 1>(rows, values, n_rows, columns, scores);
  } else if (shape.n_columns <= 2 * kLanes) {
    score_narrow<Weight, Lanes16, 2>(rows, values, n_rows, columns, scores);
  } else if (shape.n_columns <= 3 * kLanes) {
    score_narrow<Weight, Lanes16, 3>(rows, values, n_rows, columns, scores);
  } else if (shape.n_columns <= kWordColumns) {
    score_narrow<Weight, Lanes16, 4>(rows, values, n_rows, columns, scores);
  } else {
    score_wide<Weight>(rows, values, n_rows, shape, scores);
  }
}

/// Sums all columns, active or not.
void sum_accumulators(const MaskWord* const* rows, const Real* values, std::size_t n_rows, RowShape shape,
                      const MaskWord* /*active*/, Real* sums) {
  std::fill_n(sums, n_scores(shape), Real{0});
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (rows[i] == nullptr) {
      continue;
    }
    const Real* accumulators = accumulators_of(rows[i], shape.mask_words);
    const __m512 pending_accumulator = _mm512_set1_ps(*accumulators);
    const __m512 x = _mm512_set1_ps(values[i]);
    const auto add = [&](Real* out, __m512 v) { _mm512_storeu_ps(out, _mm512_loadu_ps(out) + v * x); };
    for (std::uint32_t word = 0; word < shape.mask_words; ++word) {
      Real* out = sums + word * kWordColumns;
      for (MaskWord mask = rows[i][word]; mask != 0; mask >>= kLanes, out += kLanes) {
        const __mmask16 lanes = lanes_of(mask, 0);
        add(out, Lanes16::expand(lanes, accumulators));
        accumulators += count_bits(lanes);
      }
    }
    for_each_pending(rows[i], shape, [&](std::uint32_t word, MaskWord pending) {
      Real* out = sums + word * kWordColumns;
      for (; pending != 0; pending >>= kLanes, out += kLanes) {
        add(out, _mm512_maskz_mov_ps(lanes_of(pending, 0), pending_accumulator));
      }
    });
  }
}

/// Some columns of a row, unpacked.
template <class Lanes>
struct Cells {
  typename Lanes::Vector weights;
  typename Lanes::Vector accumulators;

  static Cells expand(std::uint32_t mask, const Real* weights, const Real* accumulators) {
    return {Lanes::expand(mask, weights), Lanes::expand(mask, accumulators)};
  }

  /// Initialises the pending columns.
  void begin(std::uint32_t pending, const WordStep& step) {
    weights = Lanes::blend(pending, weights, Lanes::all(step.pending_weight));
    accumulators = Lanes::blend(pending, accumulators, Lanes::all(step.pending_accumulator));
  }

  void compress(std::uint32_t mask, Real* to_weights, Real* to_accumulators) const {
    const std::uint32_t first = first_lanes(count_bits(mask));
    Lanes::store(to_weights, first, Lanes::compress(mask, weights));
    Lanes::store(to_accumulators, first, Lanes::compress(mask, accumulators));
  }

  /// The steps of update_rules.hpp for the cells in the mask.
  void step(std::uint32_t mask, typename Lanes::Vector gradients, Real value, const AdaGradStep& rule) {
    const auto g = gradients * Lanes::all(value);
    const auto sum = accumulators + g * g;
    const auto root = Lanes::sqrt(Lanes::all(rule.eps) + sum);
    weights = Lanes::blend(mask, weights, weights - Lanes::all(rule.learning_rate) * g / root);
    accumulators = Lanes::blend(mask, accumulators, sum);
  }

  void step(std::uint32_t mask, typename Lanes::Vector gradients, Real value, const ArowStep& rule) {
    const auto none = Lanes::all(0);
    const auto g = gradients * Lanes::all(value);
    mask &= Lanes::above(accumulators, none) | Lanes::at_least(Lanes::abs(g), Lanes::all(rule.least));
    const auto variance = Lanes::max(Lanes::all(1) - accumulators, none);
    const auto spread = variance * Lanes::all(value * value);
    weights = Lanes::blend(mask, weights, weights - g * variance);
    accumulators = Lanes::blend(mask, accumulators, accumulators + variance * spread / (Lanes::all(rule.r) + spread));
  }
};

/// Updates `count` cells that do not move, given packed gradients.
template <class Lanes, class Rule>
inline void step_packed(std::uint32_t count, std::uint32_t active, Real* weights, Real* accumulators,
                        typename Lanes::Vector gradients, Real value, const Rule& rule) {
  const std::uint32_t all = first_lanes(count);
  Cells<Lanes> cells{Lanes::load(all, weights), Lanes::load(all, accumulators)};
  cells.step(active, gradients, value, rule);
  Lanes::store(weights, all, cells.weights);
  Lanes::store(accumulators, all, cells.accumulators);
}

/// Updates a word whose cells do not move: only the gradients need packing.
template <class Rule>
inline void step_in_place(MaskWord mask, MaskWord active, Real* weights, Real* accumulators, const Real* gradients,
                          Real value, const Rule& rule) {
  const std::uint32_t count = count_bits(mask);
  MaskWord stepping = _pext_u64(active, mask);
  if (mask >> kLanes == 0) {
    const __m512 packed = _mm512_maskz_compress_ps(static_cast<__mmask16>(mask), _mm512_loadu_ps(gradients));
    const auto some = static_cast<std::uint32_t>(stepping);
    if (count <= Lanes4::kSize) {
      step_packed<Lanes4>(count, some, weights, accumulators, _mm512_castps512_ps128(packed), value, rule);
    } else if (count <= Lanes8::kSize) {
      step_packed<Lanes8>(count, some, weights, accumulators, _mm512_castps512_ps256(packed), value, rule);
    } else {
      step_packed<Lanes16>(count, some, weights, accumulators, packed, value, rule);
    }
    return;
  }
  Real packed[kWordColumns + kLanes];
  Real* end = packed;
  for (std::uint32_t group = 0; group < kGroups && (mask >> (kLanes * group)) != 0; ++group) {
    const __mmask16 lanes = lanes_of(mask, group);
    _mm512_storeu_ps(end, _mm512_maskz_compress_ps(lanes, _mm512_loadu_ps(gradients + kLanes * group)));
    end += count_bits(lanes);
  }
  for (std::uint32_t first = 0; first < count; first += kLanes, stepping >>= kLanes) {
    const std::uint32_t some = lanes_of(stepping, 0);
    if (some != 0) {
      step_packed<Lanes16>(std::min(count - first, kLanes), some, weights + first, accumulators + first,
                           _mm512_loadu_ps(packed + first), value, rule);
    }
  }
}

/// Updates a word whose cells move or that gets new ones. All loads precede all stores, because the two may overlap.
template <class Rule>
inline void step_moving(const WordStep& cells, Real value, const Rule& rule) {
  Cells<Lanes16> groups[kGroups];
  const std::uint32_t n_columns = kWordColumns - static_cast<std::uint32_t>(std::countl_zero(cells.after));
  std::uint32_t from = 0;
  for (std::uint32_t group = 0; group * kLanes < n_columns; ++group) {
    const __mmask16 present = lanes_of(cells.before, group);
    groups[group] = Cells<Lanes16>::expand(present, cells.weights_before + from, cells.accumulators_before + from);
    groups[group].begin(lanes_of(cells.pending, group), cells);
    const __m512 gradients = _mm512_loadu_ps(cells.gradients + kLanes * group);
    groups[group].step(lanes_of(cells.active, group), gradients, value, rule);
    from += count_bits(present);
  }
  std::uint32_t to = 0;
  for (std::uint32_t group = 0; group * kLanes < n_columns; ++group) {
    const __mmask16 lanes = lanes_of(cells.after, group);
    groups[group].compress(lanes, cells.weights_after + to, cells.accumulators_after + to);
    to += count_bits(lanes);
  }
}

template <class Rule>
inline void step_word(const WordStep& cells, Real value, const Rule& rule) {
  if (cells.before != cells.after || cells.weights_before != cells.weights_after) {
    step_moving(cells, value, rule);
  } else {
    step_in_place(cells.after, cells.active, cells.weights_after, cells.accumulators_after, cells.gradients, value,
                  rule);
  }
}

// The accumulators of a row are prefetched this many rows ahead.
constexpr std::size_t kAhead = 4;

inline void prefetch_accumulators(const MaskWord* row, const MaskWord* after, std::uint32_t mask_words) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < mask_words; ++i) {
    count += count_bits(after[i]);
  }
  const Real* accumulators = weights_of(row, mask_words) + capacity_for(count);
  prefetch(accumulators);
  if (count > kLanes) {
    prefetch(accumulators + kLanes);
  }
}

template <class Rule>
void step(MaskWord* const* rows, const MaskWord* after, const Real* values, std::size_t n_rows,
          std::uint32_t mask_words, const StepColumns& columns, const Rule& rule) {
  for (std::size_t i = 0; i < n_rows; ++i, after += mask_words) {
    if (i + kAhead < n_rows && rows[i + kAhead] != nullptr) {
      prefetch_accumulators(rows[i + kAhead], after + kAhead * mask_words, mask_words);
    }
    if (rows[i] == nullptr) {
      continue;
    }
    if (mask_words == 1 && *rows[i] == *after) {  // the most frequent case by far
      Real* weights = weights_of(rows[i], 1);
      step_in_place(*after, *columns.active, weights, weights + capacity_for(count_bits(*after)), columns.gradients,
                    values[i], rule);
    } else {
      step_row(rows[i], after, mask_words, columns, [&](const WordStep& cells) { step_word(cells, values[i], rule); });
    }
  }
}

// The same source as the portable version, vectorised for AVX-512 by the compiler.
void sigmoids(const Real* in, Real* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = sigmoid(in[i]);
  }
}

#pragma GCC pop_options

}  // namespace

const Kernels* avx512_kernels() {
  static constexpr Kernels kAvx512{.score = score<Real>,
                                   .score_halves = score<Half>,
                                   .sum_accumulators = sum_accumulators,
                                   .step_adagrad = step<AdaGradStep>,
                                   .step_arow = step<ArowStep>,
                                   .sigmoids = sigmoids};
  return __builtin_cpu_supports("x86-64-v4") != 0 ? &kAvx512 : nullptr;  // includes all targets of the pragma above
}

}  // namespace oplt

#else

namespace oplt {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace oplt

#endif

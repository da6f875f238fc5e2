// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernel_steps.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>

#include "base/half.hpp"
#include "base/math.hpp"
#include "blocks/processor.hpp"

namespace oplt {

namespace {

// After all headers: their inline functions must run on any machine.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt,f16c"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt,f16c")
#endif

/// The mask of the first `count` of up to 16 lanes.
inline std::uint32_t lanes_below(std::uint32_t count) { return _bzhi_u32(0xFFFF, count); }

// Vectors of 4, 8 and 16 floats. Narrow rows use narrow vectors: a wide load that overlaps a neighbouring row would
// stall if that row has just been stored to, and narrow square roots and divisions are faster.
struct Lanes4 {
  using Vector = __m128;
  static constexpr std::uint32_t kSize = 4;
  static Vector all(Real x) { return _mm_set1_ps(x); }
  static Vector load_all(const Real* from) { return _mm_loadu_ps(from); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm_maskz_loadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m128i halves = _mm_maskz_loadu_epi16(static_cast<__mmask8>(lanes_below(count_bits(mask))), from);
    return _mm_maskz_expand_ps(static_cast<__mmask8>(mask), _mm_cvtph_ps(halves));
  }
  static Vector compress(std::uint32_t mask, Vector v) { return _mm_maskz_compress_ps(static_cast<__mmask8>(mask), v); }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm_mask_mov_ps(no, static_cast<__mmask8>(mask), yes);
  }
  static void store(Real* to, std::uint32_t mask, Vector v) { _mm_mask_storeu_ps(to, static_cast<__mmask8>(mask), v); }
  static void store_all(Real* to, Vector v) { _mm_storeu_ps(to, v); }
  static void compress_store(Real* to, std::uint32_t mask, Vector v) {
    store(to, lanes_below(count_bits(mask)), compress(mask, v));
  }
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
  static Vector load_all(const Real* from) { return _mm256_loadu_ps(from); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm256_maskz_loadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm256_maskz_expandloadu_ps(static_cast<__mmask8>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m128i halves = _mm_maskz_loadu_epi16(static_cast<__mmask8>(lanes_below(count_bits(mask))), from);
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
  static void store_all(Real* to, Vector v) { _mm256_storeu_ps(to, v); }
  static void compress_store(Real* to, std::uint32_t mask, Vector v) {
    store(to, lanes_below(count_bits(mask)), compress(mask, v));
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
  static Vector load_all(const Real* from) { return _mm512_loadu_ps(from); }
  static Vector load(std::uint32_t mask, const Real* from) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    return _mm512_maskz_expandloadu_ps(static_cast<__mmask16>(mask), from);
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const __m256i halves = _mm256_maskz_loadu_epi16(static_cast<__mmask16>(lanes_below(count_bits(mask))), from);
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
  static void store_all(Real* to, Vector v) { _mm512_storeu_ps(to, v); }
  static void compress_store(Real* to, std::uint32_t mask, Vector v) {
    store(to, lanes_below(count_bits(mask)), compress(mask, v));
  }
  static Vector sqrt(Vector v) { return _mm512_maskz_sqrt_ps(0xFFFF, v); }
  static Vector abs(Vector v) { return _mm512_maskz_andnot_ps(0xFFFF, all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
  static std::uint32_t above(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static std::uint32_t at_least(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
};

inline __m128 first_four(__m512 v) { return _mm512_castps512_ps128(v); }
inline __m256 first_eight(__m512 v) { return _mm512_castps512_ps256(v); }

inline Real first_weight(const Real* weights) { return *weights; }
inline Real first_weight(const Half* weights) { return _cvtsh_ss(weights->bits); }

inline MaskWord pack_bits(MaskWord bits, MaskWord mask) { return _pext_u64(bits, mask); }

#include "blocks/vector_kernels.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace

const Kernels* avx512_kernels() {
  static constexpr Kernels kAvx512 = make_kernels("avx512");
  return has_avx512() ? &kAvx512 : nullptr;
}

}  // namespace oplt

#else

namespace oplt {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace oplt

#endif

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernel_steps.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.hpp"
#include "base/math.hpp"
#include "blocks/lane_tables.hpp"
#include "blocks/processor.hpp"

namespace oplt {

namespace {

constexpr ExpandTable<8> kExpand;
constexpr CompressTable<8> kCompress;

// After all headers: their inline functions must run on any machine.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,f16c")
#endif

/// Up to 8 halves, as floats; reads no more than `count` of them.
inline __m256 load_halves(std::uint32_t count, const Half* from) {
  __m128i halves = _mm_setzero_si128();
  if (count >= 8) {
    halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  } else {
    std::uint16_t some[8] = {};
    for (std::uint32_t i = 0; i < count; ++i) {
      some[i] = from[i].bits;
    }
    std::memcpy(&halves, some, sizeof halves);
  }
  return _mm256_cvtph_ps(halves);
}

struct Lanes4 {
  using Vector = __m128;
  static constexpr std::uint32_t kSize = 4;
  /// Bit i of the mask as the sign of lane i, which is all that blending and masked loads look at.
  static __m128i signs(std::uint32_t mask) {
    return _mm_sllv_epi32(_mm_set1_epi32(static_cast<int>(mask)), _mm_setr_epi32(31, 30, 29, 28));
  }
  static __m128i places(const std::array<std::uint8_t, 8>& of) {
    return _mm_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(of.data())));
  }
  static std::uint32_t below(std::uint32_t count) { return (1U << count) - 1; }
  static Vector all(Real x) { return _mm_set1_ps(x); }
  static Vector load_all(const Real* from) { return _mm_loadu_ps(from); }
  static Vector load(std::uint32_t mask, const Real* from) { return _mm_maskload_ps(from, signs(mask)); }
  static Vector permuted(Vector v, const std::array<std::uint8_t, 8>& of) { return _mm_permutevar_ps(v, places(of)); }
  static Vector expand(std::uint32_t mask, const Real* from) {
    const Vector packed = load(below(count_bits(mask)), from);
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const Vector packed = _mm256_castps256_ps128(load_halves(count_bits(mask), from));
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm_blendv_ps(no, yes, _mm_castsi128_ps(signs(mask)));
  }
  static void store_all(Real* to, Vector v) { _mm_storeu_ps(to, v); }
  /// The mask has the first lanes set. No masked store, which takes 6 to 12 cycles on AMD's processors.
  static void store(Real* to, std::uint32_t mask, Vector v) {
    if (mask == 0xF) {
      _mm_storeu_ps(to, v);
      return;
    }
    if (mask >= 3) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), v);
      if (mask == 7) {
        _mm_store_ss(to + 2, _mm_movehl_ps(v, v));
      }
    } else if (mask == 1) {
      _mm_store_ss(to, v);
    }
  }
  static Vector sqrt(Vector v) { return _mm_sqrt_ps(v); }
  static Vector abs(Vector v) { return _mm_andnot_ps(all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm_max_ps(a, b); }
  static std::uint32_t above(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmp_ps(a, b, _CMP_GT_OQ)));
  }
  static std::uint32_t at_least(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmp_ps(a, b, _CMP_GE_OQ)));
  }
};

struct Lanes8 {
  using Vector = __m256;
  static constexpr std::uint32_t kSize = 8;
  static __m256i signs(std::uint32_t mask) {
    return _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(mask)),
                             _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
  }
  static __m256i places(const std::array<std::uint8_t, 8>& of) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(of.data())));
  }
  static std::uint32_t below(std::uint32_t count) { return (1U << count) - 1; }
  static Vector all(Real x) { return _mm256_set1_ps(x); }
  static Vector load_all(const Real* from) { return _mm256_loadu_ps(from); }
  static Vector load(std::uint32_t mask, const Real* from) { return _mm256_maskload_ps(from, signs(mask)); }
  static Vector permuted(Vector v, const std::array<std::uint8_t, 8>& of) {
    return _mm256_permutevar8x32_ps(v, places(of));
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    const Vector packed = load(below(count_bits(mask)), from);
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    const Vector packed = load_halves(count_bits(mask), from);
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector compress(std::uint32_t mask, Vector v) { return permuted(v, kCompress.places[mask]); }
  /// Lane i becomes lane (i + n) mod 8.
  static Vector rotate(Vector v, std::uint32_t n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_permutevar8x32_ps(v, _mm256_sub_epi32(lanes, _mm256_set1_epi32(static_cast<int>(n))));
  }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) {
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(signs(mask)));
  }
  static void store_all(Real* to, Vector v) { _mm256_storeu_ps(to, v); }
  /// The mask has the first lanes set.
  static void store(Real* to, std::uint32_t mask, Vector v) {
    if (mask < 0xF) {
      Lanes4::store(to, mask, _mm256_castps256_ps128(v));
    } else if (mask == 0xFF) {
      _mm256_storeu_ps(to, v);
    } else {
      _mm_storeu_ps(to, _mm256_castps256_ps128(v));
      Lanes4::store(to + 4, mask >> 4, _mm256_extractf128_ps(v, 1));
    }
  }
  static void compress_store(Real* to, std::uint32_t mask, Vector v) {
    store(to, below(count_bits(mask)), compress(mask, v));
  }
  static Vector sqrt(Vector v) { return _mm256_sqrt_ps(v); }
  static Vector abs(Vector v) { return _mm256_andnot_ps(all(-0.0F), v); }
  static Vector max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  static std::uint32_t above(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
  }
  static std::uint32_t at_least(Vector a, Vector b) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
  }
};

#include "blocks/twice.inc"

using Lanes16 = Twice<Lanes8>;

inline __m128 first_four(Lanes16::Vector v) { return _mm256_castps256_ps128(v.low); }
inline __m256 first_eight(Lanes16::Vector v) { return v.low; }

inline Real first_weight(const Real* weights) { return *weights; }
inline Real first_weight(const Half* weights) { return _cvtsh_ss(weights->bits); }

/// Not _pext_u64, which takes up to 300 cycles on some processors that have no AVX-512 either.
inline MaskWord pack_bits(MaskWord bits, MaskWord mask) { return packed_bits(bits, mask); }

#include "blocks/vector_kernels.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace

const Kernels* avx2_kernels() {
  static constexpr Kernels kAvx2 = make_kernels("avx2");
  return has_avx2() ? &kAvx2 : nullptr;
}

}  // namespace oplt

#else

namespace oplt {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace oplt

#endif

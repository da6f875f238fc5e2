// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/kernel_steps.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

#include <algorithm>
#include <array>

#include "base/half.hpp"
#include "base/math.hpp"
#include "blocks/lane_tables.hpp"

namespace oplt {

namespace {

constexpr ExpandTable<4> kExpand;
constexpr CompressTable<4> kCompress;

struct Lanes4 {
  using Vector = float32x4_t;
  static constexpr std::uint32_t kSize = 4;

  /// All bits of the lanes whose bits are set in the mask.
  static uint32x4_t lanes(std::uint32_t mask) {
    constexpr std::uint32_t kBits[4] = {1, 2, 4, 8};
    return vtstq_u32(vdupq_n_u32(mask), vld1q_u32(kBits));
  }
  static Vector permuted(Vector v, const std::array<std::uint8_t, 8>& places) {
    constexpr std::uint32_t kBytes = 0x03020100;  // of a float, in order
    const std::uint32_t indices[4] = {places[0] * 0x04040404U + kBytes, places[1] * 0x04040404U + kBytes,
                                      places[2] * 0x04040404U + kBytes, places[3] * 0x04040404U + kBytes};
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(v), vreinterpretq_u8_u32(vld1q_u32(indices))));
  }
  static Vector all(Real x) { return vdupq_n_f32(x); }
  static Vector load_all(const Real* from) { return vld1q_f32(from); }
  /// The mask has the first lanes set.
  static Vector load(std::uint32_t mask, const Real* from) {
    if (mask == 0xF) {
      return vld1q_f32(from);
    }
    Vector v = all(0);
    if (mask >= 3) {
      v = vcombine_f32(vld1_f32(from), vdup_n_f32(0));
      return mask == 7 ? vld1q_lane_f32(from + 2, v, 2) : v;
    }
    return mask == 1 ? vld1q_lane_f32(from, v, 0) : v;
  }
  static Vector expand(std::uint32_t mask, const Real* from) {
    const Vector packed = load((1U << count_bits(mask)) - 1, from);
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector expand(std::uint32_t mask, const Half* from) {
    std::uint16_t some[4] = {};
    for (std::uint32_t i = 0; i < count_bits(mask); ++i) {
      some[i] = from[i].bits;
    }
    const Vector packed = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(some)));
    return blend(mask, all(0), permuted(packed, kExpand.places[mask]));
  }
  static Vector compress(std::uint32_t mask, Vector v) { return permuted(v, kCompress.places[mask]); }
  /// Lane i becomes lane (i + n) mod 4.
  static Vector rotate(Vector v, std::uint32_t n) {
    const auto place = [&](std::uint32_t lane) { return static_cast<std::uint8_t>((lane + 4 - n) % 4); };
    return permuted(v, {place(0), place(1), place(2), place(3)});
  }
  static Vector blend(std::uint32_t mask, Vector no, Vector yes) { return vbslq_f32(lanes(mask), yes, no); }
  static void store_all(Real* to, Vector v) { vst1q_f32(to, v); }
  /// The mask has the first lanes set.
  static void store(Real* to, std::uint32_t mask, Vector v) {
    if (mask == 0xF) {
      vst1q_f32(to, v);
      return;
    }
    if (mask >= 3) {
      vst1_f32(to, vget_low_f32(v));
      if (mask == 7) {
        vst1q_lane_f32(to + 2, v, 2);
      }
    } else if (mask == 1) {
      vst1q_lane_f32(to, v, 0);
    }
  }
  static void compress_store(Real* to, std::uint32_t mask, Vector v) {
    store(to, (1U << count_bits(mask)) - 1, compress(mask, v));
  }
  static Vector sqrt(Vector v) { return vsqrtq_f32(v); }
  static Vector abs(Vector v) { return vabsq_f32(v); }
  static Vector max(Vector a, Vector b) { return vmaxq_f32(a, b); }
  static std::uint32_t set_lanes(uint32x4_t lanes_of_mask) {
    constexpr std::uint32_t kBits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(lanes_of_mask, vld1q_u32(kBits)));
  }
  static std::uint32_t above(Vector a, Vector b) { return set_lanes(vcgtq_f32(a, b)); }
  static std::uint32_t at_least(Vector a, Vector b) { return set_lanes(vcgeq_f32(a, b)); }
};

#include "blocks/twice.inc"

using Lanes8 = Twice<Lanes4>;
using Lanes16 = Twice<Lanes8>;

inline Lanes4::Vector first_four(Lanes16::Vector v) { return v.low.low; }
inline Lanes8::Vector first_eight(Lanes16::Vector v) { return v.low; }

inline Real first_weight(const Real* weights) { return *weights; }
inline Real first_weight(const Half* weights) { return to_real(*weights); }

inline MaskWord pack_bits(MaskWord bits, MaskWord mask) { return packed_bits(bits, mask); }

#include "blocks/vector_kernels.inc"

}  // namespace

const Kernels* neon_kernels() {
  static constexpr Kernels kNeon = make_kernels("neon");
  return &kNeon;  // every processor of this architecture has it
}

}  // namespace oplt

#else

namespace oplt {

const Kernels* neon_kernels() { return nullptr; }

}  // namespace oplt

#endif

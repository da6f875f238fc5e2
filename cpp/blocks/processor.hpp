// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// What an x86 processor can run. __builtin_cpu_supports() needs a run-time library that not every compiler links.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace oplt {

/// The registers that CPUID returns; zeros if there is no such leaf.
struct Cpuid {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;

  explicit Cpuid(unsigned int leaf) { __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx); }
};

inline bool has_all_bits(std::uint32_t found, std::uint32_t wanted) { return (found & wanted) == wanted; }

/// Whether the operating system saves these registers when it switches threads. Requires OSXSAVE.
inline bool saves_registers(std::uint32_t wanted) {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has_all_bits(low, wanted);
}

/// AVX2, BMI, BMI2, POPCNT, LZCNT and F16C.
inline bool has_avx2() {
  constexpr std::uint32_t kVectors = 0x6;  // XMM and YMM
  return has_all_bits(Cpuid(1).ecx, bit_OSXSAVE | bit_AVX | bit_POPCNT | bit_F16C) && saves_registers(kVectors) &&
         has_all_bits(Cpuid(7).ebx, bit_AVX2 | bit_BMI | bit_BMI2) && has_all_bits(Cpuid(0x80000001).ecx, bit_LZCNT);
}

/// The same, and AVX-512 F, BW, DQ and VL.
inline bool has_avx512() {
  constexpr std::uint32_t kVectors = 0xE6;  // also the masks and ZMM
  return has_avx2() && saves_registers(kVectors) &&
         has_all_bits(Cpuid(7).ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL);
}

}  // namespace oplt

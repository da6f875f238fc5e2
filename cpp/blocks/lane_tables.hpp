// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Where lanes come from when cells are unpacked and packed under a mask, for instruction sets that permute by tables.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "blocks/packed_row.hpp"

namespace oplt {

/// By mask: lane i of the unpacked vector is lane places[i] of the packed one, if bit i is set.
template <std::uint32_t kLanesOfMask>
struct ExpandTable {
  std::array<std::array<std::uint8_t, 8>, 1U << kLanesOfMask> places{};

  constexpr ExpandTable() {
    for (std::uint32_t mask = 0; mask < places.size(); ++mask) {
      std::uint8_t next = 0;
      for (std::uint32_t lane = 0; lane < kLanesOfMask; ++lane) {
        places[mask][lane] = next;
        next = static_cast<std::uint8_t>(next + (mask >> lane & 1U));
      }
    }
  }
};

/// By mask: lane i of the packed vector is lane places[i] of the unpacked one.
template <std::uint32_t kLanesOfMask>
struct CompressTable {
  std::array<std::array<std::uint8_t, 8>, 1U << kLanesOfMask> places{};

  constexpr CompressTable() {
    for (std::uint32_t mask = 0; mask < places.size(); ++mask) {
      std::uint32_t next = 0;
      for (std::uint32_t lane = 0; lane < kLanesOfMask; ++lane) {
        if ((mask >> lane & 1U) != 0) {
          places[mask][next++] = static_cast<std::uint8_t>(lane);
        }
      }
    }
  }
};

/// The bits at the places that are set in the mask, next to each other. Usually all of them, or few, are set.
inline MaskWord packed_bits(MaskWord bits, MaskWord mask) {
  bits &= mask;
  if (bits == mask) {
    const std::uint32_t count = count_bits(mask);
    return count == kWordColumns ? ~MaskWord{0} : (MaskWord{1} << count) - 1;
  }
  MaskWord packed = 0;
  for (; bits != 0; bits &= bits - 1) {
    const MaskWord lowest = bits & (~bits + 1);
    packed |= MaskWord{1} << count_bits(mask & (lowest - 1));
  }
  return packed;
}

}  // namespace oplt

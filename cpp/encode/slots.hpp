// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace oplt {

/// Slots of a table of open addressing that has this number of keys: at least twice as many, so that a search ends
/// soon. It follows from the number of keys alone, as whoever loads a table from a file can check.
constexpr std::size_t n_slots_for(std::size_t n_keys) {
  return n_keys == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(2 * n_keys));
}

}  // namespace oplt

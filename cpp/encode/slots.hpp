// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Shared by the hash tables of names and of terms. Both use open addressing with linear probing and a public hash, so
// that a table in a mapped file can be used in place. An attacker who knows the hash can choose keys that all collide.
// So no key may be further than kMostProbes from its first slot; a table that would need more switches to a hash with a
// random key, in memory only. Files always contain the table of the public hash.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace oplt {

/// Number of slots of an open-addressing table with this number of keys: at least twice as many, so that searches are
/// short. It depends only on the number of keys, which is checked when a table is loaded from a file.
constexpr std::size_t n_slots_for(std::size_t n_keys) {
  return n_keys == 0 ? 0 : std::max<std::size_t>(16, std::bit_ceil(2 * n_keys));
}

/// Maximum number of slots that a lookup by the public hash examines. Keys that were not chosen by an attacker
/// practically never need more: in a table that is half full, the probability is below 1e-10 for each key.
inline constexpr std::size_t kMostProbes = 128;

/// Returned instead of a slot if neither the key nor an empty slot is within kMostProbes.
inline constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();

/// Whether more than kMostProbes consecutive slots are used. If not, every key is near enough to its first slot.
template <class IsUsed>
bool has_long_run(std::size_t n_slots, IsUsed is_used) {
  // A long run includes one of the slots kMostProbes apart, so it suffices to start from these.
  for (std::size_t middle = kMostProbes - 1; middle < n_slots; middle += kMostProbes) {
    std::size_t n = 0;
    for (std::size_t i = middle; n <= kMostProbes && is_used(i); i = (i + 1) % n_slots) {
      ++n;
    }
    for (std::size_t i = middle - 1; n > 0 && n <= kMostProbes && is_used(i); i = (i + n_slots - 1) % n_slots) {
      ++n;
    }
    if (n > kMostProbes) {
      return true;
    }
  }
  return false;
}

/// The empty slots of a table that is being filled. Finds the slot to which linear probing leads without visiting those
/// in between (union-find), so that colliding hashes do not slow it down.
class EmptySlots {
 public:
  explicit EmptySlots(std::size_t n_slots) : next_(n_slots) { std::iota(next_.begin(), next_.end(), std::size_t{0}); }

  /// Returns the first empty slot from i on and marks it as used. There must be one.
  std::size_t take(std::size_t i) {
    while (next_[i] != i) {
      next_[i] = next_[next_[i]];  // path halving: later searches are shorter
      i = next_[i];
    }
    next_[i] = (i + 1) % next_.size();
    return i;
  }

 private:
  std::vector<std::size_t> next_;  // an empty slot points to itself, a used one to a later slot
};

}  // namespace oplt

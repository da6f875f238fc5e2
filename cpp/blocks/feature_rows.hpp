// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/buffer.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace oplt {

/// A hash map from feature ids to the offsets of their rows in the block: open addressing with linear probing, 8 bytes
/// per slot. Entries are never erased: a block that loses rows is rebuilt.
class FeatureRows {
 public:
  struct Slot {
    FeatureId feature = 0;
    std::uint32_t row = kNone;  // kNone marks an empty slot
  };

  FeatureRows() = default;

  /// Restores saved slots, `size` of which are in use. The number of slots is a power of two, or 0.
  FeatureRows(Buffer<Slot> slots, std::size_t size) : slots_(std::move(slots)), size_(size) { set_shift(); }

  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const { return slots_.memory_bytes(); }

  /// Must be called before the first write.
  void own() { slots_.own(); }

  /// The feature's row, or kNone.
  std::uint32_t find(FeatureId feature) const {
    if (slots_.empty()) {
      return kNone;
    }
    return slots_[slot_of(feature)].row;
  }

  /// Prefetches the feature's slot.
  void prefetch(FeatureId feature) const {
    if (!slots_.empty()) {
      oplt::prefetch(slots_.data() + home_of(feature));
    }
  }

  /// Reserves space for n features. Needed before copying from another map in slot order: that is hash order, and a
  /// smaller map would cluster all entries at its beginning.
  void reserve(std::size_t n) {
    std::size_t n_slots = std::max<std::size_t>(4, slots_.size());
    while (n * 4 > n_slots * 3) {
      n_slots *= 2;
    }
    if (n_slots > slots_.size()) {
      rehash(n_slots);
    }
  }

  /// Inserts the feature or changes its row. Changing a row allocates nothing and so cannot fail: callers may free the
  /// old row first.
  void set(FeatureId feature, std::uint32_t row) {
    if (find(feature) == kNone) {
      reserve(size_ + 1);
      ++size_;
    }
    slots_[slot_of(feature)] = {feature, row};
  }

  /// All slots, in an unspecified order, empty ones included.
  std::span<const Slot> slots() const { return slots_.view(); }

  /// Whether looking up the feature of this non-empty slot leads to this slot. If that holds for all slots, no feature
  /// occurs twice.
  bool finds(std::size_t slot) const { return slot_of(slots_[slot].feature) == slot; }

 private:
  std::size_t home_of(FeatureId feature) const {
    return (feature * std::size_t{0x9E3779B97F4A7C15ULL}) >> shift_;  // Fibonacci hashing
  }

  // The slot that holds the feature, or the empty one where it would go.
  std::size_t slot_of(FeatureId feature) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = home_of(feature);
    while (slots_[i].row != kNone && slots_[i].feature != feature) {
      i = (i + 1) & mask;
    }
    return i;
  }

  void set_shift() { shift_ = slots_.empty() ? 0 : 64 - std::countr_zero(slots_.size()); }

  void rehash(std::size_t n_slots) {
    Buffer<Slot> old;
    old.resize(n_slots);
    std::swap(old, slots_);
    set_shift();
    for (const Slot& slot : old) {
      if (slot.row != kNone) {
        slots_[slot_of(slot.feature)] = slot;
      }
    }
  }

  Buffer<Slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace oplt

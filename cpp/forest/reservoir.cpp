// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/reservoir.hpp"

#include <algorithm>
#include <utility>

namespace oplt {

Reservoir::Reservoir(std::uint64_t seed, std::size_t capacity)
    : first_state_(Random(seed).next()), capacity_(capacity), random_(first_state_) {}

void Reservoir::add(const Example& example) {
  random_ = Random(first_state_ + n_added_);
  ++n_added_;
  if (sample_.size() < capacity_) {
    sample_.emplace_back(example);
    return;
  }
  const std::uint64_t place = random_.next() % n_added_;  // no stream is so long that the remainder is not uniform
  if (place < capacity_) {
    replaced_.push_back(std::exchange(sample_[place], KeptExample(example)));
  }
}

Example Reservoir::draw() { return sample_[random_.below(static_cast<std::uint32_t>(sample_.size()))].view(); }

std::size_t Reservoir::memory_bytes() const {
  std::size_t bytes = 0;
  for (const KeptExample& example : sample_) {
    bytes += example.memory_bytes();
  }
  return bytes;
}

void Reservoir::save(Writer& out) const {
  out.put(n_added_);
  for (const KeptExample& example : sample_) {  // how many there are follows from the capacity
    example.save(out);
  }
}

Reservoir Reservoir::load(std::uint64_t seed, std::uint32_t n_features, std::uint32_t n_labels, Reader& in) {
  Reservoir reservoir(seed);
  reservoir.n_added_ = in.get<std::uint64_t>();
  const std::uint64_t n = std::min<std::uint64_t>(reservoir.n_added_, kCapacity);
  for (std::uint64_t i = 0; i < n; ++i) {
    reservoir.sample_.push_back(KeptExample::load(n_features, n_labels, in));
  }
  return reservoir;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "io/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace oplt {

namespace {

constexpr std::uint64_t kOdd1 = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, then the multipliers of SplitMix64
constexpr std::uint64_t kOdd2 = 0xBF58476D1CE4E5B9;
constexpr std::uint64_t kOdd3 = 0x94D049BB133111EB;

/// Every bit of the result depends on every bit of x (SplitMix64).
std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kOdd2;
  x = (x ^ (x >> 27)) * kOdd3;
  return x ^ (x >> 31);
}

}  // namespace

void Checksum::mix(const std::byte* stripe) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::uint64_t word = 0;
    std::memcpy(&word, stripe + lane * sizeof(word), sizeof(word));
    lanes_[lane] = std::rotl(lanes_[lane] + word * kOdd1, 31) * kOdd2;
  }
}

void Checksum::add(std::span<const std::byte> bytes) {
  std::size_t filled = n_bytes_ % kStripe;
  n_bytes_ += bytes.size();
  if (filled > 0) {
    const std::size_t n = std::min(kStripe - filled, bytes.size());
    std::copy_n(bytes.begin(), n, rest_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes = bytes.subspan(n);
    if (filled + n < kStripe) {
      return;
    }
    mix(rest_.data());
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) {
    mix(bytes.data());
  }
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

Checksum::Value Checksum::value() const {
  Checksum padded = *this;
  const std::size_t filled = n_bytes_ % kStripe;
  if (filled > 0) {
    std::fill(padded.rest_.begin() + static_cast<std::ptrdiff_t>(filled), padded.rest_.end(), std::byte{0});
    padded.mix(padded.rest_.data());
  }
  Value value{n_bytes_, ~n_bytes_};
  for (const std::uint64_t lane : padded.lanes_) {
    value[0] = spread(value[0] ^ lane) * kOdd1;
    value[1] = spread(value[1] + lane) * kOdd3;
  }
  return {spread(value[0]), spread(value[1])};
}

}  // namespace oplt

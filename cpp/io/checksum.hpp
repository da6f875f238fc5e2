// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace oplt {

/// A 128-bit checksum that detects accidental changes; it is not cryptographic.
///
/// Four independent lanes multiply and rotate 8 bytes each, which reaches several GB per second. The result does not
/// depend on how the bytes are split into calls of add().
class Checksum {
 public:
  using Value = std::array<std::uint64_t, 2>;

  void add(std::span<const std::byte> bytes);
  Value value() const;

 private:
  static constexpr std::size_t kStripe = 32;

  void mix(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_{0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  std::array<std::byte, kStripe> rest_{};  // bytes that do not fill a stripe yet
  std::uint64_t n_bytes_ = 0;
};

}  // namespace oplt

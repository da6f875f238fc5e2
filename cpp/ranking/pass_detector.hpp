// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/array_file.hpp"

namespace oplt {

/// Notices when a stream begins to repeat what has been learnt, as in a second pass over the same data.
///
/// That an example occurs again says little: some streams have few different ones. Of a stream that goes on as it was,
/// though, the share of examples that are new is about that of examples which have occurred once so far (Good and
/// Turing's estimate). If far fewer are new, and for long enough that it cannot be chance (a CUSUM test), the stream
/// repeats itself; such examples are not counted, so a third pass is known as well as a second.
///
/// Examples are known by 64-bit digests. At most kMost of them are kept: those below a bound, which is halved whenever
/// there are too many. So a long stream is watched by a sample, and memory is bounded.
class PassDetector {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Takes note of the next example.
  void see(std::uint64_t digest);

  /// Has the stream begun to repeat itself?
  bool is_repeating() const { return evidence_ >= kEnough; }

  void save(ArrayWriter& out, const std::string& prefix) const;
  static PassDetector load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError if it cannot have come about.
  void check() const;

 private:
  static constexpr double kEnough = 8;  // a stream that goes on as it was gets there once in 10⁵ to 10⁶ times
  static constexpr double kMostEvidence = 2 * kEnough;  // so that what is new after all is soon known as such

  void halve_bound();

  // Ascending. The lowest bit is not the digest's: it tells whether the example has occurred more than once.
  std::vector<std::uint64_t> digests_;
  std::uint64_t bound_ = ~std::uint64_t{0};  // digests above are not looked at
  std::uint64_t n_seen_ = 0;                 // examples below the bound, repeating ones left out
  std::uint64_t n_once_ = 0;                 // digests that have occurred once
  double evidence_ = 0;                      // that the stream repeats itself
};

}  // namespace oplt

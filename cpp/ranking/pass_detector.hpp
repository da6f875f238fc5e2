// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/array_file.hpp"

namespace oplt {

/// Detects when a stream begins to repeat earlier examples, as in a second pass over the same data.
///
/// A single repeated example says little: some streams have few distinct examples. In a stationary stream, however, the
/// fraction of new examples is about the fraction of examples that have occurred exactly once so far (the Good-Turing
/// estimate). If far fewer are new, for longer than chance allows (a CUSUM test), the stream repeats itself. Such
/// examples are not counted, so a third pass is detected as well as a second.
///
/// Examples are identified by 64-bit digests. At most kMost digests are kept: those below a bound, which is halved
/// whenever there are too many. So a long stream is sampled, and memory is bounded.
class PassDetector {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Records the next example.
  void see(std::uint64_t digest);

  /// Records the examples of a batch, by digests of the original input. Returns whether the first one is new, which it
  /// is not in a further pass over the same data.
  bool recognise(std::span<const std::uint64_t> digests);

  /// Whether the stream has begun to repeat itself: the latest examples are repetitions of earlier ones.
  bool is_repeating() const { return evidence_ >= kEnough; }

  void save(ArrayWriter& out, const std::string& prefix) const;
  static PassDetector load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError if the state is not possible.
  void check() const;

 private:
  static constexpr double kEnough = 8;                  // a stationary stream reaches this once in 10⁵ to 10⁶ times
  static constexpr double kMostEvidence = 2 * kEnough;  // limited, so that the end of a repetition is detected soon

  void halve_bound();

  // Ascending. The lowest bit is not part of the digest: it is set if the example has occurred more than once.
  std::vector<std::uint64_t> digests_;
  std::uint64_t bound_ = ~std::uint64_t{0};  // digests above it are ignored
  std::uint64_t n_seen_ = 0;                 // examples below the bound, without repetitions of the stream
  std::uint64_t n_once_ = 0;                 // digests that have occurred once
  double evidence_ = 0;                      // CUSUM statistic for a repeating stream
};

}  // namespace oplt

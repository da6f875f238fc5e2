// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/types.hpp"
#include "forest/kept_example.hpp"
#include "io/archive.hpp"

namespace oplt {

/// A uniform sample, of bounded size, of all examples that have come so far (algorithm R: Vitter, ACM TOMS 1985).
///
/// What is kept and what is drawn depends on the seed and on the numbers of the examples alone.
class Reservoir {
 public:
  static constexpr std::size_t kCapacity = 65'536;

  explicit Reservoir(std::uint64_t seed, std::size_t capacity = kCapacity);

  /// The next example of the stream. It may take the place of another one.
  void add(const Example& example);

  /// One of the sample at random, after an example has been added. Valid until release(), even if another one takes its
  /// place meanwhile.
  Example draw();

  /// Frees the examples whose places were taken.
  void release() { replaced_.clear(); }

  /// How many have come.
  std::uint64_t n_added() const { return n_added_; }
  std::size_t size() const { return sample_.size(); }
  std::size_t memory_bytes() const;

  /// Between two calls of add(), before anything is drawn.
  void save(Writer& out) const;

  /// For n_features and n_labels see KeptExample.
  static Reservoir load(std::uint64_t seed, std::uint32_t n_features, std::uint32_t n_labels, Reader& in);

 private:
  std::uint64_t first_state_;  // of the generator; that of example t is t further on
  std::size_t capacity_;
  std::uint64_t n_added_ = 0;
  Random random_;  // of the draws after the latest example
  std::vector<KeptExample> sample_;
  std::vector<KeptExample> replaced_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/params.hpp"
#include "base/types.hpp"

namespace oplt {

/// Turns one example's features into the row that the classifiers see: sorted by id, scaled to norm 1, with the bias.
class RowBuilder {
 public:
  /// Keeps the rows built from now on in place, up to so many features altogether, and forgets the former ones.
  void start(std::size_t n_features, std::size_t n_rows);

  /// Ids in any order; the values of one that occurs twice are added. Unknown features (id kNone) count in the norm,
  /// then drop out: no classifier has them.
  RowView build(std::span<const FeatureId> ids, std::span<const Real> values, const TrainParams& params);

 private:
  void add_up_repeated();

  std::vector<std::uint64_t> packed_;  // id, then the value's bits: sorts fast
  std::vector<FeatureId> features_;
  std::vector<Real> values_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/memory_bytes.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "encode/packed_feature.hpp"

namespace oplt {

/// The defaults are defined in Python.
struct RowParams {
  Real bias;       // add a constant feature of value 1
  bool normalize;  // scale each row to L2 norm 1 (before the bias)
};

/// Turns one example's features into the row that the classifiers see: sorted by id, scaled to norm 1, with the bias.
class RowBuilder {
 public:
  /// Frees the rows built so far, which are valid until then.
  void clear();

  /// Ids may be in any order; values of duplicate ids are summed. Unknown features (id kNone) contribute to the norm
  /// and are then dropped, since no classifier has them.
  RowView build(std::span<const FeatureId> ids, std::span<const Real> values, const RowParams& params);

  std::size_t memory_bytes() const {
    return oplt::memory_bytes(packed_) + oplt::memory_bytes(sorted_ids_) + oplt::memory_bytes(sorted_values_) +
           features_.memory_bytes() + values_.memory_bytes();
  }

 private:
  /// Writes sorted_ids_ and sorted_values_.
  void sort(std::span<const FeatureId> ids, std::span<const Real> values);

  std::vector<PackedFeature> packed_;
  std::vector<FeatureId> sorted_ids_;
  std::vector<Real> sorted_values_;
  SpanPool<FeatureId> features_;
  SpanPool<Real> values_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/row_builder.hpp"

#include <algorithm>
#include <cmath>

namespace oplt {

void RowBuilder::clear() {
  features_.clear();
  values_.clear();
}

RowView RowBuilder::build(std::span<const FeatureId> ids, std::span<const Real> values, const RowParams& params) {
  packed_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    packed_.push_back(pack(ids[i], values[i]));
  }
  std::sort(packed_.begin(), packed_.end());
  add_up_repeated(packed_);

  double norm = 1.0;
  if (params.normalize) {
    double squares = 0.0;
    for (const PackedFeature packed : packed_) {
      const double value = unpack_value(packed);
      squares += value * value;
    }
    norm = squares > 0.0 ? std::sqrt(squares) : 1.0;
  }

  const std::span<FeatureId> features = features_.allocate(packed_.size() + 1);  // + 1 for the bias
  const std::span<Real> kept_values = values_.allocate(packed_.size() + 1);
  std::size_t n = 0;
  for (const PackedFeature packed : packed_) {
    const auto value = static_cast<Real>(unpack_value(packed) / norm);
    if (unpack_id(packed) != kNone && value != 0) {
      features[n] = unpack_id(packed);
      kept_values[n++] = value;
    }
  }
  if (params.bias != 0) {
    features[n] = kBiasFeature;
    kept_values[n++] = params.bias;
  }
  return {features.first(n), kept_values.first(n)};
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/row_builder.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace oplt {

void RowBuilder::clear() {
  features_.clear();
  values_.clear();
}

RowView RowBuilder::build(std::span<const FeatureId> ids, std::span<const Real> values, const RowParams& params) {
  const bool are_ready = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
  if (!are_ready) {
    sort(ids, values);
    ids = sorted_ids_;
    values = sorted_values_;
  }

  double norm = 1.0;
  if (params.normalize) {
    double squares = 0.0;
    for (const Real value : values) {
      squares += static_cast<double>(value) * value;
    }
    norm = squares > 0.0 ? std::sqrt(squares) : 1.0;
  }

  const std::span<FeatureId> features = features_.allocate(ids.size() + 1);  // + 1 for the bias
  const std::span<Real> kept_values = values_.allocate(ids.size() + 1);
  std::size_t n = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto value = static_cast<Real>(values[i] / norm);
    features[n] = ids[i];
    kept_values[n] = value;
    n += ids[i] != kNone && value != 0 ? 1 : 0;
  }
  if (params.bias != 0) {
    features[n] = kBiasFeature;
    kept_values[n++] = params.bias;
  }
  return {features.first(n), kept_values.first(n)};
}

void RowBuilder::sort(std::span<const FeatureId> ids, std::span<const Real> values) {
  packed_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    packed_.push_back(pack(ids[i], values[i]));
  }
  std::sort(packed_.begin(), packed_.end());
  add_up_repeated(packed_);
  sorted_ids_.clear();
  sorted_values_.clear();
  for (const PackedFeature packed : packed_) {
    sorted_ids_.push_back(unpack_id(packed));
    sorted_values_.push_back(unpack_value(packed));
  }
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/kept_example.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "base/error.hpp"
#include "encode/named_rows.hpp"

namespace oplt {

namespace {

bool ascends(std::span<const std::uint32_t> ids) {
  return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
}

}  // namespace

KeptExample::KeptExample(const Example& example)
    : features_(example.x.features.begin(), example.x.features.end()),
      values_(example.x.values.begin(), example.x.values.end()),
      labels_(example.labels.begin(), example.labels.end()),
      weight_(example.weight) {}

std::size_t KeptExample::memory_bytes() const {
  return sizeof(KeptExample) + features_.capacity() * sizeof(FeatureId) + values_.capacity() * sizeof(Real) +
         labels_.capacity() * sizeof(LabelId);
}

void KeptExample::save(Writer& out) const {
  out.put_array(std::span<const FeatureId>(features_));
  out.put_array(std::span<const Real>(values_));
  out.put_array(std::span<const LabelId>(labels_));
  out.put(weight_);
}

KeptExample KeptExample::load(std::uint32_t n_features, std::uint32_t n_labels, Reader& in) {
  KeptExample example;
  example.features_ = in.get_array<FeatureId>();
  example.values_ = in.get_array<Real>();
  example.labels_ = in.get_array<LabelId>();
  example.weight_ = in.get<Real>();
  if (!example.is_valid(n_features, n_labels)) {
    throw FormatError("an example that is kept does not fit the model");
  }
  return example;
}

bool KeptExample::is_valid(std::uint32_t n_features, std::uint32_t n_labels) const {
  const auto known = [&](FeatureId feature) { return feature < n_features || feature == kBiasFeature; };
  const auto in_range = [](Real value) { return std::abs(value) <= kLargestValue; };  // NaN is not
  return features_.size() == values_.size() && ascends(features_) && ascends(labels_) &&
         std::all_of(features_.begin(), features_.end(), known) &&
         std::all_of(values_.begin(), values_.end(), in_range) && (labels_.empty() || labels_.back() < n_labels) &&
         weight_ > 0 && weight_ <= kLargestWeight;
}

}  // namespace oplt

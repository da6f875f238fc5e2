// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/kept_examples.hpp"

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

/// The part of `values` that belongs to example i.
template <class T>
std::span<const T> piece(const Buffer<T>& values, const Buffer<std::uint64_t>& ends, std::size_t i) {
  const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
  return values.view().subspan(begin, ends[i] - begin);
}

bool are_ends(const Buffer<std::uint64_t>& ends, std::size_t n) {
  return std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends[ends.size() - 1]) == n;
}

bool is_valid(const Example& example, std::uint32_t n_features, std::uint32_t n_labels) {
  const auto known = [&](FeatureId feature) { return feature < n_features || feature == kBiasFeature; };
  const auto in_range = [](Real value) { return std::abs(value) <= kLargestValue; };  // NaN is not
  return ascends(example.x.features) && ascends(example.labels) && std::ranges::all_of(example.x.features, known) &&
         std::ranges::all_of(example.x.values, in_range) &&
         (example.labels.empty() || example.labels.back() < n_labels) && example.weight > 0 &&
         example.weight <= kLargestWeight;
}

}  // namespace

void KeptExamples::add(const Example& example) {
  for (auto* ends : {&feature_ends_, &label_ends_}) {
    ends->own();
  }
  features_.own();
  values_.own();
  labels_.own();
  weights_.own();
  features_.append(example.x.features);
  values_.append(example.x.values);
  labels_.append(example.labels);
  feature_ends_.push_back(features_.size());
  label_ends_.push_back(labels_.size());
  weights_.push_back(example.weight);
}

Example KeptExamples::operator[](std::size_t i) const {
  return {{piece(features_, feature_ends_, i), piece(values_, feature_ends_, i)},
          piece(labels_, label_ends_, i),
          weights_[i]};
}

std::size_t KeptExamples::memory_bytes() const {
  return features_.memory_bytes() + values_.memory_bytes() + labels_.memory_bytes() + feature_ends_.memory_bytes() +
         label_ends_.memory_bytes() + weights_.memory_bytes();
}

void KeptExamples::save(ArrayWriter& out, const std::string& prefix) const {
  out.put(prefix + "/features", features_);
  out.put(prefix + "/values", values_);
  out.put(prefix + "/labels", labels_);
  out.put(prefix + "/feature_ends", feature_ends_);
  out.put(prefix + "/label_ends", label_ends_);
  out.put(prefix + "/weights", weights_);
}

bool KeptExamples::are_in(const ArrayReader& in, const std::string& prefix) { return in.has(prefix + "/weights"); }

KeptExamples KeptExamples::load(const ArrayReader& in, const std::string& prefix) {
  KeptExamples kept;
  kept.features_ = in.get<FeatureId>(prefix + "/features");
  kept.values_ = in.get<Real>(prefix + "/values");
  kept.labels_ = in.get<LabelId>(prefix + "/labels");
  kept.feature_ends_ = in.get<std::uint64_t>(prefix + "/feature_ends");
  kept.label_ends_ = in.get<std::uint64_t>(prefix + "/label_ends");
  kept.weights_ = in.get<Real>(prefix + "/weights");
  return kept;
}

void KeptExamples::check(std::uint32_t n_features, std::uint32_t n_labels) const {
  bool fits = values_.size() == features_.size() && feature_ends_.size() == size() && label_ends_.size() == size() &&
              are_ends(feature_ends_, features_.size()) && are_ends(label_ends_, labels_.size());
  for (std::size_t i = 0; fits && i < size(); ++i) {
    fits = is_valid((*this)[i], n_features, n_labels);
  }
  if (!fits) {
    throw FormatError("the examples that are kept for the warm-up do not match the model");
  }
}

}  // namespace oplt

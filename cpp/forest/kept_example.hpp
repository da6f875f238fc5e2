// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "io/archive.hpp"

namespace oplt {

/// An example that owns its row and its labels, to be kept beyond the call that brought it.
class KeptExample {
 public:
  explicit KeptExample(const Example& example);

  /// Stays valid when the kept example is moved.
  Example view() const { return {{features_, values_}, labels_, weight_}; }

  std::size_t memory_bytes() const;

  void save(Writer& out) const;

  /// Throws FormatError unless it is an example of a model that knows so many features and labels.
  static KeptExample load(std::uint32_t n_features, std::uint32_t n_labels, Reader& in);

 private:
  KeptExample() = default;
  bool is_valid(std::uint32_t n_features, std::uint32_t n_labels) const;

  std::vector<FeatureId> features_;
  std::vector<Real> values_;
  std::vector<LabelId> labels_;
  Real weight_ = 1;
};

}  // namespace oplt

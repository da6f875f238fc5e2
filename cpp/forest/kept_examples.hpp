// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/buffer.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// Copies of examples, concatenated.
class KeptExamples {
 public:
  void add(const Example& example);

  std::size_t size() const { return weights_.size(); }
  /// Valid until the next example is added.
  Example operator[](std::size_t i) const;

  std::size_t memory_bytes() const;

  void save(ArrayWriter& out, const std::string& prefix) const;
  static bool are_in(const ArrayReader& in, const std::string& prefix);
  static KeptExamples load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError unless the examples are consistent with a model that has these numbers of features and labels.
  void check(std::uint32_t n_features, std::uint32_t n_labels) const;

 private:
  Buffer<FeatureId> features_;
  Buffer<Real> values_;
  Buffer<LabelId> labels_;
  Buffer<std::uint64_t> feature_ends_;  // by example: where its features end
  Buffer<std::uint64_t> label_ends_;
  Buffer<Real> weights_;
};

}  // namespace oplt

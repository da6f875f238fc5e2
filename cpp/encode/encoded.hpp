// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Examples as the encoder returns them: ids and values, nothing scaled, dropped or added yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// A view of an example's features: ids in an unspecified order, kNone for unknown features, and their values.
struct EncodedFeatures {
  std::span<const FeatureId> ids;
  std::span<const Real> values;
  bool of_text = false;
  // Only of a text:
  std::span<const std::uint32_t> frequencies = {};  // number of occurrences of each term; 0 for a further feature
  std::uint64_t digest = 0;                         // of all terms, including unknown ones, and further features
};

/// An example whose features and names of labels are all known.
struct EncodedExample {
  std::vector<FeatureId> ids;  // ascending; a hashed feature may occur twice
  std::vector<Real> values;
  bool of_text = false;
  std::vector<std::uint32_t> frequencies;
  std::vector<NameId> label_names;  // ascending
  Real weight = 1;
};

}  // namespace oplt

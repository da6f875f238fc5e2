// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Views of examples as users pass them, by name.
#pragma once

#include <span>

#include "base/types.hpp"
#include "encode/vocabulary.hpp"

namespace oplt {

/// Within these limits no score becomes infinite or NaN, whatever the stream.
inline constexpr Real kLargestValue = 1e12F;
inline constexpr Real kLargestWeight = 1e6F;

/// Features by name. The absolute values are at most kLargestValue.
struct NamedRows {
  RowBounds bounds;
  NameList names;
  std::span<const Real> values;
};

/// Labels by name, any number per row.
struct NamedLabels {
  RowBounds bounds;
  NameList names;
};

}  // namespace oplt

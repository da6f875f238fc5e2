// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// Parameters of batch training: each classifier minimises |w|²/2 + cost · (sum of weight · loss of its examples). The
/// defaults are defined in Python.
struct BatchParams {
  Loss loss;
  double cost;
  double tolerance;              // stop when the dual gradients of a classifier are this close to optimal
  std::uint32_t max_iterations;  // passes over the examples of a node
  Real prune;                    // drop weights below this in absolute value
  std::uint64_t seed;            // seed of the order of the coordinate steps
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "base/types.hpp"
#include "forest/plt.hpp"

namespace oplt {

/// The loss that the classifiers minimise.
enum class Loss : std::uint8_t { kLogistic, kSquaredHinge };

/// Throws InvalidParameter, listing the valid names, if there is no loss of this name.
Loss loss_from_name(std::string_view name);

/// The link for classifiers that minimise this loss.
inline Link link_of(Loss loss) { return loss == Loss::kLogistic ? Link::kSigmoid : Link::kSquaredHinge; }

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

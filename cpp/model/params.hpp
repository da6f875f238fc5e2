// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "batch/batch_params.hpp"
#include "forest/forest_params.hpp"
#include "forest/search.hpp"

namespace oplt {

/// The settings of online training, by component. The defaults are defined in Python.
struct ModelParams {
  ForestParams forest;
  std::uint32_t label_memory = 0;  // number of features kept for each label; 0 = no label memory
  std::uint64_t max_memory = 0;    // in bytes: close the model before it takes more; 0 = no limit
  bool calibrated = false;         // calibrate the probabilities of the trees, if there is no label memory
};

/// Throw InvalidParameter if a setting is outside its range.
void validate(const ModelParams& params);
void validate(const BatchParams& params);
void validate(const SearchParams& params);

}  // namespace oplt

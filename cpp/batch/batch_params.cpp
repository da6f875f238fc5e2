// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "batch/batch_params.hpp"

#include "base/names.hpp"

namespace oplt {

Loss loss_from_name(std::string_view name) {
  static constexpr NamedValue<Loss> kNames[] = {{"logistic", Loss::kLogistic}, {"squared-hinge", Loss::kSquaredHinge}};
  return value_of<Loss>(kNames, "loss", name);
}

}  // namespace oplt

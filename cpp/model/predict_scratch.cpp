// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/predict_scratch.hpp"

namespace oplt {

PredictScratch& scratch_of_thread() {
  static thread_local PredictScratch scratch;
  return scratch;
}

RowView row_of(const ModelState& state, const Inputs& x, std::size_t i, PredictScratch& scratch) {
  const EncodedFeatures features = state.encoder->find(x, i, scratch.encoder);
  scratch.row_builder.clear();
  return scratch.row_builder.build(features.ids, features.values, state.rows);
}

}  // namespace oplt

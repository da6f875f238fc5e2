// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/predict_scratch.hpp"

namespace oplt {

PredictScratch& scratch_of_thread() {
  static thread_local PredictScratch scratch;
  return scratch;
}

std::span<const RowView> rows_of(const ModelState& state, const Inputs& x, std::size_t begin, std::size_t end,
                                 PredictScratch& scratch) {
  scratch.rows.clear();
  scratch.row_builder.clear();
  for (std::size_t i = begin; i < end; ++i) {
    const EncodedFeatures features = state.encoder->find(x, i, scratch.encoder);
    scratch.rows.push_back(scratch.row_builder.build(features.ids, features.values, state.rows));
  }
  return scratch.rows;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/row_builder.hpp"
#include "model/model_state.hpp"
#include "ranking/label_ranker.hpp"

namespace oplt {

/// Working memory of one predicting thread, for any model. Aligned so that no two share a cache line.
struct alignas(64) PredictScratch {
  Encoder::Scratch encoder;
  RowBuilder row_builder;
  std::vector<RowView> rows;
  LabelRanker::Scratch ranking;
};

/// The scratch of the calling thread, kept between calls because allocating it takes longer than a single prediction.
/// Not for helpers: the process is aborted if memory runs out when a new thread first uses a thread_local variable.
PredictScratch& scratch_of_thread();

/// The examples [begin, end) as the classifiers see them; valid until the next use of `scratch`.
std::span<const RowView> rows_of(const ModelState& state, const Inputs& x, std::size_t begin, std::size_t end,
                                 PredictScratch& scratch);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

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
  LabelRanker::Scratch ranking;
};

/// The scratch of the calling thread, kept between calls because allocating it takes longer than a single prediction.
/// Not for helpers: the process is aborted if memory runs out when a new thread first uses a thread_local variable.
PredictScratch& scratch_of_thread();

/// Example i as the classifiers see it; valid until the next use of `scratch`.
RowView row_of(const ModelState& state, const Inputs& x, std::size_t i, PredictScratch& scratch);

}  // namespace oplt

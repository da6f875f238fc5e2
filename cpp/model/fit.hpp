// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "batch/batch_params.hpp"
#include "encode/encoder.hpp"
#include "encode/named_rows.hpp"
#include "encode/row_builder.hpp"
#include "model/model_state.hpp"
#include "tree/label_tree.hpp"

namespace oplt {

/// The input of batch training besides the examples: an encoder, trees, and the names of their labels 0, 1, 2, …
struct FitStart {
  Encoder encoder;
  std::vector<LabelTree> trees;
  NameList labels;
};

/// Batch training of all classifiers of the trees (batch_training.hpp). All examples are encoded first, so that the
/// features of texts are computed from the final counts. Throws InvalidInput if an example has a label that is not in
/// the trees. For `weights` see Learner::learn(), for `poll` ModelState::predict().
ModelState fit(const BatchParams& params, const RowParams& rows, FitStart start, const Inputs& x, const NamedLabels& y,
               std::span<const Real> weights, std::size_t threads, const std::function<void()>& poll = {});

}  // namespace oplt

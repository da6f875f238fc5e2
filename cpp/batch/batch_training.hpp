// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/types.hpp"
#include "batch/batch_params.hpp"
#include "forest/plt.hpp"
#include "tree/label_tree.hpp"

namespace oplt {

/// Trains all classifiers of a tree, each to (near) its optimum, as Parabel does (Prabhu et al., WWW 2018): those of a
/// node's children see the examples that have a label below the node. All labels must be in the tree, and the rows must
/// have the constant feature. The weight of an example multiplies its losses.
///
/// Trains nodes in parallel, on up to `threads` threads; the examples of a node are gathered once for all its children.
/// The model does not depend on the number of threads. If every example has a label, P(some label is relevant) is
/// exactly 1. Calls `poll`, if given, regularly in the calling thread; an exception from it ends the training.
Plt train_batch(const BatchParams& params, LabelTree tree, std::span<const Example> examples, std::size_t threads,
                const std::function<void()>& poll = {});

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/params.hpp"

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace oplt {

namespace {

/// src/oplt/params.py rejects out-of-range values first, with better messages: a failure here is a bug in oplt.
void expect(bool holds, std::string_view name) {
  if (!holds) {
    throw InvalidParameter(std::string(name) + " is out of range");
  }
}

/// Whether the tree depends on its arity and seed.
bool varies(Policy policy) { return policy == Policy::kRandom || policy == Policy::kBestGreedy; }

}  // namespace

// Comparisons are written so that NaN fails them.
void validate(const ModelParams& params) {
  const auto& [tree, learning, trees, history, first_regrowth, rows] = params.forest;
  expect(tree.alpha >= 0.0 && tree.alpha <= 1.0, "alpha");
  expect(tree.arity >= 2 && tree.arity <= tree.max_leaves, "arity");
  if (const auto* adagrad = std::get_if<AdaGradParams>(&learning)) {
    expect(adagrad->learning_rate > 0 && std::isfinite(adagrad->learning_rate), "learning_rate");
    expect(adagrad->eps > 0 && std::isfinite(adagrad->eps), "adagrad_eps");
    expect(adagrad->gate >= 0 && adagrad->gate < 0.5F, "gate");
  } else {
    const auto& arow = std::get<ArowParams>(learning);
    expect(arow.r >= 1e-3F && std::isfinite(arow.r), "arow_r");
    expect(arow.sparsity >= 0 && std::isfinite(arow.sparsity), "sparsity");
  }
  expect(trees >= 1 && (trees == 1 || varies(tree.policy)), "trees");
}

void validate(const BatchParams& params) {
  expect(params.cost > 0 && std::isfinite(params.cost), "cost");
  expect(params.tolerance > 0 && params.tolerance <= 1, "tolerance");
  expect(params.max_iterations >= 1, "max_iterations");
  expect(params.prune >= 0 && params.prune <= 1, "prune");
}

void validate(const SearchParams& params) { expect(params.threshold >= 0 && params.threshold <= 1, "threshold"); }

}  // namespace oplt

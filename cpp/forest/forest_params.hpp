// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "blocks/update_rules.hpp"
#include "encode/row_builder.hpp"
#include "tree/tree_policy.hpp"

namespace oplt {

/// Parameters of the online training of label trees. The defaults are defined in Python.
struct ForestParams {
  TreeParams tree;
  LearningParams learning;
  std::uint32_t trees = 1;    // number of trees over the same stream, each with a different shape
  std::uint64_t history = 0;  // number of examples up to which the history is kept, and the trees are regrown from it
  std::uint64_t first_regrowth = 1024;  // number of examples before it; tests use smaller ones
  RowParams rows = {0, true};           // how the examples of the history become rows

  /// Settings of tree `number`, counted from 0: the first tree has those of `tree`, each further one a different shape
  /// and seed.
  TreeParams of_tree(std::uint32_t number) const;
};

}  // namespace oplt

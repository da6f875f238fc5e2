// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Blocks trained on random steps, and blocks in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "blocks/block_file.hpp"
#include "blocks/sibling_block.hpp"
#include "check.hpp"
#include "helpers.hpp"

namespace oplt::test {

using Positions = std::vector<std::uint32_t>;

inline constexpr std::uint32_t kFeatures = 100;  // more than the examples have

struct Step {
  StreamExample example;
  Positions positives;
};

/// Few positives, as in a tree: with a gate, most columns are soon not updated any more.
inline std::vector<Step> random_steps(std::uint64_t seed, int n, std::uint32_t n_children) {
  Random random(seed);
  std::vector<Step> steps;
  for (int t = 0; t < n; ++t) {
    Step step{random_example(random, 30), {}};
    for (std::uint32_t child = 0; child < n_children; ++child) {
      if (random.below(n_children) < 2) {
        step.positives.push_back(child);
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// Both halves of an update.
inline void learn(SiblingBlock& block, RowView x, Real weight, const Positions& positives, const LearningParams& params,
                  BlockScratch& scratch) {
  block.score(x, scratch);
  if (block.find_step(x, weight, positives, params, scratch)) {
    block.take_step(x, params, scratch);
  }
}

inline void learn(SiblingBlock& block, const Step& step, const LearningParams& params) {
  BlockScratch scratch;
  learn(block, step.example.row(), step.example.weight, step.positives, params, scratch);
}

inline SiblingBlock trained(bool auxiliary, Column n_children, const std::vector<Step>& steps,
                            const LearningParams& params) {
  SiblingBlock block(auxiliary, n_children);
  for (const Step& step : steps) {
    learn(block, step, params);
  }
  return block;
}

/// The cells of the children, which must not change when the auxiliary column is dropped.
inline std::vector<std::vector<Cell>> cells_of_children(const SiblingBlock& block) {
  std::vector<std::vector<Cell>> result;
  for (Column child = 0; child < block.n_children(); ++child) {
    result.push_back(block.child_cells(child));
  }
  return result;
}

/// A file with only this block.
inline std::vector<std::byte> saved_bytes(const SiblingBlock& block) {
  return file_of([&](ArrayWriter& out) {
    const Blocks blocks(1, Shared(block));
    save_blocks(blocks, std::vector<BlockId>{0}, out, "thing");
  });
}

/// The block, still in the file.
inline SiblingBlock open(const std::vector<std::byte>& file) {
  Blocks blocks = load_blocks(read_arrays(file), "thing");
  CHECK_EQ(blocks.size(), 1U);
  return std::move(blocks[0].write());
}

inline SiblingBlock load(const std::vector<std::byte>& file) {
  SiblingBlock block = open(file);
  block.check(kFeatures);
  return block;
}

}  // namespace oplt::test

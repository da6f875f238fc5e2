// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Properties of a trained tree, however it was trained; for training see test_plt_learner.cpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/math.hpp"
#include "check.hpp"
#include "forest/plt.hpp"
#include "forest/search.hpp"
#include "helpers.hpp"
#include "learners.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::OnlineTree;
using oplt::test::random_stream;
using oplt::test::saved_bytes;
using oplt::test::StreamExample;
using oplt::test::with_array;
using oplt::test::with_value;

namespace {

Plt open(const std::vector<std::byte>& file) { return Plt::load(test::read_arrays(file), "thing", Link::kSigmoid); }

Plt load(const std::vector<std::byte>& file) {
  Plt plt = open(file);
  plt.check(100);
  return plt;
}

std::vector<std::byte> saved_tree() {
  OnlineTree model(make_params(Policy::kBestGreedy, 3, 5));
  model.learn(random_stream(5, 60));
  return saved_bytes(*model);
}

}  // namespace

TEST("the rule determines how a score becomes a probability") {
  for (const LearningParams& rule : {test::adagrad(), test::arow()}) {
    OnlineTree model(make_params(Policy::kBestGreedy, 3, 5, rule));
    model.learn(random_stream(2, 60));
    const Real steepness = std::holds_alternative<ArowParams>(rule) ? 3.0F : 1.0F;
    NodeScratch scratch;
    for (const StreamExample& example : random_stream(3, 10)) {
      Real score = 0;
      for (std::size_t i = 0; i < example.features.size(); ++i) {
        for (const Cell& cell : model->classifier(0)) {
          score += cell.feature == example.features[i] ? cell.weight * example.values[i] : 0;
        }
      }
      CHECK_EQ(model->root_probability(example.row(), scratch), sigmoid(steepness * score));
    }
  }
}

TEST("a tree for prediction gives the same probabilities in less memory, and drops small weights") {
  for (const Policy policy : test::kGrowingPolicies) {
    OnlineTree model(make_params(policy, 3, 5));
    model.learn(random_stream(2, 200));
    const Plt all = model->for_prediction(0);
    const Plt some = model->for_prediction(0.3F);
    SearchScratch scratch;
    for (const StreamExample& example : random_stream(3, 30)) {
      CHECK(search(all, example.row(), {}, scratch) == search(*model, example.row(), {}, scratch));
    }
    CHECK(all.memory_bytes() < model->memory_bytes());
    CHECK(some.n_cells() < all.n_cells());
    for (NodeId v = 0; v < all.n_nodes(); ++v) {
      CHECK(!all.auxiliary_classifier(v));
      std::vector<Cell> expected = all.classifier(v);
      std::erase_if(expected, [](const Cell& cell) { return std::abs(cell.weight) < 0.3F; });
      CHECK_EQ(some.classifier(v), expected);
    }
    CHECK_EQ(all.n_examples(), 200U);
    CHECK(saved_bytes(load(saved_bytes(some))) == saved_bytes(some));
    CHECK(saved_bytes(load(saved_bytes(*model)).for_prediction(0.3F)) == saved_bytes(some));
  }
}

TEST("a tree in half precision gives nearly the same probabilities in less memory") {
  OnlineTree model(make_params(Policy::kBestGreedy, 3, 5));
  model.learn(random_stream(2, 200));
  const Plt all = model->for_prediction(0);
  const Plt halves = model->for_prediction(0, true);
  CHECK(halves.memory_bytes() < all.memory_bytes());
  CHECK_EQ(halves.n_cells(), all.n_cells());
  NodeScratch scratch;
  NodeScratch other_scratch;
  for (const StreamExample& example : random_stream(3, 30)) {
    for (NodeId v = 0; v < all.n_nodes(); ++v) {
      if (!all.has_block(v)) {
        continue;
      }
      const auto expected = all.child_probabilities(v, example.row(), scratch);
      const auto found = halves.child_probabilities(v, example.row(), other_scratch);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::abs(found[i] - expected[i]) < 0.002);  // weights are rounded by up to 1 / 2048 of themselves
      }
    }
  }
  const auto file = saved_bytes(halves);
  CHECK(saved_bytes(load(file)) == file);
  CHECK(saved_bytes(load(file).for_prediction(0)) == file);
  CHECK(saved_bytes(load(saved_bytes(*model)).for_prediction(0, true)) == file);
  CHECK_THROWS_WITH(FormatError, "prediction only", OnlineTree(make_params(Policy::kBestGreedy, 3, 5), file));
}

TEST("a loaded tree takes no memory of its own until it is written to") {
  const auto file = saved_tree();
  const Plt loaded = load(file);
  OnlineTree written(make_params(Policy::kBestGreedy, 3, 5), file);
  const std::size_t before = written->memory_bytes();
  CHECK(loaded.memory_bytes() <= before);
  written.learn(random_stream(4, 10, loaded.n_labels()));
  CHECK(written->memory_bytes() > before);
  CHECK(saved_bytes(loaded) == file);
}

TEST("blocks that do not match the nodes are rejected when a tree is loaded") {
  const auto file = saved_tree();
  const auto block_of = test::read_arrays(file).get<BlockId>("thing/block_of");
  const auto n_nodes = static_cast<NodeId>(block_of.size());
  CHECK_THROWS_WITH(FormatError, "do not match", open(with_value(file, "thing/block_of", 0, BlockId{100'000})));
  CHECK_THROWS_WITH(FormatError, "do not match", open(with_value(file, "thing/block_of", 0, kNone)));
  CHECK_THROWS_WITH(FormatError, "do not match",
                    open(with_array<BlockId>(file, "thing/block_of", std::vector<BlockId>(n_nodes - 1))));
  CHECK_THROWS(FormatError, open(with_array<std::uint64_t>(file, "thing/n_examples", {})));
}

TEST("a block that belongs to no node, or to several, does not pass the check") {
  const auto file = saved_tree();
  const Plt plt = load(file);
  const auto block_of = test::read_arrays(file).get<BlockId>("thing/block_of");
  std::vector<NodeId> lonely;  // leaves that have a block
  for (NodeId v = 0; v < plt.n_nodes(); ++v) {
    if (plt.tree().is_leaf(v) && block_of[v] != kNone) {
      lonely.push_back(v);
    }
  }
  CHECK(lonely.size() >= 2);
  CHECK_THROWS_WITH(FormatError, "no node", load(with_value(file, "thing/block_of", lonely[0], kNone)));
  CHECK_THROWS_WITH(FormatError, "more than one",
                    load(with_value(file, "thing/block_of", lonely[0], block_of[lonely[1]])));
}

TEST("features beyond those of the model do not pass the check") {
  CHECK_THROWS_WITH(FormatError, "feature that the model does not have", open(saved_tree()).check(3));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "blocks/sibling_block.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "random_blocks.hpp"

using namespace oplt;
using namespace oplt::test;

namespace {

/// A simple reference implementation of one classifier, which a column of a block must equal bit for bit.
class Classifier {
 public:
  Real score(RowView x) const {
    Real sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto cell = cells_.find(x.features[i]);
      sum += (cell == cells_.end() ? 0 : cell->second.first) * x.values[i];
    }
    return sum;
  }

  void learn(RowView x, Real example_weight, bool target, const LearningParams& params) {
    if (const auto* adagrad = std::get_if<AdaGradParams>(&params)) {
      learn_adagrad(x, example_weight, target, *adagrad);
    } else {
      learn_arow(x, example_weight, target, std::get<ArowParams>(params));
    }
  }

  std::vector<Cell> cells() const {
    std::vector<Cell> result;
    for (const auto& [feature, cell] : cells_) {
      result.push_back({feature, cell.first, cell.second});
    }
    return result;
  }

 private:
  void learn_adagrad(RowView x, Real example_weight, bool target, const AdaGradParams& params) {
    const Real gradient = target ? -sigmoid(-score(x)) : sigmoid(score(x));
    if (std::abs(gradient) < params.gate) {
      return;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real g = gradient * example_weight * x.values[i];
      auto& [weight, accumulator] = cells_[x.features[i]];
      accumulator += g * g;
      weight -= params.learning_rate * g / std::sqrt(params.eps + accumulator);
    }
  }

  void learn_arow(RowView x, Real example_weight, bool target, const ArowParams& params) {
    const Real error = target ? 1 - score(x) : 1 + score(x);
    if (error <= 0) {
      return;
    }
    const Real r = params.r / example_weight;
    Real norm = 0;
    Real known = 0;  // the part of the norm that has become certain
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto cell = cells_.find(x.features[i]);
      norm += x.values[i] * x.values[i];
      known += (cell == cells_.end() ? 0 : cell->second.second) * (x.values[i] * x.values[i]);
    }
    const Real step = error / (r + (norm - known));
    const Real least = params.sparsity * std::sqrt(norm / static_cast<Real>(x.size())) / (r + norm);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::abs(step * x.values[i]) < least && !cells_.contains(x.features[i])) {
        continue;
      }
      auto& [weight, confidence] = cells_[x.features[i]];
      const Real spread = (1 - confidence) * (x.values[i] * x.values[i]);
      weight -= (target ? -step : step) * x.values[i] * (1 - confidence);
      confidence += (1 - confidence) * spread / (r + spread);
    }
  }

  std::map<FeatureId, std::pair<Real, Real>> cells_;
};

Classifier trained_alone(const std::vector<Step>& steps, bool target, const LearningParams& params) {
  Classifier classifier;
  for (const Step& step : steps) {
    classifier.learn(step.example.row(), step.example.weight, target, params);
  }
  return classifier;
}

void check_columns_equal_classifiers(bool auxiliary, Column n_children, const LearningParams& params,
                                     const Kernels& kernels) {
  SiblingBlock block(auxiliary, n_children);
  std::vector<Classifier> alone(n_children);
  Classifier auxiliary_alone;
  BlockScratch scratch;
  scratch.kernels = &kernels;
  for (const Step& step : random_steps(n_children, 120, n_children)) {
    const RowView x = step.example.row();
    const std::span<const Real> scores = block.child_scores(x, scratch);
    CHECK_EQ(scores.size(), n_children);
    for (Column child = 0; child < n_children; ++child) {
      CHECK_EQ(scores[child], alone[child].score(x));
      const bool target = std::find(step.positives.begin(), step.positives.end(), child) != step.positives.end();
      alone[child].learn(x, step.example.weight, target, params);
    }
    auxiliary_alone.learn(x, step.example.weight, true, params);
    learn(block, x, step.example.weight, step.positives, params, scratch);
  }
  for (Column child = 0; child < n_children; ++child) {
    CHECK(same_bits(block.child_cells(child), alone[child].cells()));
  }
  CHECK(same_bits(block.auxiliary_cells(), auxiliary ? auxiliary_alone.cells() : std::vector<Cell>()));
}

}  // namespace

TEST("columns equal single classifiers, bit for bit") {
  for (const LearningParams& params : test::kRules) {
    for (const Column n_columns : {1U, 2U, 3U, 17U, 33U, 64U, 65U, 130U}) {
      for (const Kernels* version : all_kernels()) {
        check_columns_equal_classifiers(false, n_columns, params, *version);
        check_columns_equal_classifiers(true, n_columns - 1, params, *version);
      }
    }
  }
}

TEST("the rules and their settings do make a difference to these examples") {
  const std::vector<Step> steps = random_steps(16, 120, 16);
  for (const LearningParams& one : test::kRules) {
    for (const LearningParams& other : test::kRules) {
      const auto cells = cells_of_children(trained(false, 16, steps, one));
      const auto others = cells_of_children(trained(false, 16, steps, other));
      int n_different = 0;
      for (Column column = 0; column < 16; ++column) {
        n_different += cells[column] == others[column] ? 0 : 1;
      }
      CHECK(&one == &other || n_different > 8);
    }
  }
}

TEST("with the gate, an example that a classifier predicts confidently adds no features to it") {
  const StreamExample bias{.features = {kBiasFeature}, .values = {1}, .labels = {}, .weight = 1};
  const StreamExample with_news{.features = {5, kBiasFeature}, .values = {1, 1}, .labels = {}, .weight = 1};
  std::vector<Step> steps(100, Step{bias, {1}});
  steps.push_back({with_news, {1}});  // as before: both columns are sure
  steps.push_back({with_news, {0}});  // now column 0 is wrong, and column 1 too
  const auto n_features = [&](Real gate, std::size_t n_steps) {
    const std::vector<Step> first(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(n_steps));
    const SiblingBlock block = trained(false, 2, first, test::adagrad(gate));
    return std::pair(block.child_cells(0).size(), block.child_cells(1).size());
  };
  CHECK(n_features(0, 101) == std::pair(2UL, 2UL));
  CHECK(n_features(0.1F, 101) == std::pair(1UL, 1UL));
  CHECK(n_features(0.1F, 102) == std::pair(2UL, 2UL));
}

TEST("an added child is the classifier that saw everything as negative") {
  for (const LearningParams& params : test::kRules) {
    for (const Column n_children : {0U, 1U, 3U, 31U, 62U, 63U, 64U, 127U}) {
      std::vector<Step> steps = random_steps(n_children + 1, 50, n_children);
      SiblingBlock block = trained(true, n_children, steps, params);
      block.add_child();
      CHECK_EQ(block.n_children(), n_children + 1);
      for (const Step& step : random_steps(99, 20, n_children)) {  // they stay equal
        learn(block, step, params);
        steps.push_back(step);
      }
      CHECK(same_bits(block.child_cells(n_children), trained_alone(steps, false, params).cells()));
      CHECK(same_bits(block.auxiliary_cells(), trained_alone(steps, true, params).cells()));
    }
  }
}

TEST("children added during training equal classifiers that saw every example") {
  for (const LearningParams& params : test::kRules) {
    Random random(11);
    SiblingBlock block(true, 0);
    std::vector<Step> steps;
    std::vector<std::vector<bool>> positive;  // by child and step
    for (Column n_children = 0; n_children < 140; ++n_children) {
      for (std::uint32_t more = random.below(3); more > 0; --more) {  // several may be pending, in some rows only
        steps.push_back(random_steps(random.next(), 1, n_children)[0]);
        learn(block, steps.back(), params);
        for (Column child = 0; child < n_children; ++child) {
          const Positions& on = steps.back().positives;
          positive[child].push_back(std::find(on.begin(), on.end(), child) != on.end());
        }
      }
      block.add_child();
      positive.emplace_back(steps.size(), false);
      if (random.below(10) == 0) {
        const auto bytes = saved_bytes(block);
        block = load(bytes);
        CHECK(saved_bytes(block) == bytes);
      }
    }
    const auto check_children = [&] {
      for (Column child = 0; child < block.n_children(); ++child) {
        Classifier alone;
        for (std::size_t t = 0; t < steps.size(); ++t) {
          alone.learn(steps[t].example.row(), steps[t].example.weight, positive[child][t], params);
        }
        CHECK(same_bits(block.child_cells(child), alone.cells()));
      }
    };
    check_children();
    block.drop_auxiliary();
    check_children();
    for (const Step& step : random_steps(12, 10, 140)) {  // pending columns remain after the auxiliary one is dropped
      learn(block, step, params);
      steps.push_back(step);
      for (Column child = 0; child < block.n_children(); ++child) {
        positive[child].push_back(std::find(step.positives.begin(), step.positives.end(), child) !=
                                  step.positives.end());
      }
    }
    check_children();
    CHECK(saved_bytes(load(saved_bytes(block))) == saved_bytes(block));
  }
}

TEST("the size for the memory budget depends on the content alone") {
  for (const LearningParams& params : test::kRules) {
    Random random(17);
    SiblingBlock block(true, 0);
    SiblingBlock reloaded = block;
    const auto check_size = [&] {
      const SiblingBlock scanned = open(saved_bytes(block));
      CHECK(block.is_counted());
      CHECK(!scanned.is_counted());
      CHECK_EQ(block.n_cells(), scanned.n_cells());
      CHECK_EQ(block.n_rows(), scanned.n_rows());
      CHECK_EQ(block.budget_bytes(), scanned.budget_bytes());
      CHECK_EQ(block.budget_bytes(), reloaded.budget_bytes());
    };
    for (int t = 0; t < 200; ++t) {
      if (random.below(3) == 0) {
        block.add_child();
        reloaded.add_child();
      }
      if (t == 150) {
        block.drop_auxiliary();
        reloaded.drop_auxiliary();
        check_size();
        block = SiblingBlock(true, 0);  // and again, with more features that only the auxiliary classifier has
        reloaded = block;
      }
      const Step step = random_steps(random.next(), 1, block.n_children())[0];
      learn(block, step, params);
      learn(reloaded, step, params);
      if (random.below(8) == 0) {
        reloaded = load(saved_bytes(reloaded));
        reloaded.count();
      }
      check_size();
      const SiblingBlock parent = block.parent_block();
      CHECK_EQ(parent.n_cells(), 2 * parent.auxiliary_cells().size());
      CHECK_EQ(parent.n_cells(), open(saved_bytes(parent)).n_cells());
    }
    block.drop_auxiliary();
    reloaded.drop_auxiliary();
    check_size();
  }
}

TEST("a closed rule starts no weights, and goes on with the others") {
  for (const LearningParams& params : test::kRules) {
    SiblingBlock block = trained(true, 20, random_steps(18, 30, 20), params);
    for (int i = 0; i < 5; ++i) {
      block.add_child();  // pending columns go on, too
    }
    const std::size_t n_cells = block.n_cells();
    const auto before = cells_of_children(block);
    for (const Step& step : random_steps(19, 60, 25)) {
      learn(block, step, closed(params));
    }
    const auto after = cells_of_children(block);
    CHECK_EQ(block.n_cells(), n_cells);
    CHECK_EQ(open(saved_bytes(block)).n_cells(), n_cells);
    int n_changed = 0;
    for (Column child = 0; child < 25; ++child) {
      CHECK_EQ(before[child].size(), after[child].size());
      n_changed += before[child] == after[child] ? 0 : 1;
    }
    CHECK(n_changed > 20);
  }
}

TEST("adding a child takes no memory until a row is updated, also after loading") {
  SiblingBlock block = trained(true, 1, random_steps(13, 40, 1), test::adagrad());
  const std::size_t before = block.memory_bytes();
  for (int i = 0; i < 60; ++i) {
    block.add_child();
  }
  CHECK_EQ(block.memory_bytes(), before);
  CHECK(block.n_cells() > 60 * block.n_rows() / 2);
  const SiblingBlock loaded = load(saved_bytes(block));
  CHECK_EQ(loaded.memory_bytes(), 0U);  // it is still in the file
  CHECK(SiblingBlock(loaded).memory_bytes() <= before);
}

TEST("adding a child does not change the other columns") {
  SiblingBlock block = trained(true, 5, random_steps(2, 40, 5), test::adagrad());
  for (Column n_children = 5; n_children < 200; ++n_children) {  // over 64 and 128 columns
    auto expected = cells_of_children(block);
    const std::vector<Cell> auxiliary = block.auxiliary_cells();
    block.add_child();
    expected.push_back(block.child_cells(n_children));
    CHECK(cells_of_children(block) == expected);
    CHECK_EQ(block.auxiliary_cells(), auxiliary);
    CHECK_EQ(expected.back().size(), auxiliary.size());
  }
}

TEST("a parent block has the auxiliary classifier twice") {
  for (const LearningParams& params : test::kRules) {
    const std::vector<Step> steps = random_steps(3, 40, 70);
    const SiblingBlock block = trained(true, 70, steps, params);
    const SiblingBlock parent = block.parent_block();
    CHECK(parent.has_auxiliary());
    CHECK_EQ(parent.n_children(), 1U);
    CHECK(same_bits(parent.auxiliary_cells(), block.auxiliary_cells()));
    CHECK(same_bits(parent.child_cells(0), block.auxiliary_cells()));
    CHECK(same_bits(parent.child_cells(0), trained_alone(steps, true, params).cells()));
  }
}

TEST("dropping the auxiliary classifier keeps the children's cells") {
  for (const LearningParams& params : test::kRules) {
    for (const Column n_children : {1U, 2U, 63U, 64U, 65U, 127U, 128U, 129U}) {
      std::vector<Step> steps = random_steps(4, 40, n_children);
      SiblingBlock block = trained(true, n_children, steps, params);
      const auto expected = cells_of_children(block);
      block.drop_auxiliary();
      CHECK(!block.has_auxiliary());
      CHECK_EQ(block.n_classifiers(), n_children);
      CHECK(cells_of_children(block) == expected);
      steps.push_back(random_steps(5, 1, n_children)[0]);
      learn(block, steps.back(), params);
      CHECK(cells_of_children(block) == cells_of_children(trained(true, n_children, steps, params)));
    }
  }
}

TEST("batch-trained weights are scored, saved and loaded like online-trained ones") {
  SiblingBlock block(false, 70);  // more than one word of columns
  const std::vector<ChildWeight> first{{0, 0.5F}, {3, -2.0F}, {69, 1.5F}};
  const std::vector<ChildWeight> second{{3, 4.0F}};
  block.set_weights(9, first);
  block.set_weights(kBiasFeature, second);
  CHECK_EQ(block.n_cells(), 4U);
  CHECK(same_bits(block.child_cells(3), {{9, -2.0F, 0}, {kBiasFeature, 4.0F, 0}}));
  CHECK(block.child_cells(1).empty());
  const std::vector<FeatureId> features{5, 9, kBiasFeature};
  const std::vector<Real> values{1.0F, 2.0F, 1.0F};
  BlockScratch scratch;
  const auto scores = block.child_scores({features, values}, scratch);
  CHECK_EQ(scores[0], 1.0F);
  CHECK_EQ(scores[1], 0.0F);
  CHECK_EQ(scores[3], 0.0F);
  CHECK_EQ(scores[69], 3.0F);
  CHECK(saved_bytes(load(saved_bytes(block))) == saved_bytes(block));
}

TEST("memory is counted") {
  const SiblingBlock block = trained(true, 10, random_steps(9, 40, 10), test::adagrad());
  CHECK(block.memory_bytes() >= block.n_rows() * 11 * 2 * sizeof(Real));
}

TEST("a shared block is copied before an update, and only if the update changes it") {
  const StreamExample bias{.features = {kBiasFeature}, .values = {1}, .labels = {}, .weight = 1};
  Shared<SiblingBlock> block(SiblingBlock(false, 1));
  BlockScratch scratch;
  for (int i = 0; i < 100; ++i) {
    learn(block, bias.row(), 1, Positions{0}, test::adagrad(0.1F), scratch);
  }
  const Shared<SiblingBlock> held = block;
  const auto before = saved_bytes(*held);
  learn(block, bias.row(), 1, Positions{0}, test::adagrad(0.1F), scratch);  // below the gate: no update
  CHECK(&*block == &*held);
  learn(block, bias.row(), 1, Positions{}, test::adagrad(0.1F), scratch);
  CHECK(&*block != &*held);
  CHECK(saved_bytes(*held) == before);
  CHECK(saved_bytes(*block) != before);
}

TEST("a copy of a block learns as the block does") {
  for (const Column n_children : {1U, 70U}) {
    Shared<SiblingBlock> block(trained(true, n_children, random_steps(6, 40, n_children), test::adagrad()));
    SiblingBlock alone = *block;
    BlockScratch scratch;
    for (const Step& step : random_steps(7, 20, n_children)) {
      const Shared<SiblingBlock> held = block;  // so that each update is applied to a new copy
      learn(block, step.example.row(), step.example.weight, step.positives, test::adagrad(), scratch);
      learn(alone, step, test::adagrad());
    }
    CHECK(saved_bytes(*block) == saved_bytes(alone));
  }
}

TEST("a block for prediction has the scores of the children, without weights below prune") {
  for (const Column n_children : {1U, 3U, 70U}) {
    const SiblingBlock block = trained(true, n_children, random_steps(15, 60, n_children), test::adagrad());
    const SiblingBlock all = block.for_prediction(0);
    const SiblingBlock some = block.for_prediction(0.2F);
    CHECK(!all.has_auxiliary() && !all.rows().has_accumulators());
    CHECK(all.memory_bytes() < block.memory_bytes());
    CHECK(some.n_cells() < all.n_cells());
    BlockScratch scratch;
    BlockScratch other_scratch;
    for (const Step& step : random_steps(16, 20, n_children)) {
      const RowView x = step.example.row();
      CHECK(std::ranges::equal(all.child_scores(x, scratch), block.child_scores(x, other_scratch)));
    }
    for (Column child = 0; child < n_children; ++child) {
      std::vector<Cell> expected = block.child_cells(child);
      for (Cell& cell : expected) {
        cell.accumulator = 0;
      }
      CHECK_EQ(all.child_cells(child), expected);
      std::erase_if(expected, [](const Cell& cell) { return std::abs(cell.weight) < 0.2F; });
      CHECK_EQ(some.child_cells(child), expected);
    }
    CHECK(saved_bytes(load(saved_bytes(some))) == saved_bytes(some));
    CHECK(saved_bytes(load(saved_bytes(block)).for_prediction(0.2F)) == saved_bytes(some));
  }
}

TEST("a block in half precision holds the nearest halves, and scores as they do") {
  for (const Column n_children : {1U, 3U, 70U}) {
    const SiblingBlock block = trained(true, n_children, random_steps(15, 60, n_children), test::adagrad());
    const SiblingBlock halves = block.for_prediction(0, true);
    CHECK(halves.rows().content() == RowContent::kHalfWeights && !halves.has_auxiliary());
    CHECK(n_children == 1 || halves.memory_bytes() < block.for_prediction(0).memory_bytes());
    std::map<FeatureId, std::vector<ChildWeight>> rounded;
    for (Column child = 0; child < n_children; ++child) {
      std::vector<Cell> expected;
      for (const Cell& cell : block.child_cells(child)) {
        expected.push_back({cell.feature, to_real(to_half(cell.weight)), 0});
        rounded[cell.feature].push_back({child, expected.back().weight});
      }
      CHECK_EQ(halves.child_cells(child), expected);
    }
    SiblingBlock floats = SiblingBlock::only_weights(n_children);
    for (const auto& [feature, weights] : rounded) {
      floats.set_weights(feature, weights);
    }
    for (const Kernels* some : all_kernels()) {
      BlockScratch scratch;
      BlockScratch other_scratch;
      scratch.kernels = some;
      for (const Step& step : random_steps(16, 20, n_children)) {
        const RowView x = step.example.row();
        CHECK(std::ranges::equal(halves.child_scores(x, scratch), floats.child_scores(x, other_scratch)));
      }
    }
    const auto file = saved_bytes(halves);
    CHECK(saved_bytes(load(file)) == file);
    CHECK(saved_bytes(SiblingBlock(load(file))) == file);
    CHECK(saved_bytes(load(saved_bytes(block)).for_prediction(0, true)) == file);
    CHECK(saved_bytes(floats.for_prediction(0, true)) == file);
    for (const bool half : {false, true}) {  // once halves, they stay halves
      CHECK(saved_bytes(halves.for_prediction(0, half)) == file);
      CHECK(saved_bytes(load(file).for_prediction(0, half)) == file);
      CHECK(halves.for_prediction(0.2F, half).n_cells() < halves.n_cells());
    }
    CHECK(saved_bytes(block.for_prediction(0.2F).for_prediction(0, true)) ==
          saved_bytes(block.for_prediction(0.2F, true)));
  }
}

TEST("weights beyond the range of halves become the largest half, and those that round to zero are not stored") {
  SiblingBlock block = SiblingBlock::only_weights(5);
  block.set_weights(3, std::vector<ChildWeight>{{0, 1e6F}, {1, -1e6F}, {2, 1e-9F}, {3, -4e-8F}, {4, 0.1F}});
  block.set_weights(4, std::vector<ChildWeight>{{1, 1e-9F}, {2, -1e-9F}});
  const SiblingBlock halves = block.for_prediction(0, true);
  halves.check(kFeatures);
  CHECK_EQ(halves.n_rows(), 1U);
  CHECK_EQ(halves.n_cells(), 4U);
  CHECK_EQ(halves.child_cells(0), (std::vector<Cell>{{3, 65504, 0}}));
  CHECK_EQ(halves.child_cells(1), (std::vector<Cell>{{3, -65504, 0}}));
  CHECK_EQ(halves.child_cells(3), (std::vector<Cell>{{3, -std::ldexp(1.0F, -24), 0}}));
  CHECK_EQ(halves.child_cells(4), (std::vector<Cell>{{3, 0.0999755859375F, 0}}));
}

TEST("AROW stays finite for rows of very different sizes") {
  for (const Real weight : {Real{1e-6F}, Real{1}, Real{1e6F}}) {
    Random random(3);
    SiblingBlock block(true, 3);
    BlockScratch scratch;
    for (int i = 0; i < 400; ++i) {
      StreamExample example = test::random_example(random, 30);
      const Real size = std::pow(Real{10}, static_cast<Real>(random.below(25)) - 12);
      for (Real& value : example.values) {
        value *= size / 8;
      }
      learn(block, example.row(), weight, Positions{random.below(3)}, ArowParams{.r = 1e-3F, .sparsity = 0}, scratch);
    }
    for (const auto& cells : cells_of_children(block)) {
      for (const Cell& cell : cells) {
        CHECK(std::isfinite(cell.weight));
        CHECK(cell.accumulator >= 0);
        CHECK(cell.accumulator <= 1 + std::numeric_limits<Real>::epsilon());  // a sum may be rounded up
      }
    }
  }
}

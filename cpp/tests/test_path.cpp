// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "check.hpp"
#include "forest/forest.hpp"
#include "forest/path.hpp"
#include "helpers.hpp"
#include "learners.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::OnlineTree;
using oplt::test::random_stream;
using oplt::test::StreamExample;

namespace {

Real sum_of(const std::vector<FeatureWeight>& features) {
  Real sum = 0;
  for (const FeatureWeight& each : features) {
    sum += each.weight * each.value;
  }
  return sum;
}

void check_path(const Plt& plt, LabelId label, Real probability, RowView x) {
  NodeScratch scratch;
  const std::vector<PathNode> path = path_to(plt, label, x, scratch);
  CHECK_EQ(path.front().node, LabelTree::kRoot);
  CHECK_EQ(path.front().n_labels, plt.n_labels());
  CHECK_EQ(path.back().label, label);
  CHECK_EQ(path.back().n_labels, 1U);
  CHECK_EQ(path.back().cumulative, probability);
  for (std::size_t i = 0; i < path.size(); ++i) {
    CHECK_EQ(sum_of(path[i].features), path[i].score);
    CHECK_EQ(path[i].cumulative, i == 0 ? path[i].conditional : path[i - 1].cumulative * path[i].conditional);
    CHECK(i == 0 || plt.tree().node(path[i].node).parent == path[i - 1].node);
  }
}

}  // namespace

TEST("a path has the probabilities of the search, and its weights add up to the scores, to the bit") {
  for (const LearningParams& rule : {test::adagrad(), test::arow()}) {
    OnlineTree model(make_params(Policy::kBestGreedy, 3, 5, rule));
    model.learn(random_stream(2, 200));
    SearchScratch scratch;
    for (const Plt& plt : {*model, (*model).for_prediction(0), (*model).for_prediction(0, true)}) {
      for (const StreamExample& example : random_stream(3, 10)) {
        for (const auto& [label, probability] : search(plt, example.row(), {}, scratch)) {
          check_path(plt, label, probability, example.row());
        }
      }
    }
  }
}

TEST("a label without a leaf has no path") {
  OnlineTree model(make_params());
  NodeScratch scratch;
  CHECK(path_to(*model, 0, {}, scratch).empty());
  model.learn(random_stream(2, 20));
  CHECK(path_to(*model, 1'000'000, {}, scratch).empty());
  const std::vector<std::vector<PathNode>> none(2);
  CHECK(!mean_probability(0, none));
}

TEST("the mean of the paths is the probability of the forest if all trees return the label") {
  ModelParams params = make_params(Policy::kBestGreedy, 3, 6);
  params.forest.trees = 3;
  test::OnlineForest forest(params);
  forest.learn(random_stream(4, 150));
  SearchScratch scratch;
  bool any_missing = false;
  for (const StreamExample& example : random_stream(5, 20)) {
    const SearchParams few{.top_k = 0, .threshold = 0.01F};
    for (const auto& [label, probability] : forest->search(example.row(), few, scratch)) {
      std::vector<std::vector<PathNode>> paths;
      for (const Plt& tree : forest->trees) {
        paths.push_back(path_to(tree, label, example.row(), scratch.nodes));
      }
      const std::vector<bool> returning = forest->returning(label, example.row(), few, scratch);
      const bool all = std::ranges::count(returning, true) == 3;
      any_missing = any_missing || !all;
      CHECK(!all || mean_probability(label, paths) == probability);
      for (std::size_t i = 0; i < returning.size(); ++i) {
        if (!returning[i]) {
          paths[i].clear();
        }
      }
      CHECK_EQ(*mean_probability(label, paths), probability);
    }
    CHECK_EQ(forest->returning(1'000'000, example.row(), few, scratch), std::vector<bool>(3));
  }
  CHECK(any_missing);
}

TEST("the squared hinge has no slope") {
  CHECK_EQ(*slope_of(Link::kSigmoid), Real{1});
  CHECK_EQ(*slope_of(Link::kSteepSigmoid), Real{3});
  CHECK(!slope_of(Link::kSquaredHinge));
}

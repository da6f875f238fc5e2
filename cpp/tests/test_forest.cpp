// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"
#include "base/helper_pool.hpp"
#include "check.hpp"
#include "forest/forest.hpp"
#include "forest/forest_learner.hpp"
#include "helpers.hpp"
#include "learners.hpp"
#include "tree/label_clustering.hpp"
#include "tree/label_vectors.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::of_tree;
using oplt::test::OnlineForest;
using oplt::test::OnlineTree;
using oplt::test::saved_bytes;

namespace {

using Stream = std::vector<test::StreamExample>;

constexpr std::uint32_t kFeatures = 1000;  // more than the streams have
constexpr std::size_t kEverything = std::numeric_limits<std::size_t>::max();

ModelParams three_trees(Policy policy = Policy::kBestGreedy) {
  ModelParams params = make_params(policy, 4, 6, test::arow(0.5F));
  params.forest.trees = 3;
  return params;
}

OnlineForest taught(const ModelParams& params, const Stream& stream, std::size_t threads = 1) {
  OnlineForest forest(params);
  forest.learn(stream, threads);
  return forest;
}

OnlineTree taught_alone(const ModelParams& params, const Stream& stream, LabelTree start = LabelTree()) {
  OnlineTree tree(params, std::move(start));
  tree.learn(stream);
  return tree;
}

/// A tree over the labels of the first examples.
LabelTree clustered_start(const ModelParams& params, std::span<const test::StreamExample> sample) {
  LabelSums sums(sample.size());
  for (const test::StreamExample& example : sample) {
    sums.add(std::span(example.features).first(example.features.size() - 1),  // without the bias
             std::span(example.values).first(example.features.size() - 1), example.labels);
  }
  LabelVectors vectors;
  sums.advance(vectors, kEverything);
  const TreeParams& tree = params.forest.tree;
  LabelClustering clustering(vectors, {tree.arity, tree.max_leaves}, tree.seed);
  HelperPool alone(0);
  clustering.advance(kEverything, alone);
  const TreeNodes nodes = clustering.take();
  return {nodes.parents, nodes.labels};
}

/// Regrown from the first 40 examples, after 50; from 80, after 100; from 160, after 200; and so on.
ModelParams regrowing(ModelParams params) {
  params.forest.history = 1'000'000;
  params.forest.first_regrowth = 40;
  return params;
}

/// The file of a forest with only this tree.
std::vector<std::byte> saved_as_forest(const Plt& tree) {
  Forest forest;
  forest.trees.push_back(tree);
  return saved_bytes(forest);
}

std::map<LabelId, Real> as_map(const std::vector<ScoredLabel>& labels) {
  std::map<LabelId, Real> result;
  for (const ScoredLabel& scored : labels) {
    CHECK(result.emplace(scored.label, scored.probability).second);
  }
  return result;
}

/// The exact mean over all trees, for all labels.
std::map<LabelId, Real> true_means(const Forest& forest, RowView x) {
  std::map<LabelId, std::vector<Real>> all;
  SearchScratch scratch;
  for (const Plt& tree : forest.trees) {
    for (const ScoredLabel& scored : search(tree, x, {}, scratch)) {
      all[scored.label].push_back(scored.probability);
    }
  }
  std::map<LabelId, Real> means;
  for (auto& [label, probabilities] : all) {
    CHECK_EQ(probabilities.size(), forest.trees.size());
    std::sort(probabilities.begin(), probabilities.end());
    double sum = 0.0;
    for (const Real probability : probabilities) {
      sum += static_cast<double>(probability);
    }
    means[label] = static_cast<Real>(sum / static_cast<double>(probabilities.size()));
  }
  return means;
}

OnlineForest reloaded(const ModelParams& params, const OnlineForest& forest) {
  return {params, saved_bytes(*forest), kFeatures, forest.history()};
}

}  // namespace

TEST("a forest of one tree is that tree") {
  const Stream stream = test::random_stream(1, 200);
  for (const Policy policy : test::kGrowingPolicies) {
    const OnlineForest forest = taught(make_params(policy), stream);
    const OnlineTree alone = taught_alone(make_params(policy), stream);
    CHECK(saved_bytes(*forest) == saved_as_forest(*alone));
    CHECK_EQ(forest->n_updates(), alone->n_updates());
    SearchScratch scratch;
    for (const SearchParams& params : {SearchParams{.top_k = 3}, SearchParams{.threshold = 0.1F}}) {
      CHECK(forest->search(stream[7].row(), params, scratch) == search(*alone, stream[7].row(), params, scratch));
    }
  }
}

TEST("each tree of a forest is the same as if trained alone, and the trees differ") {
  const Stream stream = test::random_stream(2, 300);
  for (const Policy policy : {Policy::kBestGreedy, Policy::kRandom}) {
    const ModelParams params = three_trees(policy);
    const OnlineForest forest = taught(params, stream);
    CHECK_EQ(forest->trees.size(), 3U);
    std::vector<std::vector<std::byte>> trees;
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(saved_bytes(forest->trees[i]) == saved_bytes(*taught_alone(of_tree(params, i), stream)));
      trees.push_back(saved_bytes(forest->trees[i].tree()));
    }
    CHECK(trees[0] != trees[1] && trees[0] != trees[2] && trees[1] != trees[2]);
  }
}

TEST("a forest does not depend on the threads, on how the stream is split, nor on being saved") {
  const Stream stream = test::random_stream(3, 300);
  const OnlineForest expected = taught(three_trees(), stream);
  for (const std::size_t threads : {2U, 3U, 8U}) {
    CHECK(saved_bytes(*taught(three_trees(), stream, threads)) == saved_bytes(*expected));
  }
  OnlineForest in_parts(three_trees());
  for (std::size_t begin = 0; begin < stream.size(); begin += 50) {
    in_parts.learn(std::span(stream).subspan(begin, 50), 2);
    in_parts = reloaded(three_trees(), in_parts);
  }
  CHECK(saved_bytes(*in_parts) == saved_bytes(*expected));
}

TEST("counts are sums over all trees") {
  const Stream stream = test::random_stream(4, 200);
  const OnlineForest learnt = taught(three_trees(), stream);
  const Forest& forest = *learnt;
  std::size_t n_cells = 0;
  std::uint32_t depth = 0;
  for (const Plt& tree : forest.trees) {
    n_cells += tree.n_cells();
    depth = std::max(depth, tree.depth());
    CHECK_EQ(tree.n_labels(), forest.first().n_labels());
  }
  CHECK_EQ(forest.n_cells(), n_cells);
  CHECK_EQ(forest.depth(), depth);
  CHECK_EQ(forest.n_examples(), 200U);
}

TEST("the probability of a label is at most its mean over the trees") {
  const Stream stream = test::random_stream(5, 400);
  const OnlineForest learnt = taught(three_trees(), stream);
  const Forest& forest = *learnt;
  SearchScratch scratch;
  for (std::size_t i = 0; i < 20; ++i) {
    const RowView x = stream[i].row();
    const auto means = true_means(forest, x);
    CHECK(as_map(forest.search(x, {}, scratch)) == means);
    const auto five = forest.search(x, {.top_k = 5}, scratch);
    CHECK_EQ(five.size(), 5U);
    for (std::size_t j = 0; j < five.size(); ++j) {
      CHECK(five[j].probability <= means.at(five[j].label));
      CHECK(j == 0 || five[j].probability <= five[j - 1].probability);
    }
    const auto three = forest.search(x, {.top_k = 3}, scratch);  // each tree returns as many labels in both cases
    CHECK(std::equal(three.begin(), three.end(), five.begin()));
  }
}

TEST("with a threshold, no label is returned whose mean is below, and none is missing that is well above") {
  const Stream stream = test::random_stream(6, 400);
  const OnlineForest learnt = taught(three_trees(), stream);
  const Forest& forest = *learnt;
  SearchScratch scratch;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto means = true_means(forest, stream[i].row());
    for (const Real threshold : {0.02F, 0.2F}) {
      const auto found = as_map(forest.search(stream[i].row(), {.threshold = threshold}, scratch));
      for (const auto& [label, mean] : means) {
        CHECK(mean >= threshold || !found.contains(label));
        CHECK(mean < threshold * (1 + 2.0F / 9) || found.contains(label));  // two trees count as 0, each below t/3
      }
    }
  }
}

TEST("trees with different numbers of examples or labels are rejected") {
  const Stream stream = test::random_stream(7, 20);
  ModelParams params = three_trees();
  params.forest.trees = 2;
  Forest forest;
  forest.trees.push_back(*taught_alone(of_tree(params, 0), stream));
  forest.trees.push_back(*OnlineTree(of_tree(params, 1)));
  CHECK_THROWS_WITH(FormatError, "tree 1 has learnt 0 examples with 0 labels, but the first tree has learnt 20",
                    OnlineForest(params, saved_bytes(forest), kFeatures));
  Stream fewer_labels = stream;
  fewer_labels.back().labels.clear();
  fewer_labels[18].labels.clear();
  for (test::StreamExample& example : fewer_labels) {
    std::erase_if(example.labels, [](LabelId label) { return label > 2; });
  }
  forest.trees[1] = *taught_alone(of_tree(params, 1), fewer_labels);
  CHECK_THROWS_WITH(FormatError, "tree 1 has learnt 20 examples with 3 labels",
                    OnlineForest(params, saved_bytes(forest), kFeatures));
  forest.trees.pop_back();
  CHECK_THROWS_WITH(FormatError, "no array 'trees/1", OnlineForest(params, saved_bytes(forest), kFeatures));
}

TEST("a forest with the wrong number of trees, or with a given tree among several, is rejected") {
  const Stream stream = test::random_stream(7, 20);
  ModelParams params = three_trees();
  const OnlineForest forest = taught(params, stream);
  CHECK_THROWS_WITH(FormatError, "3 trees, but according to the settings there are 1",
                    ForestLearner(of_tree(params, 0).forest).expect_learnable(*forest));
  CHECK_THROWS_WITH(InvalidParameter, "trees=1", ForestLearner(params.forest).start(LabelTree()));
  params = make_params();
  params.forest.history = 5;
  CHECK_THROWS_WITH(InvalidParameter, "history=0", ForestLearner(params.forest).start(LabelTree()));
}

TEST("regrown trees equal those that start from clustered labels and learn the same stream") {
  const Stream stream = test::random_stream(8, 500);
  for (const std::size_t n : {50U, 51U, 99U, 100U, 199U, 200U, 399U, 400U, 500U}) {
    const ModelParams params = regrowing(three_trees());
    const Stream begin(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(n));
    const OnlineForest forest = taught(params, begin, 2);
    const std::size_t regrown_at = n < 100 ? 40 : n < 200 ? 80 : n < 400 ? 160 : 320;
    CHECK_EQ(forest->regrown_at, regrown_at);
    for (std::uint32_t i = 0; i < params.forest.trees; ++i) {
      const ModelParams own = of_tree(params, i);
      const LabelTree start = clustered_start(own, std::span(stream).first(regrown_at));
      CHECK(saved_bytes(forest->trees[i]) == saved_bytes(*taught_alone(own, begin, start)));
    }
    CHECK_EQ(forest->n_examples(), n);
  }
}

TEST("until the first regrown trees take over, the trees only grow") {
  const Stream stream = test::random_stream(9, 50);
  const OnlineForest grown = taught(three_trees(), stream);
  OnlineForest regrown = taught(regrowing(three_trees()), {stream.begin(), stream.end() - 1});
  CHECK(saved_bytes(*regrown) == saved_bytes(*taught(three_trees(), {stream.begin(), stream.end() - 1})));
  CHECK_EQ(regrown->regrown_at, 0U);
  regrown.learn(stream.back());
  CHECK_EQ(regrown->regrown_at, 40U);
  CHECK(saved_bytes(*regrown) != saved_bytes(*grown));
}

TEST("regrown trees do not depend on the threads, on how the stream is split, nor on being saved meanwhile") {
  const Stream stream = test::random_stream(11, 410);
  const ModelParams params = regrowing(three_trees());
  const OnlineForest expected = taught(params, stream);
  for (const std::size_t step : {1U, 7U, 45U, 130U}) {
    for (const bool reloads : {false, true}) {
      OnlineForest in_parts(params);
      for (std::size_t begin = 0; begin < stream.size(); begin += step) {
        in_parts.learn(std::span(stream).subspan(begin, std::min(step, stream.size() - begin)), 1 + begin % 3);
        if (reloads) {
          in_parts = reloaded(params, in_parts);
        }
      }
      CHECK(saved_bytes(*in_parts) == saved_bytes(*expected));
    }
  }
}

TEST("trees can be regrown at any time, and then again when the stream has doubled") {
  const Stream stream = test::random_stream(15, 300);
  ModelParams params = regrowing(three_trees());
  for (const std::size_t n : {0U, 1U, 45U, 60U, 110U}) {  // 45 and 110: others are just being regrown
    OnlineForest forest = taught(params, {stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(n)});
    forest.regrow(2);
    CHECK_EQ(forest->regrown_at, n);
    const std::size_t next = n < 20 ? 40 : 2 * n;
    const std::size_t most = next + next / 4 - 1;
    forest.learn(std::span(stream).subspan(n, most - n));
    const Stream learnt(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(most));
    for (std::uint32_t i = 0; i < params.forest.trees; ++i) {
      const ModelParams own = of_tree(params, i);
      CHECK(saved_bytes(forest->trees[i]) ==
            saved_bytes(*taught_alone(own, learnt, clustered_start(own, std::span(stream).first(n)))));
    }
    CHECK_EQ(forest->regrown_at, n);
    forest.learn(stream[most]);
    CHECK_EQ(forest->regrown_at, next);
  }
}

TEST("a regrowth on request can be interrupted, and examples that arrive meanwhile are learnt") {
  const Stream stream = test::random_stream(16, 120);
  const ModelParams params = make_params();
  OnlineForest forest = taught(params, {stream.begin(), stream.begin() + 100});
  const auto before = saved_bytes(*forest);
  for (int n = 1; n < 100; n *= 3) {
    int n_left = n;
    const auto stop = [&] {
      if (--n_left == 0) {
        throw std::runtime_error("enough");
      }
    };
    CHECK_THROWS_WITH(std::runtime_error, "enough", forest.regrow(1, stop));
    CHECK(saved_bytes(*forest) == before);
  }
  std::size_t n_learnt = 100;
  forest.regrow(1, [&] {
    if (n_learnt < stream.size()) {
      forest.learn(stream[n_learnt++]);
    }
  });
  CHECK_EQ(n_learnt, stream.size());
  CHECK_EQ(forest->regrown_at, 100U);
  const LabelTree start = clustered_start(params, std::span(stream).first(100));
  CHECK(saved_bytes(forest->trees[0]) == saved_bytes(*taught_alone(params, stream, start)));
}

TEST("a regrowth on request that takes longer than the stream to double is dropped, and the next one is not missed") {
  const Stream stream = test::random_stream(18, 500);
  const ModelParams params = regrowing(make_params());
  for (const std::size_t n_meanwhile : {60U, 150U}) {
    OnlineForest forest = taught(params, {stream.begin(), stream.begin() + 45});
    bool has_learnt = false;
    forest.regrow(1, [&] {
      if (!has_learnt) {
        has_learnt = true;
        forest.learn(std::span(stream).subspan(45, n_meanwhile));
      }
    });
    CHECK(has_learnt);
    CHECK_EQ(forest->regrown_at, 80U);
    forest.learn(std::span(stream).subspan(45 + n_meanwhile));
    CHECK(saved_bytes(*forest) == saved_bytes(*taught(params, stream)));
  }
}

TEST("examples without labels leave a tree that can grow") {
  Stream stream = test::random_stream(12, 90);
  for (std::size_t i = 0; i < 40; ++i) {
    stream[i].labels.clear();
  }
  const OnlineForest forest = taught(regrowing(make_params()), stream);
  CHECK_EQ(forest->regrown_at, 40U);
  CHECK(saved_bytes(forest->trees[0]) == saved_bytes(*taught_alone(make_params(), stream)));
}

TEST("only best-greedy trees are regrown beside the stream, and only within the limit of the history") {
  const Stream stream = test::random_stream(13, 120);
  for (const Policy policy : test::kGrowingPolicies) {
    const OnlineForest forest = taught(regrowing(make_params(policy)), stream);
    CHECK_EQ(forest->regrown_at, policy == Policy::kBestGreedy ? 80U : 0U);
  }
  ModelParams params = regrowing(make_params());
  for (const std::uint64_t history : {0U, 49U, 50U, 99U, 100U}) {
    params.forest.history = history;
    CHECK_EQ(taught(params, stream)->regrown_at, history < 50 ? 0U : history < 100 ? 40U : 80U);
  }
}

TEST("copies of a forest do not change, even when regrown trees take over") {
  const Stream stream = test::random_stream(14, 120);
  const ModelParams params = regrowing(three_trees());
  OnlineForest forest(params);
  std::vector<Forest> copies;
  for (std::size_t begin = 0; begin < stream.size(); begin += 10) {
    copies.push_back(*forest);
    forest.learn(std::span(stream).subspan(begin, 10), 2);
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    CHECK(saved_bytes(copies[i]) ==
          saved_bytes(*taught(params, {stream.begin(), stream.begin() + 10 * static_cast<std::ptrdiff_t>(i)})));
  }
  CHECK(saved_bytes(*forest) == saved_bytes(*taught(params, stream)));
}

TEST("a forest that was regrown from more examples than it has learnt is rejected") {
  Forest forest = *taught(make_params(), test::random_stream(17, 20));
  OnlineForest(make_params(), saved_bytes(forest), kFeatures);
  forest.regrown_at = 21;
  CHECK_THROWS_WITH(FormatError, "more examples than", OnlineForest(make_params(), saved_bytes(forest), kFeatures));
}

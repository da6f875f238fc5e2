// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "forest/forest.hpp"
#include "helpers.hpp"
#include "tree/label_clustering.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;

namespace {

using Stream = std::vector<test::StreamExample>;

constexpr std::uint32_t kFeatures = 1000;  // more than the streams have

TrainParams three_trees(Policy policy = Policy::kBestGreedy) {
  TrainParams params = make_params(policy, 4, 6, 0.1F);
  params.trees = 3;
  return params;
}

Example view(const test::StreamExample& example) { return {example.row(), example.labels, example.weight}; }

void teach(Forest& forest, const Stream& stream, std::size_t begin, std::size_t end, std::size_t threads) {
  forest.learn(end - begin, [&](std::size_t i) { return view(stream[begin + i]); }, threads);
}

void teach(Forest& forest, const Stream& stream, std::size_t threads = 1) {
  teach(forest, stream, 0, stream.size(), threads);
}

OnlinePlt taught(OnlinePlt tree, const Stream& stream) {
  tree.learn(stream.size(), [&](std::size_t i) { return view(stream[i]); }, 1);
  return tree;
}

OnlinePlt taught_alone(const TrainParams& params, const Stream& stream) { return taught(OnlinePlt(params), stream); }

/// A tree over the labels of the first examples.
OnlinePlt clustered_start(const TrainParams& params, const Stream& stream) {
  std::vector<Example> sample;
  std::uint32_t n_labels = 0;
  for (std::size_t i = 0; i < params.warm_up; ++i) {
    sample.push_back(view(stream[i]));
    n_labels = stream[i].labels.empty() ? n_labels : std::max(n_labels, stream[i].labels.back() + 1);
  }
  const TreeNodes nodes = cluster_labels(sample, n_labels, params, 1);
  return {params, LabelTree(nodes.parents, nodes.labels)};
}

/// What the trees learn from a stream.
Stream replayed(const Stream& stream, const TrainParams& params) {
  Reservoir reservoir(params.seed);
  Stream interleaved;
  for (const test::StreamExample& example : stream) {
    interleaved.push_back(example);
    reservoir.add(view(example));
    for (std::uint32_t i = 0; i < params.replay; ++i) {
      const Example past = reservoir.draw();
      interleaved.push_back({{past.x.features.begin(), past.x.features.end()},
                             {past.x.values.begin(), past.x.values.end()},
                             {past.labels.begin(), past.labels.end()},
                             past.weight});
    }
  }
  return interleaved;
}

std::map<LabelId, Real> as_map(const std::vector<ScoredLabel>& labels) {
  std::map<LabelId, Real> result;
  for (const ScoredLabel& scored : labels) {
    CHECK(result.emplace(scored.label, scored.probability).second);
  }
  return result;
}

/// What all trees say of all labels.
std::map<LabelId, Real> true_means(const Forest& forest, RowView x) {
  std::map<LabelId, std::vector<Real>> all;
  SearchScratch scratch;
  for (const OnlinePlt& tree : forest.trees()) {
    for (const ScoredLabel& scored : search(tree, x, {}, scratch)) {
      all[scored.label].push_back(scored.probability);
    }
  }
  std::map<LabelId, Real> means;
  for (auto& [label, probabilities] : all) {
    CHECK_EQ(probabilities.size(), forest.trees().size());
    std::sort(probabilities.begin(), probabilities.end());
    double sum = 0.0;
    for (const Real probability : probabilities) {
      sum += static_cast<double>(probability);
    }
    means[label] = static_cast<Real>(sum / static_cast<double>(probabilities.size()));
  }
  return means;
}

Forest loaded(const TrainParams& params, const Forest& saved) {
  const auto bytes = saved_bytes(saved);
  Reader in(bytes);
  Forest forest = Forest::load(params, kFeatures, in);
  in.expect_end();
  return forest;
}

}  // namespace

TEST("a forest of one tree is that tree") {
  const Stream stream = test::random_stream(1, 200);
  for (const Policy policy : test::kGrowingPolicies) {
    Forest forest(make_params(policy));
    teach(forest, stream);
    const OnlinePlt alone = taught_alone(make_params(policy), stream);
    CHECK(saved_bytes(forest) == saved_bytes(alone));
    CHECK_EQ(forest.n_updates(), alone.n_updates());
    SearchScratch scratch;
    for (const PredictParams& params : {PredictParams{.top_k = 3}, PredictParams{.threshold = 0.1F}}) {
      CHECK(forest.search(stream[7].row(), params, scratch) == search(alone, stream[7].row(), params, scratch));
    }
  }
}

TEST("each tree of a forest is the one that it would be alone, and they differ") {
  const Stream stream = test::random_stream(2, 300);
  for (const Policy policy : {Policy::kBestGreedy, Policy::kBestGreedyPrinted, Policy::kRandom}) {
    const TrainParams params = three_trees(policy);
    Forest forest(params);
    teach(forest, stream);
    CHECK_EQ(forest.trees().size(), 3U);
    std::vector<std::vector<std::byte>> trees;
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(saved_bytes(forest.trees()[i]) == saved_bytes(taught_alone(params.of_tree(i), stream)));
      trees.push_back(saved_bytes(forest.trees()[i].tree()));
    }
    CHECK(trees[0] != trees[1] && trees[0] != trees[2] && trees[1] != trees[2]);
  }
}

TEST("a forest does not depend on the threads, on how the stream is cut, nor on being saved") {
  const Stream stream = test::random_stream(3, 300);
  Forest expected(three_trees());
  teach(expected, stream);
  for (const std::size_t threads : {2U, 3U, 8U}) {
    Forest forest(three_trees());
    teach(forest, stream, threads);
    CHECK(saved_bytes(forest) == saved_bytes(expected));
  }
  Forest in_parts(three_trees());
  for (std::size_t begin = 0; begin < stream.size(); begin += 50) {
    teach(in_parts, stream, begin, begin + 50, 2);
    in_parts = loaded(three_trees(), in_parts);
  }
  CHECK(saved_bytes(in_parts) == saved_bytes(expected));
}

TEST("counts are those of all trees") {
  const Stream stream = test::random_stream(4, 200);
  Forest forest(three_trees());
  teach(forest, stream);
  std::size_t n_cells = 0;
  std::uint32_t depth = 0;
  for (const OnlinePlt& tree : forest.trees()) {
    n_cells += tree.n_cells();
    depth = std::max(depth, tree.depth());
    CHECK_EQ(tree.n_labels(), forest.n_labels());
  }
  CHECK_EQ(forest.n_cells(), n_cells);
  CHECK_EQ(forest.depth(), depth);
  CHECK_EQ(forest.n_examples(), 200U);
}

TEST("the probability of a label is its mean over the trees, never more") {
  const Stream stream = test::random_stream(5, 400);
  Forest forest(three_trees());
  teach(forest, stream);
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
    const auto three = forest.search(x, {.top_k = 3}, scratch);  // trees name as many labels in either case
    CHECK(std::equal(three.begin(), three.end(), five.begin()));
  }
}

TEST("with a threshold, no label is returned whose mean is below, and none is missing that is well above") {
  const Stream stream = test::random_stream(6, 400);
  Forest forest(three_trees());
  teach(forest, stream);
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

TEST("trees that have not learnt the same number of examples are refused") {
  const Stream stream = test::random_stream(7, 20);
  TrainParams params = three_trees();
  const auto first = saved_bytes(taught_alone(params.of_tree(0), stream));
  const auto second = saved_bytes(OnlinePlt(params.of_tree(1)));
  std::vector<std::byte> bytes = first;
  bytes.insert(bytes.end(), second.begin(), second.end());
  params.trees = 2;
  Reader in(bytes);
  CHECK_THROWS_WITH(FormatError, "tree 1 has learnt 0 examples, the first one 20", Forest::load(params, kFeatures, in));
}

TEST("after a warm-up, trees are those of a start from clustered labels that has learnt the same stream") {
  const Stream stream = test::random_stream(8, 300);
  for (const bool normalize : {true, false}) {  // of the random rows, which are not of norm 1
    TrainParams params = three_trees();
    params.normalize = normalize;
    params.warm_up = 120;
    Forest forest(params);
    teach(forest, stream, 2);
    for (std::uint32_t i = 0; i < params.trees; ++i) {
      const OnlinePlt expected = taught(clustered_start(params.of_tree(i), stream), stream);
      CHECK(saved_bytes(forest.trees()[i]) == saved_bytes(expected));
    }
    CHECK_EQ(forest.n_examples(), stream.size());
  }
}

TEST("until its end, a warm-up changes nothing but that examples are kept") {
  const Stream stream = test::random_stream(9, 100);
  TrainParams params = three_trees();
  Forest cold(params);
  teach(cold, stream);
  params.warm_up = 101;
  Forest warming(params);
  teach(warming, stream);
  for (std::uint32_t i = 0; i < params.trees; ++i) {
    CHECK(saved_bytes(warming.trees()[i]) == saved_bytes(cold.trees()[i]));
  }
  CHECK(warming.memory_bytes() > cold.memory_bytes());
  const std::size_t kept = warming.memory_bytes();
  teach(warming, test::random_stream(10, 1));
  CHECK(warming.memory_bytes() < kept);
}

TEST("a warm-up does not depend on the threads, on how the stream is cut, nor on being saved in its midst") {
  const Stream stream = test::random_stream(11, 200);
  TrainParams params = three_trees();
  params.warm_up = 75;
  Forest expected(params);
  teach(expected, stream);
  for (const std::size_t step : {1U, 25U, 40U}) {
    Forest in_parts(params);
    for (std::size_t begin = 0; begin < stream.size(); begin += step) {
      teach(in_parts, stream, begin, begin + step, 1 + begin % 3);
      in_parts = loaded(params, in_parts);
    }
    CHECK(saved_bytes(in_parts) == saved_bytes(expected));
  }
}

TEST("a warm-up over examples without labels leaves a tree that can grow") {
  Stream stream = test::random_stream(12, 60);
  TrainParams params = make_params();
  params.warm_up = 10;
  for (std::size_t i = 0; i < params.warm_up; ++i) {
    stream[i].labels.clear();
  }
  Forest forest(params);
  teach(forest, stream);
  CHECK(saved_bytes(forest) == saved_bytes(taught_alone(make_params(), stream)));
}

TEST("with replay, each tree is the one that would have learnt the interleaved stream alone") {
  const Stream stream = test::random_stream(13, 300);
  TrainParams params = three_trees();
  params.replay = 2;
  Forest forest(params);
  teach(forest, stream, 3);
  const Stream interleaved = replayed(stream, params);
  CHECK_EQ(interleaved.size(), 3 * stream.size());
  for (std::uint32_t i = 0; i < params.trees; ++i) {
    CHECK(saved_bytes(forest.trees()[i]) == saved_bytes(taught_alone(params.of_tree(i), interleaved)));
  }
  CHECK_EQ(forest.n_examples(), stream.size());
}

TEST("replay after a warm-up starts again from the first example") {
  const Stream stream = test::random_stream(14, 200);
  TrainParams params = make_params();
  params.replay = 1;
  params.warm_up = 70;
  Forest forest(params);
  teach(forest, stream);
  const OnlinePlt expected = taught(clustered_start(params, stream), replayed(stream, params));
  CHECK(saved_bytes(forest.first()) == saved_bytes(expected));
}

TEST("all together do not depend on the threads, on how the stream is cut, nor on being saved") {
  const Stream stream = test::random_stream(15, 200);
  TrainParams params = three_trees();
  params.warm_up = 75;
  params.replay = 1;
  Forest expected(params);
  teach(expected, stream);
  for (const std::size_t step : {1U, 25U, 40U, 200U}) {
    Forest in_parts(params);
    for (std::size_t begin = 0; begin < stream.size(); begin += step) {
      teach(in_parts, stream, begin, begin + step, 1 + (begin + step) % 4);
      in_parts = loaded(params, in_parts);
    }
    CHECK(saved_bytes(in_parts) == saved_bytes(expected));
  }
}

TEST("examples that leave the sample are there until they have been learnt again") {
  const Stream stream = test::random_stream(16, 40);
  const auto example = [&](std::size_t i) { return view(stream[i % stream.size()]); };
  TrainParams params = make_params();
  params.replay = 1;
  Forest at_once(params);
  at_once.learn(Reservoir::kCapacity, example, 1);
  Forest in_parts = loaded(params, at_once);
  constexpr std::size_t kMore = 4000;  // most of them take the place of another one
  at_once.learn(kMore, example, 2);
  for (std::size_t i = 0; i < kMore; i += 16) {
    in_parts.learn(16, [&](std::size_t j) { return example(i + j); }, 1);
  }
  CHECK(saved_bytes(at_once) == saved_bytes(in_parts));
}

TEST("a sample that does not fit the trees is refused") {
  TrainParams params = make_params();
  params.replay = 1;
  Forest forest(params);
  teach(forest, test::random_stream(17, 20));
  const auto trees = saved_bytes(forest.first());
  Reservoir other(params.seed);
  const auto sample = saved_bytes(other);
  std::vector<std::byte> bytes = trees;
  bytes.insert(bytes.end(), sample.begin(), sample.end());
  Reader in(bytes);
  CHECK_THROWS_WITH(FormatError, "learnt 40 times, the sample is of 0", Forest::load(params, kFeatures, in));
}

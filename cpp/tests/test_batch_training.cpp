// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/math.hpp"
#include "batch/batch_training.hpp"
#include "check.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::StreamExample;

namespace {

BatchParams make_params(Loss loss, Real prune = 0) {
  return {.loss = loss, .cost = 1, .tolerance = 1e-6, .max_iterations = 10000, .prune = prune, .seed = 3};
}

constexpr Loss kBoth[] = {Loss::kLogistic, Loss::kSquaredHinge};

/// Examples with 0 to 3 labels below n_labels.
std::vector<StreamExample> random_examples(std::uint64_t seed, std::size_t n, std::uint32_t n_labels) {
  Random random(seed);
  std::vector<StreamExample> examples;
  for (std::size_t i = 0; i < n; ++i) {
    StreamExample example = test::random_example(random, 25);
    for (std::uint32_t j = random.below(4); j > 0; --j) {
      example.labels.push_back(random.below(n_labels));
    }
    std::sort(example.labels.begin(), example.labels.end());
    example.labels.erase(std::unique(example.labels.begin(), example.labels.end()), example.labels.end());
    examples.push_back(std::move(example));
  }
  return examples;
}

/// Examples with various weights.
std::vector<Example> views(const std::vector<StreamExample>& examples) {
  std::vector<Example> result;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    result.push_back({examples[i].row(), examples[i].labels, static_cast<Real>(1 + i % 3) / 2});
  }
  return result;
}

/// Whether one of the labels is below v.
bool below(const LabelTree& tree, NodeId v, std::span<const LabelId> labels) {
  return std::any_of(labels.begin(), labels.end(), [&](LabelId label) {
    NodeId u = tree.leaf_of(label);
    while (u != v && u != LabelTree::kRoot) {
      u = tree.node(u).parent;
    }
    return u == v;
  });
}

double score(const std::vector<Cell>& classifier, RowView x) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (const Cell& cell : classifier) {
      sum += cell.feature == x.features[k] ? double{cell.weight} * x.values[k] : 0.0;
    }
  }
  return sum;
}

double slope(Loss loss, double margin) {
  return loss == Loss::kLogistic ? -1 / (1 + std::exp(margin)) : -2 * std::max(0.0, 1 - margin);
}

/// The largest component of the gradient of a node's objective, computed from the definition.
double gradient_size(const Plt& model, Loss loss, NodeId v, const std::vector<Example>& examples) {
  const LabelTree& tree = model.tree();
  const std::vector<Cell> classifier = model.classifier(v);
  std::vector<double> gradient(30);
  const auto place = [](FeatureId feature) { return feature == kBiasFeature ? std::size_t{29} : feature; };
  for (const Cell& cell : classifier) {
    gradient[place(cell.feature)] = cell.weight;
  }
  for (const Example& example : examples) {
    if (v != LabelTree::kRoot && !below(tree, tree.node(v).parent, example.labels)) {
      continue;
    }
    const double y = below(tree, v, example.labels) ? 1 : -1;
    const double factor = example.weight * y * slope(loss, y * score(classifier, example.x));
    for (std::size_t k = 0; k < example.x.size(); ++k) {
      gradient[place(example.x.features[k])] += factor * example.x.values[k];
    }
  }
  return std::abs(*std::max_element(gradient.begin(), gradient.end(),
                                    [](double a, double b) { return std::abs(a) < std::abs(b); }));
}

}  // namespace

TEST("each classifier minimises the loss of the examples that reach it") {
  Random random(1);
  const LabelTree tree = test::random_tree(random, 40);
  const std::vector<StreamExample> stream = random_examples(2, 150, tree.n_labels() - 1);  // one label has no example
  const std::vector<Example> examples = views(stream);
  for (const Loss loss : kBoth) {
    const Plt model = train_batch(make_params(loss), tree, examples, 1);
    CHECK_EQ(model.n_examples(), 150U);
    for (NodeId v = 0; v < tree.n_nodes(); ++v) {
      CHECK(gradient_size(model, loss, v, examples) < 1e-4);  // weights are rounded to float, 150 examples add up
      CHECK(!model.auxiliary_classifier(v));
    }
  }
}

TEST("the number of threads changes no bit, and the seed only the last bits") {
  Random random(2);
  const LabelTree tree = test::random_tree(random, 60);
  const std::vector<StreamExample> stream = random_examples(3, 200, tree.n_labels());
  const std::vector<Example> examples = views(stream);
  for (const Loss loss : kBoth) {
    BatchParams params = make_params(loss, 0.1F);
    params.tolerance = 0.1;
    const auto alone = test::saved_bytes(train_batch(params, tree, examples, 1));
    CHECK(alone == test::saved_bytes(train_batch(params, tree, examples, 2)));
    CHECK(alone == test::saved_bytes(train_batch(params, tree, examples, 3)));
    params.seed = 4;
    CHECK(alone != test::saved_bytes(train_batch(params, tree, examples, 1)));
  }
}

TEST("small weights are pruned, and the others do not change") {
  Random random(3);
  const LabelTree tree = test::random_tree(random, 30);
  const std::vector<StreamExample> stream = random_examples(4, 100, tree.n_labels());
  const std::vector<Example> examples = views(stream);
  const Plt all = train_batch(make_params(Loss::kSquaredHinge), tree, examples, 1);
  const Plt some = train_batch(make_params(Loss::kSquaredHinge, 0.2F), tree, examples, 1);
  CHECK(some.n_cells() > 0);
  CHECK(some.n_cells() < all.n_cells());
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    std::vector<Cell> expected = all.classifier(v);
    std::erase_if(expected, [](const Cell& cell) { return std::abs(cell.weight) < 0.2F; });
    CHECK(test::same_bits(some.classifier(v), expected));
  }
}

TEST("if every example has labels, the root's probability is exactly 1") {
  std::vector<StreamExample> stream = random_examples(5, 50, 3);
  std::erase_if(stream, [](const StreamExample& example) { return example.labels.empty(); });
  const std::vector<NodeId> parents{kNone, 0, 0, 0};
  const std::vector<LabelId> labels{kNone, 0, 1, 2};
  NodeScratch scratch;
  for (const Loss loss : kBoth) {
    const Plt model = train_batch(make_params(loss), LabelTree(parents, labels), views(stream), 1);
    for (const StreamExample& example : random_examples(6, 20, 3)) {
      StreamExample plain = example;
      plain.values.back() = 1;  // the constant feature of real rows is 1
      CHECK_EQ(model.root_probability(plain.row(), scratch), Real{1});
    }
  }
}

TEST("a tree of one label, and no example at all") {
  const LabelTree lone(std::vector<NodeId>{kNone}, std::vector<LabelId>{0});
  const std::vector<StreamExample> stream = random_examples(7, 40, 1);
  NodeScratch scratch;
  for (const Loss loss : kBoth) {
    const Plt model = train_batch(make_params(loss), lone, views(stream), 2);
    CHECK(gradient_size(model, loss, LabelTree::kRoot, views(stream)) < 1e-4);
    const Plt empty = train_batch(make_params(loss), lone, {}, 2);
    CHECK_EQ(empty.n_examples(), 0U);
  }
}

TEST("the loss determines how scores become probabilities") {
  const std::vector<StreamExample> stream = random_examples(8, 60, 2);
  const LabelTree tree(std::vector<NodeId>{kNone, 0, 0}, std::vector<LabelId>{kNone, 0, 1});
  NodeScratch scratch;
  for (const Loss loss : kBoth) {
    const Plt model = train_batch(make_params(loss), tree, views(stream), 1);
    for (const StreamExample& example : stream) {
      const Real found = model.child_probabilities(LabelTree::kRoot, example.row(), scratch)[1];
      const double s = score(model.classifier(2), example.row());
      const double gap = std::max(0.0, 1 - s);
      const double expected = loss == Loss::kLogistic ? 1 / (1 + std::exp(-s)) : std::exp(-gap * gap);
      CHECK(std::abs(found - expected) < 1e-5);
    }
  }
}

TEST("a loaded batch-trained tree equals the saved one") {
  Random random(4);
  const LabelTree tree = test::random_tree(random, 30);
  const std::vector<StreamExample> stream = random_examples(9, 80, tree.n_labels());
  const BatchParams params = make_params(Loss::kSquaredHinge, 0.1F);
  const Plt model = train_batch(params, tree, views(stream), 1);
  const auto bytes = test::saved_bytes(model);
  const Plt loaded = Plt::load(test::read_arrays(bytes), "thing", link_of(params.loss));
  loaded.check(25);
  CHECK(test::saved_bytes(loaded) == bytes);
  NodeScratch scratch;
  NodeScratch other_scratch;
  for (const StreamExample& example : stream) {
    CHECK_EQ(loaded.root_probability(example.row(), scratch), model.root_probability(example.row(), other_scratch));
  }
}

TEST("an exception from poll ends the training") {
  Random random(5);
  const LabelTree tree = test::random_tree(random, 30);
  const std::vector<StreamExample> stream = random_examples(10, 50, tree.n_labels());
  const auto stop = [] { throw InvalidInput("stop"); };
  CHECK_THROWS_WITH(InvalidInput, "stop", train_batch(make_params(Loss::kLogistic), tree, views(stream), 1, stop));
}

TEST("the training can be interrupted within a node, also by a thread that has no work left") {
  const std::vector<StreamExample> stream = random_examples(11, 400, 1);
  const std::vector<Example> examples = views(stream);
  BatchParams params = make_params(Loss::kLogistic);
  params.tolerance = 1e-9;
  params.max_iterations = 4'000'000'000;  // hours
  for (const Loss loss : kBoth) {
    params.loss = loss;
    params.cost = 1e6;
    // The root's own classifier, and that of the children of one node.
    const LabelTree lone(std::vector<NodeId>{kNone}, std::vector<LabelId>{0});
    const LabelTree flat(std::vector<NodeId>{kNone, 0, 0}, std::vector<LabelId>{kNone, 0, 1});
    for (const LabelTree& tree : {lone, flat}) {
      for (const std::size_t threads : {1U, 2U}) {
        int polls = 0;
        const auto stop_inside = [&] {
          if (++polls > 3) {  // at most one poll happens before the node
            throw InvalidInput("stop");
          }
        };
        CHECK_THROWS_WITH(InvalidInput, "stop", train_batch(params, tree, examples, threads, stop_inside));
      }
    }
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <optional>
#include <set>

#include "base/error.hpp"
#include "check.hpp"
#include "forest/online_plt.hpp"
#include "helpers.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::random_stream;
using oplt::test::same_bits;
using oplt::test::saved_bytes;
using oplt::test::StreamExample;

namespace {

constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {{2, 2}, {2, 5}, {3, 3}, {4, 9}, {8, 8}};
constexpr Real kGates[] = {0.0F, 0.1F};

/// Steps that IPLT (Algorithm 1) takes for an example: its positive and negative nodes.
std::uint64_t n_iplt_updates(const LabelTree& tree, const std::vector<LabelId>& labels) {
  std::set<NodeId> positive;
  for (const LabelId label : labels) {
    for (NodeId v = tree.leaf_of(label); v != kNone; v = tree.node(v).parent) {
      positive.insert(v);
    }
  }
  std::uint64_t n = 1;  // the root
  for (const NodeId v : positive) {
    n += tree.n_children(v);
  }
  return n;
}

/// Learns the stream; no example may cost more than twice what it costs IPLT.
void learn(OnlinePlt& model, std::span<const StreamExample> stream) {
  for (const StreamExample& example : stream) {
    const std::uint64_t before = model.n_updates();
    model.learn(example.row(), example.labels, example.weight);
    const std::uint64_t updates = model.n_updates() - before;
    const std::uint64_t iplt = n_iplt_updates(model.tree(), example.labels);
    CHECK(updates >= iplt && updates <= 2 * iplt);
  }
}

void check_same_classifiers(const OnlinePlt& a, const OnlinePlt& b) {
  for (NodeId v = 0; v < a.n_nodes(); ++v) {
    CHECK(same_bits(a.classifier(v), b.classifier(v)));
    const auto auxiliary_a = a.auxiliary_classifier(v);
    const auto auxiliary_b = b.auxiliary_classifier(v);
    CHECK_EQ(auxiliary_a.has_value(), auxiliary_b.has_value());
    CHECK(!auxiliary_a || !auxiliary_b || same_bits(*auxiliary_a, *auxiliary_b));
  }
}

/// Proper: as if the final tree had been known from the start.
void check_proper(const TrainParams& params, const LabelTree& start, const std::vector<StreamExample>& stream) {
  OnlinePlt online(params, start);
  learn(online, stream);
  OnlinePlt knowing(params, test::rebuilt(online.tree()));
  learn(knowing, stream);
  CHECK_EQ(knowing.n_nodes(), online.n_nodes());  // it had nothing to add
  check_same_classifiers(online, knowing);
}

OnlinePlt load(const TrainParams& params, std::span<const std::byte> bytes) {
  Reader in(bytes);
  OnlinePlt model = OnlinePlt::load(params, in);
  in.expect_end();
  return model;
}

/// Calls check(params) for all policies, shapes and gates.
template <class Check>
void for_all_settings(Check check) {
  for (const Policy policy : test::kGrowingPolicies) {
    for (const auto& [arity, max_leaves] : kShapes) {
      for (const Real gate : kGates) {
        check(make_params(policy, arity, max_leaves, gate));
      }
    }
  }
}

}  // namespace

TEST("an online model is proper, to the bit") {
  for_all_settings([](const TrainParams& params) {
    for (const std::uint64_t seed : {1U, 2U}) {
      check_proper(params, LabelTree(), random_stream(seed, 250));
    }
  });
}

TEST("it is so for every alpha") {
  for (const double alpha : {0.0, 0.3, 1.0}) {
    for (const Policy policy : {Policy::kBestGreedy, Policy::kBestGreedyPrinted, Policy::kCpet}) {
      TrainParams params = make_params(policy, 3, 6);
      params.alpha = alpha;
      check_proper(params, LabelTree(), random_stream(3, 200));
    }
  }
}

TEST("it is so when it starts from a tree of any shape and extends that") {
  for_all_settings([](const TrainParams& params) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Random random(seed);
      const LabelTree start = test::random_tree(random, 2 + random.below(20));
      check_proper(params, start, random_stream(seed, 60, start.n_labels()));
    }
  });
}

TEST("several new labels in a node with some leaves beside internal nodes: still proper") {
  // Arity 4 leaves room for one of the two new labels under the root; the other must go elsewhere.
  const std::vector<NodeId> parents{kNone, 0, 0, 0, 1, 1};
  const std::vector<LabelId> labels{kNone, kNone, 0, 1, 2, 3};
  std::vector<StreamExample> stream = random_stream(5, 10, 4);
  for (StreamExample& example : stream) {
    example.labels = {0, 3};
  }
  stream.back().labels = {4, 5};
  check_proper(make_params(Policy::kBestGreedy, 4, 10), LabelTree(parents, labels), stream);
}

TEST("a fixed tree gets the classifiers of the online model whose final tree it is, and no auxiliary ones") {
  for_all_settings([](const TrainParams& params) {
    const std::vector<StreamExample> stream = random_stream(13, 150);
    OnlinePlt online(params);
    learn(online, stream);
    TrainParams fixed_params = params;
    fixed_params.policy = Policy::kFixed;
    OnlinePlt fixed(fixed_params, test::rebuilt(online.tree()));
    for (const StreamExample& example : stream) {
      const std::uint64_t before = fixed.n_updates();
      fixed.learn(example.row(), example.labels, example.weight);
      CHECK_EQ(fixed.n_updates() - before, n_iplt_updates(fixed.tree(), example.labels));  // what IPLT does, no more
    }
    CHECK_EQ(fixed.n_nodes(), online.n_nodes());
    for (NodeId v = 0; v < online.n_nodes(); ++v) {
      CHECK(same_bits(fixed.classifier(v), online.classifier(v)));
      CHECK(!fixed.auxiliary_classifier(v));
    }
    const auto bytes = saved_bytes(fixed);
    CHECK(saved_bytes(load(fixed_params, bytes)) == bytes);
  });
}

TEST("the batches and the threads of learning leave no trace") {
  for (const Policy policy : oplt::test::kGrowingPolicies) {
    const auto stream = random_stream(11, 150);
    for (const Real gate : {0.0F, 0.1F}) {
      const TrainParams params = make_params(policy, 3, 5, gate);
      OnlinePlt one_by_one(params);
      for (const auto& example : stream) {
        one_by_one.learn(example.row(), example.labels, example.weight);
      }
      const auto expected = saved_bytes(one_by_one);
      for (const std::size_t batch : {7U, 50U, 150U}) {
        for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
          OnlinePlt model(params);
          for (std::size_t begin = 0; begin < stream.size(); begin += batch) {
            const std::size_t n = std::min(batch, stream.size() - begin);
            const auto example = [&](std::size_t i) {
              const auto& next = stream[begin + i];
              return oplt::Example{next.row(), next.labels, next.weight};
            };
            model.learn(n, example, threads);
          }
          CHECK(saved_bytes(model) == expected);
          CHECK_EQ(model.n_updates(), one_by_one.n_updates());
        }
      }
    }
  }
}

TEST("when an example cannot be had, those before it are learnt") {
  const auto stream = random_stream(12, 20);
  OnlinePlt model(make_params());
  const auto example = [&](std::size_t i) {
    if (i == 15) {
      throw std::runtime_error("no more");
    }
    return oplt::Example{stream[i].row(), stream[i].labels, stream[i].weight};
  };
  CHECK_THROWS(std::runtime_error, model.learn(20, example, 2));
  OnlinePlt expected(make_params());
  for (std::size_t i = 0; i < 15; ++i) {
    expected.learn(stream[i].row(), stream[i].labels, stream[i].weight);
  }
  CHECK(saved_bytes(model) == saved_bytes(expected));
}

TEST("what is thrown by the work ahead is rethrown, and everything is learnt") {
  const auto stream = random_stream(12, 20);
  const auto example = [&](std::size_t i) {
    return oplt::Example{stream[i].row(), stream[i].labels, stream[i].weight};
  };
  OnlinePlt model(make_params());
  CHECK_THROWS(std::runtime_error, model.learn(20, example, 2, [] { throw std::runtime_error("no"); }));
  OnlinePlt expected(make_params());
  expected.learn(20, example, 1);
  CHECK(saved_bytes(model) == saved_bytes(expected));
}

TEST("a saved and loaded model goes on as if it had never stopped") {
  for_all_settings([](const TrainParams& params) {
    const std::vector<StreamExample> stream = random_stream(4, 120);
    const std::span<const StreamExample> examples(stream);
    OnlinePlt model(params);
    learn(model, examples.first(60));
    const auto bytes = saved_bytes(model);
    OnlinePlt loaded = load(params, bytes);
    CHECK(saved_bytes(loaded) == bytes);
    CHECK_EQ(loaded.n_examples(), 60U);
    check_same_classifiers(model, loaded);
    learn(model, examples.subspan(60));
    learn(loaded, examples.subspan(60));
    CHECK(saved_bytes(loaded) == saved_bytes(model));
  });
}

TEST("a model can be saved and loaded after every example") {
  const TrainParams params = make_params(Policy::kRandom, 3, 5, 0.1F);
  OnlinePlt model(params);
  OnlinePlt interrupted(params);
  for (const StreamExample& example : random_stream(6, 60)) {
    model.learn(example.row(), example.labels, example.weight);
    interrupted = load(params, saved_bytes(interrupted));
    interrupted.learn(example.row(), example.labels, example.weight);
    CHECK(saved_bytes(interrupted) == saved_bytes(model));
  }
}

TEST("an empty model") {
  OnlinePlt model(make_params());
  CHECK_EQ(model.n_labels(), 0U);
  CHECK_EQ(model.n_examples(), 0U);
  CHECK(model.classifier(0).empty());
  NodeScratch scratch;
  CHECK_EQ(model.root_probability({}, scratch), 0.5F);
  const auto bytes = saved_bytes(model);
  CHECK(saved_bytes(load(make_params(), bytes)) == bytes);
}

TEST("examples without labels teach the root alone") {
  OnlinePlt model(make_params());
  std::vector<StreamExample> stream = random_stream(7, 50);
  for (StreamExample& example : stream) {
    example.labels.clear();
  }
  learn(model, stream);
  CHECK_EQ(model.n_updates(), 50U);
  CHECK_EQ(model.n_examples(), 50U);
  CHECK_EQ(model.n_labels(), 0U);
  NodeScratch scratch;
  CHECK(model.root_probability(stream[0].row(), scratch) < 0.1F);
}

TEST("labels that go with a feature become probable with it") {
  OnlinePlt model(make_params(Policy::kFlat));
  NodeScratch scratch;
  const auto example = [](std::uint32_t i) {
    return StreamExample{.features = {i % 3, kBiasFeature}, .values = {1, 1}, .labels = {i % 3}, .weight = 1};
  };
  for (std::uint32_t i = 0; i < 300; ++i) {
    model.learn(example(i).row(), example(i).labels, 1);
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    const StreamExample asked = example(i);
    const auto probabilities = model.child_probabilities(0, asked.row(), scratch);
    for (std::uint32_t child = 0; child < 3; ++child) {
      CHECK(child == i ? probabilities[child] > 0.8F : probabilities[child] < 0.2F);
    }
  }
}

TEST("which nodes have an auxiliary classifier follows from the tree") {
  OnlinePlt model(make_params(Policy::kBestGreedy, 2, 3));
  for (const StreamExample& example : random_stream(8, 100)) {
    model.learn(example.row(), example.labels, example.weight);
    const TreePolicy policy(model.params());
    for (NodeId v = 0; v < model.n_nodes(); ++v) {
      CHECK_EQ(model.auxiliary_classifier(v).has_value(), policy.may_choose(model.tree(), v));
    }
  }
  CHECK(model.memory_bytes() > 1000);
}

TEST("the weights of all nodes and of the root's own classifier are all weights") {
  for (const Policy policy : {Policy::kBestGreedy, Policy::kFlat}) {
    OnlinePlt model(make_params(policy, 2, 3));
    learn(model, random_stream(8, 100));
    std::size_t n_cells = model.classifier(LabelTree::kRoot).size();
    for (NodeId v = 0; v < model.n_nodes(); ++v) {
      n_cells += model.n_cells_of(v);
    }
    CHECK_EQ(n_cells, model.n_cells());
  }
}

TEST("bad settings are refused") { CHECK_THROWS(InvalidParameter, OnlinePlt(make_params(Policy::kRandom, 1, 4))); }

TEST("a block that does not fit its node throws") {
  const TrainParams params = make_params(Policy::kFlat);
  OnlinePlt model(params);
  learn(model, random_stream(9, 30));
  const auto bytes = saved_bytes(model);
  CHECK_THROWS_WITH(FormatError, "does not fit", load(make_params(Policy::kComplete), bytes));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS(FormatError, load(params, std::span(bytes).first(n)));
  }
}

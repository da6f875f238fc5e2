// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <optional>
#include <set>

#include "base/error.hpp"
#include "check.hpp"
#include "forest/plt_learner.hpp"
#include "helpers.hpp"
#include "learners.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::OnlineTree;
using oplt::test::random_stream;
using oplt::test::same_bits;
using oplt::test::saved_bytes;
using oplt::test::StreamExample;

namespace {

constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {{2, 2}, {2, 5}, {3, 3}, {4, 9}, {8, 8}};

/// Number of updates by IPLT (Algorithm 1) for an example: its positive and negative nodes.
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

/// Learns the stream; no example may take more than twice the updates of IPLT.
void learn(OnlineTree& model, std::span<const StreamExample> stream) {
  for (const StreamExample& example : stream) {
    const std::uint64_t before = model->n_updates();
    model.learn(example);
    const std::uint64_t updates = model->n_updates() - before;
    const std::uint64_t iplt = n_iplt_updates(model->tree(), example.labels);
    CHECK(updates >= iplt && updates <= 2 * iplt);
  }
}

void check_same_classifiers(const Plt& a, const Plt& b) {
  for (NodeId v = 0; v < a.n_nodes(); ++v) {
    CHECK(same_bits(a.classifier(v), b.classifier(v)));
    const auto auxiliary_a = a.auxiliary_classifier(v);
    const auto auxiliary_b = b.auxiliary_classifier(v);
    CHECK_EQ(auxiliary_a.has_value(), auxiliary_b.has_value());
    CHECK(!auxiliary_a || !auxiliary_b || same_bits(*auxiliary_a, *auxiliary_b));
  }
}

/// Proper: as if the final tree had been known from the start.
void check_proper(const ModelParams& params, const LabelTree& start, const std::vector<StreamExample>& stream) {
  OnlineTree online(params, start);
  learn(online, stream);
  OnlineTree knowing(params, test::rebuilt(online->tree()));
  learn(knowing, stream);
  CHECK_EQ(knowing->n_nodes(), online->n_nodes());  // the tree was not extended
  check_same_classifiers(*online, *knowing);
}

/// Calls check(params) for all policies, shapes and rules.
template <class Check>
void for_all_settings(Check check) {
  for (const Policy policy : test::kGrowingPolicies) {
    for (const auto& [arity, max_leaves] : kShapes) {
      for (const LearningParams& rule : test::kRules) {
        check(make_params(policy, arity, max_leaves, rule));
      }
    }
  }
}

}  // namespace

TEST("an online model is proper, bit for bit") {
  for_all_settings([](const ModelParams& params) {
    for (const std::uint64_t seed : {1U, 2U}) {
      check_proper(params, LabelTree(), random_stream(seed, 250));
    }
  });
}

TEST("an online model is proper for every alpha") {
  for (const double alpha : {0.0, 0.3, 1.0}) {
    for (const Policy policy : {Policy::kBestGreedy, Policy::kCpet}) {
      ModelParams params = make_params(policy, 3, 6);
      params.forest.tree.alpha = alpha;
      check_proper(params, LabelTree(), random_stream(3, 200));
    }
  }
}

TEST("an online model that extends a given tree of any shape is proper") {
  for_all_settings([](const ModelParams& params) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Random random(seed);
      const LabelTree start = test::random_tree(random, 2 + random.below(20));
      check_proper(params, start, random_stream(seed, 60, start.n_labels()));
    }
  });
}

TEST("proper with several new labels in a node that has both leaves and internal nodes") {
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
  for_all_settings([](const ModelParams& params) {
    const std::vector<StreamExample> stream = random_stream(13, 150);
    OnlineTree online(params);
    learn(online, stream);
    ModelParams fixed_params = params;
    fixed_params.forest.tree.policy = Policy::kFixed;
    OnlineTree fixed(fixed_params, test::rebuilt(online->tree()));
    for (const StreamExample& example : stream) {
      const std::uint64_t before = fixed->n_updates();
      fixed.learn(example);
      CHECK_EQ(fixed->n_updates() - before, n_iplt_updates(fixed->tree(), example.labels));  // exactly those of IPLT
    }
    CHECK_EQ(fixed->n_nodes(), online->n_nodes());
    for (NodeId v = 0; v < online->n_nodes(); ++v) {
      CHECK(same_bits(fixed->classifier(v), online->classifier(v)));
      CHECK(!fixed->auxiliary_classifier(v));
    }
    const auto bytes = saved_bytes(*fixed);
    CHECK(saved_bytes(*OnlineTree(fixed_params, bytes)) == bytes);
  });
}

TEST("the result depends neither on the batches nor on the threads") {
  for (const Policy policy : test::kGrowingPolicies) {
    const auto stream = random_stream(11, 150);
    for (const LearningParams& rule : test::kRules) {
      const ModelParams params = make_params(policy, 3, 5, rule);
      OnlineTree one_by_one(params);
      for (const StreamExample& example : stream) {
        one_by_one.learn(example);
      }
      const auto expected = saved_bytes(*one_by_one);
      for (const std::size_t batch : {7U, 50U, 150U}) {
        for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
          OnlineTree model(params);
          for (std::size_t begin = 0; begin < stream.size(); begin += batch) {
            model.learn(std::span(stream).subspan(begin, std::min(batch, stream.size() - begin)), threads);
          }
          CHECK(saved_bytes(*model) == expected);
          CHECK_EQ(model->n_updates(), one_by_one->n_updates());
        }
      }
    }
  }
}

TEST("a copy does not change while the tree learns, and the tree learns as if there were no copy") {
  for_all_settings([](const ModelParams& params) {
    const std::vector<StreamExample> stream = random_stream(14, 120);
    OnlineTree alone(params);
    OnlineTree held(params);
    std::vector<Plt> copies;
    std::vector<std::vector<std::byte>> expected;
    for (std::size_t begin = 0; begin < stream.size(); begin += 10) {
      copies.push_back(*held);
      expected.push_back(saved_bytes(*alone));
      alone.learn(std::span(stream).subspan(begin, 10));
      held.learn(std::span(stream).subspan(begin, 10), 2);
    }
    CHECK(saved_bytes(*held) == saved_bytes(*alone));
    for (std::size_t i = 0; i < copies.size(); ++i) {
      CHECK(saved_bytes(copies[i]) == expected[i]);
    }
  });
}

TEST("a loaded model continues as if it had never been saved") {
  for_all_settings([](const ModelParams& params) {
    const std::vector<StreamExample> stream = random_stream(4, 120);
    const std::span<const StreamExample> examples(stream);
    OnlineTree model(params);
    learn(model, examples.first(60));
    const auto bytes = saved_bytes(*model);
    OnlineTree loaded(params, bytes);
    CHECK(saved_bytes(*loaded) == bytes);
    CHECK_EQ(loaded->n_examples(), 60U);
    check_same_classifiers(*model, *loaded);
    learn(model, examples.subspan(60));
    learn(loaded, examples.subspan(60));
    CHECK(saved_bytes(*loaded) == saved_bytes(*model));
  });
}

TEST("a model can be saved and loaded after every example") {
  const ModelParams params = make_params(Policy::kRandom, 3, 5, test::arow(0.5F));
  OnlineTree model(params);
  OnlineTree interrupted(params);
  for (const StreamExample& example : random_stream(6, 60)) {
    model.learn(example);
    interrupted = OnlineTree(params, saved_bytes(*interrupted));
    interrupted.learn(example);
    CHECK(saved_bytes(*interrupted) == saved_bytes(*model));
  }
}

TEST("an empty model") {
  const OnlineTree model(make_params());
  CHECK_EQ(model->n_labels(), 0U);
  CHECK_EQ(model->n_examples(), 0U);
  CHECK(model->classifier(0).empty());
  NodeScratch scratch;
  CHECK_EQ(model->root_probability({}, scratch), 0.5F);
  const auto bytes = saved_bytes(*model);
  CHECK(saved_bytes(*OnlineTree(make_params(), bytes)) == bytes);
}

TEST("examples without labels update only the root") {
  OnlineTree model(make_params());
  std::vector<StreamExample> stream = random_stream(7, 50);
  for (StreamExample& example : stream) {
    example.labels.clear();
  }
  learn(model, stream);
  CHECK_EQ(model->n_updates(), 50U);
  CHECK_EQ(model->n_examples(), 50U);
  CHECK_EQ(model->n_labels(), 0U);
  NodeScratch scratch;
  CHECK(model->root_probability(stream[0].row(), scratch) < 0.1F);
}

TEST("labels that occur with a feature become probable for it") {
  OnlineTree model(make_params(Policy::kFlat));
  NodeScratch scratch;
  const auto example = [](std::uint32_t i) {
    return StreamExample{.features = {i % 3, kBiasFeature}, .values = {1, 1}, .labels = {i % 3}, .weight = 1};
  };
  for (std::uint32_t i = 0; i < 300; ++i) {
    model.learn(example(i));
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    const StreamExample asked = example(i);
    const auto probabilities = model->child_probabilities(0, asked.row(), scratch);
    for (std::uint32_t child = 0; child < 3; ++child) {
      CHECK(child == i ? probabilities[child] > 0.8F : probabilities[child] < 0.2F);
    }
  }
}

TEST("the tree determines which nodes have an auxiliary classifier") {
  const ModelParams params = make_params(Policy::kBestGreedy, 2, 3);
  OnlineTree model(params);
  for (const StreamExample& example : random_stream(8, 100)) {
    model.learn(example);
    const TreePolicy policy(params.forest.tree);
    for (NodeId v = 0; v < model->n_nodes(); ++v) {
      CHECK_EQ(model->auxiliary_classifier(v).has_value(), policy.may_choose(model->tree(), v));
    }
  }
  CHECK(model->memory_bytes() > 1000);
}

TEST("the weights of all nodes and of the root's own classifier add up to the total") {
  for (const Policy policy : {Policy::kBestGreedy, Policy::kFlat}) {
    OnlineTree model(make_params(policy, 2, 3));
    learn(model, random_stream(8, 100));
    std::size_t n_cells = model->classifier(LabelTree::kRoot).size();
    for (NodeId v = 0; v < model->n_nodes(); ++v) {
      n_cells += model->n_cells_of(v);
    }
    CHECK_EQ(n_cells, model->n_cells());
  }
}

TEST("a tree that this learner could not have trained is rejected") {
  const ModelParams params = make_params(Policy::kFlat);
  OnlineTree model(params);
  learn(model, random_stream(9, 30));
  const auto bytes = saved_bytes(*model);
  CHECK_THROWS_WITH(FormatError, "auxiliary classifier", OnlineTree(make_params(Policy::kComplete), bytes));
  CHECK_THROWS_WITH(FormatError, "auxiliary classifier", OnlineTree(make_params(Policy::kFixed), bytes));
  CHECK_THROWS_WITH(FormatError, "prediction only", OnlineTree(params, saved_bytes(model->for_prediction(0))));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::vector<std::byte> first(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_THROWS(FormatError, OnlineTree(params, first));
  }
}

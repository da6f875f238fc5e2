// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "batch/batch_training.hpp"
#include "check.hpp"
#include "forest/search.hpp"
#include "helpers.hpp"
#include "learners.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::OnlineTree;
using oplt::test::StreamExample;

namespace {

Plt trained(const ModelParams& params, std::uint64_t seed, std::size_t n) {
  OnlineTree model(params);
  model.learn(test::random_stream(seed, n));
  return *model;
}

/// An untrained complete binary tree of 8 leaves, so that all labels tie. The labels are not in order.
Plt ties() {
  const std::vector<NodeId> parents{kNone, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};
  std::vector<LabelId> labels(7, kNone);
  labels.insert(labels.end(), {5, 2, 7, 0, 3, 6, 1, 4});
  return Plt(LabelTree(parents, labels));
}

/// P(v | x). Also checks that it never exceeds that of the parent.
Real probability(const Plt& model, NodeId v, RowView x) {
  NodeScratch scratch;
  if (v == LabelTree::kRoot) {
    return model.root_probability(x, scratch);
  }
  const NodeId parent = model.tree().node(v).parent;
  const Real of_parent = probability(model, parent, x);
  const Real result = of_parent * model.child_probabilities(parent, x, scratch)[model.tree().node(v).position];
  CHECK(result >= 0 && result <= of_parent);
  return result;
}

/// Computes the probability of every leaf.
std::vector<ScoredLabel> brute_force(const Plt& model, RowView x, const SearchParams& params) {
  std::vector<ScoredLabel> found;
  for (NodeId v = 0; v < model.n_nodes(); ++v) {
    if (model.tree().node(v).label != kNone) {
      found.push_back({model.tree().node(v).label, probability(model, v, x)});
    }
  }
  std::erase_if(found, [&](const ScoredLabel& label) { return label.probability < params.threshold; });
  std::sort(found.begin(), found.end(), [](const ScoredLabel& a, const ScoredLabel& b) {
    return std::pair(-a.probability, a.label) < std::pair(-b.probability, b.label);
  });
  if (params.top_k > 0) {
    found.resize(std::min(found.size(), params.top_k), {0, 0});
  }
  return found;
}

std::vector<ScoredLabel> found_by(const Plt& model, RowView x, const SearchParams& params) {
  SearchScratch scratch;
  return search(model, x, params, scratch);
}

/// A beam search without any shortcut.
std::vector<ScoredLabel> plain_beam_search(const Plt& model, RowView x, const SearchParams& params) {
  NodeScratch scratch;
  std::vector<ScoredLabel> labels;
  std::vector<ScoredNode> level{{LabelTree::kRoot, model.root_probability(x, scratch)}};
  while (!level.empty()) {
    std::vector<ScoredNode> next;
    for (const ScoredNode& parent : level) {
      const auto probabilities = model.child_probabilities(parent.node, x, scratch);
      for (std::size_t i = 0; i < probabilities.size(); ++i) {
        const ScoredNode child{model.tree().children(parent.node)[i], parent.probability * probabilities[i]};
        if (model.tree().is_leaf(child.node)) {
          labels.push_back({model.tree().node(child.node).label, child.probability});
        } else {
          next.push_back(child);
        }
      }
    }
    std::sort(next.begin(), next.end(), more_probable);
    next.resize(std::min(params.beam, next.size()));
    std::erase_if(next, [least = next.empty() ? 0 : params.beam_share * next[0].probability](const ScoredNode& node) {
      return node.probability < least;
    });
    level = std::move(next);
  }
  return best_of(labels, params);
}

/// Rows that the model has not seen.
std::vector<StreamExample> questions() {
  Random random(1234);
  std::vector<StreamExample> result;
  for (int i = 0; i < 15; ++i) {
    result.push_back(test::random_example(random, 40));
  }
  return result;
}

}  // namespace

TEST("exact search equals brute force") {
  for (const Policy policy : test::kGrowingPolicies) {
    const Plt model = trained(make_params(policy, 3, 5, test::arow(0.1F)), 1, 150);
    CHECK(model.n_labels() > 30);
    SearchScratch scratch;  // shared: a search must not depend on the one before
    for (const StreamExample& question : questions()) {
      for (const std::size_t top_k : {0U, 1U, 3U, 10U, 1000U}) {
        for (const Real threshold : {0.0F, 0.001F, 0.1F, 1.0F}) {
          const SearchParams params{.top_k = top_k, .threshold = threshold};
          CHECK(search(model, question.row(), params, scratch) == brute_force(model, question.row(), params));
        }
      }
    }
  }
}

void check_rows_searched_together(const Plt& model) {
  LabelBook book = test::numbered_labels(model.n_labels());
  for (LabelId label = 0; label < model.n_labels(); label += 2) {
    book.apply({.kind = LabelOperation::Kind::kHide, .label = {.text = {}, .number = label}});
  }
  const std::vector<LabelId> few{1, 3};
  const LabelFilter shown(book);
  const LabelFilter knows_nodes(book, few, {}, {&model, 1});
  const std::vector<StreamExample> asked = questions();
  std::vector<RowView> rows;
  std::transform(asked.begin(), asked.end(), std::back_inserter(rows), [](const auto& each) { return each.row(); });
  SearchScratch scratch;
  for (const std::size_t n : {rows.size(), std::size_t{2}, std::size_t{0}}) {
    for (const std::size_t top_k : {0U, 1U, 3U, 1000U}) {
      for (const Real threshold : {0.0F, 0.01F}) {
        for (const std::size_t beam : {0U, 1U, 2U, 7U, 40U}) {
          for (const LabelFilter* allowed : {static_cast<const LabelFilter*>(nullptr), &shown, &knows_nodes}) {
            const SearchParams params{.top_k = top_k, .threshold = threshold, .beam = beam, .filter = allowed};
            const LabelsOfRows together = search(model, std::span(rows).first(n), params, scratch);
            CHECK_EQ(together.size(), n);
            for (std::size_t i = 0; i < n; ++i) {
              CHECK(together[i] == found_by(model, rows[i], params));
            }
          }
        }
      }
    }
  }
}

TEST("rows that are searched together find what each finds alone") {
  check_rows_searched_together(trained(make_params(Policy::kBestGreedy, 3, 5, test::arow(0.1F)), 1, 300));
  check_rows_searched_together(ties());
}

TEST("exact search equals brute force, for every loss") {
  const std::vector<StreamExample> stream = test::random_stream(4, 150);
  std::vector<Example> examples;
  LabelId n_labels = 0;
  for (const StreamExample& example : stream) {
    examples.push_back({example.row(), example.labels, 1});
    n_labels = example.labels.empty() ? n_labels : std::max(n_labels, example.labels.back() + 1);
  }
  const LabelTree tree = trained(make_params(Policy::kRandom, 2, 4), 4, 150).tree();
  CHECK_EQ(tree.n_labels(), n_labels);
  for (const Loss loss : {Loss::kLogistic, Loss::kSquaredHinge}) {
    const BatchParams batch{.loss = loss, .cost = 1, .tolerance = 0.1, .max_iterations = 20, .prune = 0.1F, .seed = 1};
    const Plt model = train_batch(batch, tree, examples, 1);
    for (const StreamExample& question : questions()) {
      for (const SearchParams& params :
           {SearchParams{.top_k = 1}, SearchParams{.top_k = 7}, SearchParams{.threshold = 0.05F}, SearchParams{}}) {
        CHECK(found_by(model, question.row(), params) == brute_force(model, question.row(), params));
      }
    }
  }
}

TEST("a beam as wide as the tree is exact") {
  const Plt model = trained(make_params(Policy::kRandom, 2, 4), 2, 150);
  for (const StreamExample& question : questions()) {
    for (const std::size_t top_k : {0U, 1U, 5U}) {
      const SearchParams params{.top_k = top_k, .threshold = 0.001F, .beam = model.n_nodes()};
      CHECK(found_by(model, question.row(), params) == brute_force(model, question.row(), params));
    }
  }
}

TEST("a beam leaves out nodes that are much less probable than the best of their level") {
  const Plt model = trained(make_params(Policy::kBestGreedy, 3, 5, test::arow(0.1F)), 1, 300);
  std::size_t n_fewer = 0;
  for (const StreamExample& question : questions()) {
    for (const std::size_t beam : {1U, 4U, 30U}) {
      const auto all = found_by(model, question.row(), {.beam = beam});
      for (const Real share : {0.0F, 0.1F, 0.7F, 1.0F}) {
        for (const std::size_t top_k : {0U, 3U}) {
          const SearchParams params{.top_k = top_k, .beam = beam, .beam_share = share};
          const auto found = found_by(model, question.row(), params);
          CHECK(found == plain_beam_search(model, question.row(), params));
          n_fewer += top_k == 0 && found.size() < all.size() ? 1 : 0;
        }
      }
    }
  }
  CHECK(n_fewer > 0);
}

TEST("a narrow beam finds some labels, with the correct probabilities and in order") {
  const Plt model = trained(make_params(Policy::kRandom, 2, 2), 3, 150);
  for (const StreamExample& question : questions()) {
    const auto all = brute_force(model, question.row(), {});
    const auto found = found_by(model, question.row(), {.beam = 2});
    CHECK(!found.empty() && found.size() < all.size());
    auto rest = all.begin();
    for (const ScoredLabel& label : found) {  // a subsequence of all
      rest = std::find(rest, all.end(), label);
      CHECK(rest != all.end());
    }
  }
}

TEST("equally probable labels are sorted by ascending id") {
  const Plt model = ties();
  for (const std::size_t beam : {0U, 100U}) {
    for (std::uint32_t top_k = 1; top_k <= 8; ++top_k) {
      const auto found = found_by(model, {}, {.top_k = top_k, .beam = beam});
      CHECK_EQ(found.size(), top_k);
      for (std::uint32_t i = 0; i < found.size(); ++i) {
        CHECK_EQ(found[i].label, i);
        CHECK_EQ(found[i].probability, 0.0625F);  // a half in the root and on each of 3 levels
      }
    }
  }
}

TEST("a threshold includes labels that just reach it") {
  CHECK_EQ(found_by(ties(), {}, {.threshold = 0.0625F}).size(), 8U);
  CHECK(found_by(ties(), {}, {.threshold = 0.0626F}).empty());
}

TEST("an empty model finds nothing") {
  const Plt model{LabelTree()};
  CHECK(found_by(model, {}, {}).empty());
  CHECK(found_by(model, {}, {.top_k = 5, .beam = 3}).empty());
}

TEST("a model of one label finds it in the root") {
  OnlineTree learning(make_params());
  const StreamExample example{.features = {1}, .values = {1}, .labels = {0}, .weight = 1};
  learning.learn(example);
  const Plt& model = *learning;
  for (const std::size_t beam : {0U, 1U}) {
    const auto found = found_by(model, example.row(), {.top_k = 5, .beam = beam});
    CHECK_EQ(found.size(), 1U);
    CHECK(found == brute_force(model, example.row(), {}));
  }
  CHECK(found_by(model, example.row(), {.threshold = 1}).empty());
}

TEST("a filter restricts exact search to the allowed labels, as if the others were left out afterwards") {
  const Plt model = trained(make_params(Policy::kBestGreedy, 3, 5, test::arow(0.1F)), 1, 150);
  const LabelId n_labels = model.n_labels();
  const std::vector<LabelId> few{3, 17, 20, 29};
  std::vector<LabelId> most;
  for (LabelId label = 0; label < n_labels; ++label) {
    if (label % 10 != 3) {
      most.push_back(label);
    }
  }
  SearchScratch scratch;
  const LabelBook book = test::numbered_labels(n_labels);
  LabelBook some_hidden = book;
  for (const LabelId label : few) {
    some_hidden.apply({.kind = LabelOperation::Kind::kHide, .label = {.text = {}, .number = label}});
  }
  const std::span<const Plt> trees(&model, 1);
  for (const LabelFilter& filter :
       {LabelFilter(book, few, {}, trees), LabelFilter(book, most, {}, trees),
        LabelFilter(book, std::nullopt, few, trees), LabelFilter(book, most, few, trees),
        LabelFilter(book, std::span<const LabelId>(), {}, trees), LabelFilter(some_hidden),
        LabelFilter(some_hidden, most, {}, trees), LabelFilter(some_hidden, few, {}, trees)}) {
    for (const StreamExample& question : questions()) {
      for (const std::size_t top_k : {0U, 1U, 3U, 1000U}) {
        for (const Real threshold : {0.0F, 0.01F}) {
          auto expected = brute_force(model, question.row(), {.top_k = 0, .threshold = threshold});
          std::erase_if(expected, [&](const ScoredLabel& found) { return !filter.allows(found.label); });
          expected.resize(top_k > 0 ? std::min(top_k, expected.size()) : expected.size(), {0, 0});
          const SearchParams params{.top_k = top_k, .threshold = threshold, .beam = 0, .filter = &filter};
          CHECK(search(model, question.row(), params, scratch) == expected);
        }
      }
      for (const ScoredLabel& found :
           search(model, question.row(), {.top_k = 5, .threshold = 0, .beam = 2, .filter = &filter}, scratch)) {
        CHECK(filter.allows(found.label));
      }
    }
  }
}

TEST("a beam finds k labels, even if most others are hidden") {
  const Plt model = trained(make_params(Policy::kBestGreedy, 2, 2, test::arow(0.1F)), 1, 150);
  LabelBook book = test::numbered_labels(model.n_labels());
  constexpr LabelId kShown = 6;
  for (LabelId label = kShown; label < model.n_labels(); ++label) {
    book.apply({.kind = LabelOperation::Kind::kHide, .label = {.text = {}, .number = label}});
  }
  const LabelFilter filter(book);
  SearchScratch scratch;
  for (const StreamExample& question : questions()) {
    for (const std::size_t top_k : {std::size_t{1}, std::size_t{4}, std::size_t{kShown}, std::size_t{50}}) {
      const SearchParams params{.top_k = top_k, .threshold = 0, .beam = 2, .filter = &filter};
      CHECK_EQ(search(model, question.row(), params, scratch).size(), std::min<std::size_t>(top_k, kShown));
    }
  }
}

TEST("a filter counts its labels, each once") {
  const Plt model = ties();
  const std::vector<LabelId> twice{2, 5, 2};
  LabelBook book = test::numbered_labels(model.n_labels());
  CHECK_EQ(LabelFilter(book, twice, {}, {&model, 1}).n_allowed(), 2U);
  CHECK_EQ(LabelFilter(book, std::nullopt, twice, {&model, 1}).n_allowed(), 6U);
  CHECK_EQ(LabelFilter(book, twice, twice, {&model, 1}).n_allowed(), 0U);
  CHECK(!shown_labels(book));
  book.apply({.kind = LabelOperation::Kind::kHide, .label = {.text = {}, .number = 5}});
  CHECK_EQ(shown_labels(book)->n_allowed(), 7U);
  CHECK_EQ(LabelFilter(book, twice, {}, {&model, 1}).n_allowed(), 1U);
}

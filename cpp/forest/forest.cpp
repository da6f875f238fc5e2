// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/forest.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "forest/top_search.hpp"

namespace oplt {

namespace {

constexpr std::size_t kNamed = 20;  // request at least this many labels from each tree, even if k is smaller

/// The search options for each tree, wide enough not to miss labels that are good on average.
SearchParams asked_of_each(const SearchParams& params, std::size_t n_trees) {
  SearchParams asked = params;
  if (params.top_k > 0) {
    asked.top_k = std::max(kNamed, params.top_k);
    asked.threshold = 0;
  } else {
    // A label whose mean reaches the threshold may be below it in some trees, whose probabilities count, too.
    asked.threshold = params.threshold / static_cast<Real>(n_trees);
  }
  return asked;
}

/// The mean probability of each label.
std::vector<ScoredLabel> mean_of(std::vector<ScoredLabel> named, std::size_t n_trees) {
  std::sort(named.begin(), named.end(), [](const ScoredLabel& a, const ScoredLabel& b) {
    return a.label != b.label ? a.label < b.label : a.probability < b.probability;
  });
  std::size_t n = 0;
  for (std::size_t i = 0, end = 0; i < named.size(); i = end) {
    const LabelId label = named[i].label;
    while (end < named.size() && named[end].label == label) {
      ++end;
    }
    named[n++] = {label, mean_of_trees(std::span<const ScoredLabel>(named).subspan(i, end - i), n_trees)};
  }
  named.resize(n);
  return named;
}

constexpr const char* kRegrownAt = "trees/regrown_at";

std::string prefix_of(std::size_t tree) { return "trees/" + std::to_string(tree); }

template <class Number>
auto sum_over(const std::vector<Plt>& trees, Number number) {
  decltype(number(trees.front())) sum = 0;
  for (const Plt& tree : trees) {
    sum += number(tree);
  }
  return sum;
}

}  // namespace

LaterLabels Forest::search_later(RowView x, const SearchParams& params, SearchScratch& scratch) const {
  assert(is_cut() && trees.size() == 1);
  return search_top_later(first(), x, params, scratch.nodes);
}

LabelsOfRows Forest::search(std::span<const RowView> rows, const SearchParams& params, SearchScratch& scratch) const {
  if (trees.size() == 1) {
    return oplt::search(first(), rows, params, scratch);
  }
  const SearchParams asked = asked_of_each(params, trees.size());
  LabelsOfRows result(rows.size());
  for (std::size_t tree = 0; tree < trees.size(); ++tree) {
    const LabelsOfRows found = oplt::search(trees[tree], rows, asked, scratch, tree);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      result[i].insert(result[i].end(), found[i].begin(), found[i].end());
    }
  }
  for (std::vector<ScoredLabel>& labels : result) {
    labels = best_of(mean_of(std::move(labels), trees.size()), params);
  }
  return result;
}

// In double precision and ascending order, so that the order of the trees does not matter.
Real mean_of_trees(std::span<const ScoredLabel> ascending, std::size_t n_trees) {
  double sum = 0.0;
  for (const ScoredLabel& each : ascending) {
    sum += static_cast<double>(each.probability);
  }
  return static_cast<Real>(sum / static_cast<double>(n_trees));
}

std::vector<bool> Forest::returning(LabelId label, RowView x, const SearchParams& params,
                                    SearchScratch& scratch) const {
  const SearchParams asked = trees.size() == 1 ? params : asked_of_each(params, trees.size());
  std::vector<bool> result;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const std::vector<ScoredLabel> found = oplt::search(trees[i], x, asked, scratch, i);
    result.push_back(std::ranges::find(found, label, &ScoredLabel::label) != found.end());
  }
  return result;
}

std::uint32_t Forest::depth() const {
  std::uint32_t depth = 0;
  for (const Plt& tree : trees) {
    depth = std::max(depth, tree.depth());
  }
  return depth;
}

std::uint64_t Forest::n_updates() const {
  return sum_over(trees, [](const Plt& tree) { return tree.n_updates(); });
}

std::size_t Forest::n_cells() const {
  return sum_over(trees, [](const Plt& tree) { return tree.n_cells(); });
}

std::size_t Forest::memory_of_trees() const { return memory_of(trees); }

std::size_t Forest::budget_bytes() const {
  return sum_over(trees, [](const Plt& tree) { return tree.budget_bytes(); });
}

void Forest::save(ArrayWriter& out) const {
  for (std::size_t i = 0; i < trees.size(); ++i) {
    trees[i].save(out, prefix_of(i));
  }
  out.put_one(kRegrownAt, regrown_at);
}

Forest Forest::load(const ArrayReader& in, std::size_t n_trees, Link link) {
  Forest forest;
  for (std::size_t i = 0; i < n_trees; ++i) {
    forest.trees.push_back(Plt::load(in, prefix_of(i), link));
    const Plt& tree = forest.trees[i];
    if (tree.n_examples() != forest.n_examples() || tree.n_labels() != forest.first().n_labels() ||
        tree.tree().label_bound() != forest.label_bound()) {
      throw FormatError("tree " + std::to_string(i) + " has learnt " + std::to_string(tree.n_examples()) +
                        " examples with " + std::to_string(tree.n_labels()) +
                        " labels, but the first tree has learnt " + std::to_string(forest.n_examples()) + " with " +
                        std::to_string(forest.first().n_labels()));
    }
  }
  forest.regrown_at = in.get_one<std::uint64_t>(kRegrownAt);
  return forest;
}

void Forest::check(std::uint32_t n_features) const {
  for (const Plt& tree : trees) {
    tree.check(n_features);
  }
  expect_format(regrown_at <= n_examples(), "the trees were built from more examples than there are");
}

}  // namespace oplt

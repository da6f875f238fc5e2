// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "batch/batch_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/forks.hpp"
#include "base/interruption.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "batch/dual_solver.hpp"

namespace oplt {

namespace {

using ExampleId = std::uint32_t;

/// The examples that have labels below a node: the lists of examples of all labels are concatenated in the order of the
/// leaves in the tree, so that those below any node are contiguous.
class ExamplesBelow {
 public:
  ExamplesBelow(const LabelTree& tree, std::span<const Example> examples)
      : tree_(tree), first_leaf_(tree.n_nodes(), 0), ends_(tree.n_labels() + 1, 0) {
    std::vector<NodeId> stack{LabelTree::kRoot};
    while (!stack.empty()) {
      const NodeId v = stack.back();
      stack.pop_back();
      std::uint32_t next = first_leaf_[v];
      for (const NodeId child : tree.children(v)) {
        first_leaf_[child] = next;
        next += tree.node(child).n_leaves;
        stack.push_back(child);
      }
    }
    for (const Example& example : examples) {
      for (const LabelId label : example.labels) {
        ++ends_[rank_of(label) + 1];
      }
    }
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    std::vector<std::size_t> next(ends_.begin(), ends_.end());
    examples_.resize(ends_.back());
    for (std::size_t i = 0; i < examples.size(); ++i) {
      for (const LabelId label : examples[i].labels) {
        examples_[next[rank_of(label)]++] = static_cast<ExampleId>(i);
      }
    }
  }

  /// An example occurs once for each of its labels below v.
  std::span<const ExampleId> of(NodeId v) const {
    const std::size_t begin = ends_[first_leaf_[v]];
    return std::span(examples_).subspan(begin, ends_[first_leaf_[v] + tree_.node(v).n_leaves] - begin);
  }

 private:
  std::uint32_t rank_of(LabelId label) const { return first_leaf_[tree_.leaf_of(label)]; }

  const LabelTree& tree_;
  std::vector<std::uint32_t> first_leaf_;  // by node: the rank of the first leaf below it
  std::vector<std::size_t> ends_;          // by rank: where the list of a leaf begins
  std::vector<ExampleId> examples_;
};

/// Maps the numbers that were added to 0, 1, 2, …, in ascending order. Has a table of all possible numbers, of which
/// clear() resets only the used entries.
class Renumbering {
 public:
  explicit Renumbering(std::size_t n) : new_of_(n, kNone) {}

  void add(std::uint32_t old) {
    if (new_of_[old] == kNone) {
      new_of_[old] = 0;
      old_of_.push_back(old);
    }
  }

  /// To be called after the last add().
  void number() {
    std::sort(old_of_.begin(), old_of_.end());
    for (std::uint32_t i = 0; i < old_of_.size(); ++i) {
      new_of_[old_of_[i]] = i;
    }
  }

  void clear() {
    for (const std::uint32_t old : old_of_) {
      new_of_[old] = kNone;
    }
    old_of_.clear();
  }

  std::uint32_t new_of(std::uint32_t old) const { return new_of_[old]; }
  const std::vector<std::uint32_t>& old() const { return old_of_; }

 private:
  std::vector<std::uint32_t> new_of_;
  std::vector<std::uint32_t> old_of_;
};

/// Trains nodes one after the other, with the working memory of one thread. Calls `check` regularly; an exception from
/// it leaves the trainer unusable.
class NodeTrainer {
 public:
  NodeTrainer(const BatchParams& params, std::span<const Example> examples, FeatureId n_features,
              const std::function<void()>& check)
      : params_(params),
        examples_(examples),
        bias_(n_features),
        features_(std::size_t{n_features} + 1),
        rows_of_(examples.size()),
        meter_(check),
        solver_(check) {}

  /// Trains the classifiers of a node's children. `reached` are their examples; `positives` are, by child, the positive
  /// ones. Both may contain duplicates.
  SiblingBlock train(std::span<const ExampleId> reached, std::span<const std::span<const ExampleId>> positives,
                     Random random) {
    gather(reached);
    const auto n_children = static_cast<Column>(positives.size());
    kept_.clear();
    for (Column first = 0; first < n_children; first += DualSolver::kMostColumns) {
      const std::size_t n = std::min<std::size_t>(DualSolver::kMostColumns, n_children - first);
      solve(positives.subspan(first, n), random);
      keep(first, n);
    }
    SiblingBlock block = build(n_children);
    rows_of_.clear();
    features_.clear();
    return block;
  }

 private:
  struct KeptWeight {
    std::uint32_t feature;
    ChildWeight weight;
  };

  /// The constant feature gets the number after all others.
  FeatureId dense(FeatureId feature) const { return feature == kBiasFeature ? bias_ : feature; }
  FeatureId sparse(FeatureId feature) const { return feature == bias_ ? kBiasFeature : feature; }

  /// Copies the rows of these examples, with the features that occur in them renumbered.
  void gather(std::span<const ExampleId> reached) {
    for (const ExampleId i : reached) {
      rows_of_.add(i);
    }
    rows_of_.number();
    std::size_t n_values = 0;
    for (const ExampleId i : rows_of_.old()) {
      n_values += examples_[i].x.size();
      meter_.add(examples_[i].x.size());
      for (const FeatureId feature : examples_[i].x.features) {
        features_.add(dense(feature));
      }
    }
    features_.number();
    rows_.indptr.assign(1, 0);
    rows_.features.clear();
    rows_.values.clear();
    rows_.weights.clear();
    rows_.features.reserve(n_values);
    rows_.values.reserve(n_values);
    for (const ExampleId i : rows_of_.old()) {
      const RowView x = examples_[i].x;
      meter_.add(x.size());
      for (const FeatureId feature : x.features) {
        rows_.features.push_back(features_.new_of(dense(feature)));
      }
      rows_.values.insert(rows_.values.end(), x.values.begin(), x.values.end());
      rows_.weights.push_back(examples_[i].weight);
      rows_.indptr.push_back(rows_.features.size());
    }
    rows_.n_features = features_.old().size();
  }

  void solve(std::span<const std::span<const ExampleId>> positives, Random random) {
    std::vector<std::vector<std::uint32_t>> columns;
    for (const std::span<const ExampleId> of_child : positives) {
      std::vector<std::uint32_t>& column = columns.emplace_back(of_child.size());
      std::transform(of_child.begin(), of_child.end(), column.begin(), [&](ExampleId i) { return rows_of_.new_of(i); });
    }
    const std::vector<Positives> views(columns.begin(), columns.end());
    solver_.solve(rows_, views, params_, random);
  }

  /// Keeps the weights that are not pruned.
  void keep(Column first, std::size_t n) {
    for (std::uint32_t feature = 0; feature < rows_.n_features; ++feature) {
      for (std::size_t column = 0; column < n; ++column) {
        const auto weight = static_cast<Real>(solver_.weight(feature, column));
        if (weight != 0 && std::abs(weight) >= params_.prune) {
          kept_.push_back({feature, {first + static_cast<Column>(column), weight}});
        }
      }
    }
  }

  SiblingBlock build(Column n_children) {
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const KeptWeight& a, const KeptWeight& b) { return a.feature < b.feature; });
    SiblingBlock block = SiblingBlock::only_weights(n_children);
    std::vector<ChildWeight> row;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      row.push_back(kept_[i].weight);
      if (i + 1 == kept_.size() || kept_[i + 1].feature != kept_[i].feature) {
        block.set_weights(sparse(features_.old()[kept_[i].feature]), row);
        row.clear();
      }
    }
    return block;
  }

  const BatchParams& params_;
  std::span<const Example> examples_;
  FeatureId bias_;
  Renumbering features_;
  Renumbering rows_of_;
  DenseRows rows_;
  WorkMeter meter_;
  DualSolver solver_;
  std::vector<KeptWeight> kept_;
};

/// A block whose only classifier always predicts 1.
SiblingBlock certain_block(Loss loss) {
  // Scores whose probability is exactly 1: the squared hinge is 0 from 1 on, and sigmoid(87) is rounded to 1.
  const ChildWeight weight{0, loss == Loss::kSquaredHinge ? Real{1} : Real{87}};
  SiblingBlock block = SiblingBlock::only_weights(1);
  block.set_weights(kBiasFeature, {&weight, 1});
  return block;
}

/// Internal nodes by descending work, so that no thread is left with a large node at the end.
std::vector<NodeId> by_work(const LabelTree& tree, const ExamplesBelow& below) {
  std::vector<std::pair<std::size_t, NodeId>> nodes;
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    if (!tree.is_leaf(v)) {
      nodes.emplace_back(below.of(v).size() * tree.n_children(v), v);
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<NodeId> order;
  for (const auto& [work, v] : nodes) {
    order.push_back(v);
  }
  return order;
}

FeatureId count_features(std::span<const Example> examples) {
  FeatureId n = 0;
  for (const Example& example : examples) {
    for (const FeatureId feature : example.x.features) {
      n = feature == kBiasFeature ? n : std::max(n, feature + 1);
    }
  }
  return n;
}

/// The block of the root's own classifier, which every example reaches.
SiblingBlock train_root(const BatchParams& params, std::span<const Example> examples, NodeTrainer& trainer) {
  std::vector<ExampleId> all(examples.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<ExampleId> labelled;
  std::copy_if(all.begin(), all.end(), std::back_inserter(labelled),
               [&](ExampleId i) { return !examples[i].labels.empty(); });
  if (labelled.size() == all.size()) {
    return certain_block(params.loss);
  }
  const std::span<const ExampleId> positives(labelled);
  return trainer.train(all, {&positives, 1}, Random(params.seed));
}

}  // namespace

Plt train_batch(const BatchParams& params, LabelTree tree, std::span<const Example> examples, std::size_t threads,
                const std::function<void()>& poll) {
  const ExamplesBelow below(tree, examples);
  std::vector<NodeId> order = by_work(tree, below);
  const FeatureId n_features = count_features(examples);
  Interruption interruption(poll);
  LeftInChild<std::vector<NodeTrainer>> trainers;
  for (std::size_t worker = 0; worker < std::min(threads, order.size() + 1); ++worker) {
    trainers->emplace_back(params, examples, n_features, [&interruption, worker] { interruption.check(worker); });
  }

  LeftInChild<std::vector<SiblingBlock>> block_of(tree.n_nodes());
  const auto train = [&](std::size_t i, std::size_t worker) {
    interruption.check(worker);
    const NodeId v = order[i];
    std::vector<std::span<const ExampleId>> positives;
    for (const NodeId child : tree.children(v)) {
      positives.push_back(below.of(child));
    }
    // Each node has its own random order of steps, so that the result does not depend on the threads.
    (*block_of)[v] = (*trainers)[worker].train(below.of(v), positives, Random(Random(params.seed + v).next()));
  };
  parallel_for(order.size(), threads, train, &interruption);

  std::vector<SiblingBlock> blocks;
  blocks.push_back(train_root(params, examples, trainers->front()));
  std::sort(order.begin(), order.end());
  for (const NodeId v : order) {
    blocks.push_back(std::move((*block_of)[v]));
  }
  return {std::move(tree), link_of(params.loss), std::move(blocks), examples.size()};
}

}  // namespace oplt

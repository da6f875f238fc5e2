// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/forest.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "forest/example_queue.hpp"
#include "tree/label_clustering.hpp"

namespace oplt {

namespace {

constexpr std::size_t kNamed = 20;  // labels that each tree names at least, if only a few are asked for

/// What a tree is asked for, that labels which are good on the whole are not missed.
PredictParams asked_of_each(const PredictParams& params, std::size_t n_trees) {
  PredictParams asked = params;
  if (params.top_k > 0) {
    asked.top_k = std::max(kNamed, params.top_k);
    asked.threshold = 0;
  } else {
    // A label whose mean reaches the threshold does so in some tree; what others add to it may be less.
    asked.threshold = params.threshold / static_cast<Real>(n_trees);
  }
  return asked;
}

/// Adds up the probabilities of each label, in double and from the smallest on, whatever tree they come from.
std::vector<ScoredLabel> mean_of(std::vector<ScoredLabel> named, std::size_t n_trees) {
  std::sort(named.begin(), named.end(), [](const ScoredLabel& a, const ScoredLabel& b) {
    return a.label != b.label ? a.label < b.label : a.probability < b.probability;
  });
  std::size_t n = 0;
  for (std::size_t i = 0; i < named.size();) {
    const LabelId label = named[i].label;
    double sum = 0.0;
    for (; i < named.size() && named[i].label == label; ++i) {
      sum += static_cast<double>(named[i].probability);
    }
    named[n++] = {label, static_cast<Real>(sum / static_cast<double>(n_trees))};
  }
  named.resize(n);
  return named;
}

}  // namespace

Forest::Forest(const TrainParams& params) : params_(params) {
  params_.validate();
  for (std::uint32_t i = 0; i < params_.trees; ++i) {
    trees_.emplace_back(params_.of_tree(i));
  }
  start_reservoir();
}

Forest::Forest(const TrainParams& params, LabelTree tree) : Forest(OnlinePlt(params, std::move(tree))) {}

Forest::Forest(OnlinePlt tree) : params_(tree.params()) {
  if (params_.trees > 1 || params_.warm_up > 0) {
    throw InvalidParameter("a model that starts from a tree has one tree and no warm-up");
  }
  trees_.push_back(std::move(tree));
  start_reservoir();
}

void Forest::start_reservoir() {
  if (params_.replay > 0) {
    reservoir_.emplace(params_.seed);
  }
}

void Forest::learn(std::size_t n, const std::function<Example(std::size_t)>& example, std::size_t threads,
                   const std::function<void()>& ahead) {
  const std::size_t n_first = std::min(n, static_cast<std::size_t>(n_left_to_warm_up()));
  if (n_first > 0) {
    teach(n_first, example, threads, ahead);
    for (std::size_t i = 0; i < n_first; ++i) {
      warm_up_.emplace_back(example(i));
    }
    if (warm_up_.size() == params_.warm_up) {
      finish_warm_up(threads);
    }
  }
  if (n_first < n) {
    teach(n - n_first, [&](std::size_t i) { return example(n_first + i); }, threads, ahead);
  }
}

std::uint64_t Forest::n_left_to_warm_up() const {
  return params_.warm_up - std::min<std::uint64_t>(params_.warm_up, n_examples());
}

/// Not to be interrupted: half-way, there would be no tree.
void Forest::finish_warm_up(std::size_t threads) {
  const std::vector<KeptExample> kept = std::exchange(warm_up_, {});
  std::vector<Example> examples;
  for (const KeptExample& example : kept) {
    examples.push_back(example.view());
  }
  const std::uint32_t n_known = n_labels();
  for (std::uint32_t i = 0; i < params_.trees; ++i) {
    const TrainParams params = params_.of_tree(i);
    const TreeNodes nodes = cluster_labels(examples, n_known, params, threads);
    trees_[i] = OnlinePlt(params, LabelTree(nodes.parents, nodes.labels));
  }
  start_reservoir();
  teach(examples.size(), [&](std::size_t i) { return examples[i]; }, threads, {});
}

/// Learns each example, then some of the reservoir, which it has joined.
void Forest::teach(std::size_t n, const GetExample& example, std::size_t threads, const std::function<void()>& ahead) {
  if (!reservoir_) {
    teach_trees(n, example, threads, ahead);
    return;
  }
  const std::size_t each = n_lessons();
  ExampleQueue lessons(n * each, [&](std::size_t i) {
    if (i % each > 0) {
      return reservoir_->draw();
    }
    const Example next = example(i / each);
    reservoir_->add(next);
    return next;
  });
  // One example is not worth the start of a thread, however often it is followed by past ones.
  teach_trees(n * each, [&](std::size_t i) { return lessons.get(i); }, std::min(threads, n), ahead);
  reservoir_->release();
}

void Forest::teach_trees(std::size_t n, const GetExample& example, std::size_t threads,
                         const std::function<void()>& ahead) {
  if (trees_.size() == 1) {
    trees_.front().learn(n, example, threads, ahead);
    return;
  }
  const std::size_t workers = std::min(threads, n);
  const std::size_t workers_of_each = std::max<std::size_t>(workers / trees_.size(), 1);
  parallel_for(trees_.size() + 1, workers, [&](std::size_t i, std::size_t) {
    if (i > 0) {
      trees_[i - 1].learn(n, example, workers_of_each);
    } else if (ahead) {
      ahead();
    }
  });
}

std::vector<ScoredLabel> Forest::search(RowView x, const PredictParams& params, SearchScratch& scratch) const {
  if (trees_.size() == 1) {
    return oplt::search(first(), x, params, scratch);
  }
  const PredictParams asked = asked_of_each(params, trees_.size());
  std::vector<ScoredLabel> named;
  for (const OnlinePlt& tree : trees_) {
    const std::vector<ScoredLabel> found = oplt::search(tree, x, asked, scratch);
    named.insert(named.end(), found.begin(), found.end());
  }
  return best_of(mean_of(std::move(named), trees_.size()), params);
}

std::uint32_t Forest::depth() const {
  std::uint32_t depth = 0;
  for (const OnlinePlt& tree : trees_) {
    depth = std::max(depth, tree.depth());
  }
  return depth;
}

std::uint64_t Forest::n_updates() const {
  std::uint64_t n = 0;
  for (const OnlinePlt& tree : trees_) {
    n += tree.n_updates();
  }
  return n;
}

std::size_t Forest::n_cells() const {
  std::size_t n = 0;
  for (const OnlinePlt& tree : trees_) {
    n += tree.n_cells();
  }
  return n;
}

std::size_t Forest::memory_of_trees() const {
  std::size_t bytes = 0;
  for (const OnlinePlt& tree : trees_) {
    bytes += tree.memory_bytes();
  }
  return bytes;
}

std::size_t Forest::memory_of_warm_up() const {
  std::size_t bytes = 0;
  for (const KeptExample& example : warm_up_) {
    bytes += example.memory_bytes();
  }
  return bytes;
}

void Forest::save(Writer& out) const {
  for (const OnlinePlt& tree : trees_) {
    tree.save(out);
  }
  for (const KeptExample& example : warm_up_) {  // how many there are follows from the number of examples
    example.save(out);
  }
  if (reservoir_) {
    reservoir_->save(out);
  }
}

Forest Forest::load(const TrainParams& params, std::uint32_t n_features, Reader& in) {
  Forest forest(params);
  for (std::uint32_t i = 0; i < params.trees; ++i) {
    forest.trees_[i] = OnlinePlt::load(params.of_tree(i), in);
    if (forest.trees_[i].n_examples() != forest.first().n_examples()) {
      throw FormatError("tree " + std::to_string(i) + " has learnt " + std::to_string(forest.trees_[i].n_examples()) +
                        " examples, the first one " + std::to_string(forest.first().n_examples()));
    }
  }
  if (forest.n_left_to_warm_up() > 0) {
    for (std::uint64_t i = 0; i < forest.n_examples(); ++i) {
      forest.warm_up_.push_back(KeptExample::load(n_features, forest.n_labels(), in));
    }
  }
  if (forest.reservoir_) {
    forest.reservoir_ = Reservoir::load(params.seed, n_features, forest.n_labels(), in);
    if (forest.reservoir_->n_added() * forest.n_lessons() != forest.first().n_examples()) {
      throw FormatError("the trees have learnt " + std::to_string(forest.first().n_examples()) +
                        " times, the sample is of " + std::to_string(forest.reservoir_->n_added()) + " examples");
    }
  }
  return forest;
}

}  // namespace oplt

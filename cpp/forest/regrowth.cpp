// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/regrowth.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace oplt {

namespace {

constexpr std::uint64_t kLater = 4;  // new trees take over when the stream has grown by a fourth since

// The fractions of the time left that each of the first stages may take, so that most is left for learning.
constexpr std::uint64_t kToRead = 12;
constexpr std::uint64_t kToAddUp = 12;
constexpr std::uint64_t kToCluster = 6;

// How often 2-means visits each label of a group until it converges: usually 10 to 20 times.
constexpr std::size_t kVisits = 24;

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

/// What is due of the work that is left, if it is to end in `n_left` equal parts.
std::uint64_t part_of(std::uint64_t work, std::uint64_t n_left) { return n_left <= 1 ? kAll : work / n_left + 1; }

}  // namespace

RegrowthWindow RegrowthWindow::after(std::uint64_t n_examples, std::uint64_t regrown_at, const ForestParams& params) {
  const auto from = [](std::uint64_t begin) { return RegrowthWindow{begin, begin + begin / kLater}; };
  RegrowthWindow window = from(std::max(params.first_regrowth, 2 * regrown_at));
  while (window.end <= n_examples && window.end <= params.history) {  // also past those that were missed
    window = from(2 * window.begin);
  }
  return window;
}

Regrowth::Regrowth(const ForestParams& params, std::uint64_t n_examples, bool all_operations)
    : params_(params),
      n_examples_(n_examples),
      resolved_as_(n_examples - (all_operations || n_examples == 0 ? 0 : 1)),
      sums_(n_examples) {}

bool Regrowth::advance(const History& history, const LabelBook& labels, std::uint64_t n_left, HelperPool& helpers) {
  switch (stage_) {
    case Stage::kRead:
      read(history, labels, part_of(n_examples_ - reader_.n_read(), n_left / kToRead));
      break;
    case Stage::kAddUp:
      add_up(part_of(n_values_left_, n_left / kToAddUp));
      break;
    case Stage::kCluster:
      cluster(part_of(n_values_left_, n_left / kToCluster), helpers);
      break;
    case Stage::kLearn:
      // By the end, the history will have n_left more examples.
      learn(history, labels, part_of(history.size() + n_left - reader_.n_read(), n_left), helpers);
      return reader_.n_read() == history.size();
  }
  return n_left == 0 && advance(history, labels, n_left, helpers);
}

std::size_t Regrowth::memory_bytes() const {
  return (sums_ ? sums_->memory_bytes() : 0) + vectors_.memory_bytes() +
         (clustering_ ? clustering_->memory_bytes() : 0) + memory_of(grown_.trees);
}

void Regrowth::read_next(const History& history, const LabelBook& labels) {
  const std::uint64_t number = reader_.n_read();
  reader_.next(history, example_);
  labels_.assign(example_.label_names.begin(), example_.label_names.end());
  labels.resolve(labels_, std::max(number, resolved_as_));
}

void Regrowth::read(const History& history, const LabelBook& labels, std::uint64_t n) {
  for (; n > 0 && reader_.n_read() < n_examples_; --n) {
    read_next(history, labels);
    sums_->add(example_.ids, example_.values, labels_);
  }
  if (reader_.n_read() == n_examples_) {
    n_values_left_ = sums_->n_values();
    stage_ = Stage::kAddUp;
  }
}

void Regrowth::add_up(std::size_t n_values) {
  if (sums_->advance(vectors_, n_values)) {
    sums_.reset();
    stage_ = Stage::kCluster;
    begin_tree();
  } else {
    n_values_left_ -= std::min(n_values_left_, n_values);
  }
}

/// Begins to cluster the labels for the next tree.
void Regrowth::begin_tree() {
  const TreeParams params = params_.of_tree(static_cast<std::uint32_t>(grown_.trees.size()));
  clustering_.emplace(vectors_, BalancedShape{params.arity, params.max_leaves}, params.seed);
  n_values_left_ = kVisits * vectors_.n_values() * std::bit_width(vectors_.labels().size() / params.max_leaves);
}

void Regrowth::cluster(std::size_t n_values, HelperPool& helpers) {
  if (!clustering_->advance(n_values, helpers)) {
    n_values_left_ -= std::min(n_values_left_ / 2, n_values);  // never 0: it is only an estimate
    return;
  }
  const TreeParams params = params_.of_tree(static_cast<std::uint32_t>(grown_.trees.size()));
  const TreeNodes nodes = clustering_->take();
  grown_.learners.emplace_back(params, params_.learning);
  grown_.trees.emplace_back(LabelTree(nodes.parents, nodes.labels), params.seed);
  grown_.learners.back().adopt(grown_.trees.back());
  if (grown_.trees.size() < params_.trees) {
    begin_tree();
    return;
  }
  clustering_.reset();
  vectors_ = {};
  reader_ = {};
  stage_ = Stage::kLearn;
}

void Regrowth::learn(const History& history, const LabelBook& labels, std::uint64_t n, HelperPool& helpers) {
  for (n = std::min(n, history.size() - reader_.n_read()); n > 0; n -= batch_.size()) {
    batch_.clear();
    rows_.clear();
    label_sets_.clear();
    while (batch_.size() < std::min<std::uint64_t>(n, kLargestBatch)) {
      read_next(history, labels);
      batch_.push_back({rows_.build(example_.ids, example_.values, params_.rows),
                        keep(std::span<const LabelId>(labels_), label_sets_), example_.weight});
    }
    learn_trees(grown_.trees, grown_.learners, batch_, helpers);
    helpers.finish();
  }
}

}  // namespace oplt

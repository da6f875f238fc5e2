// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/fit.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/span_pool.hpp"
#include "batch/batch_training.hpp"
#include "blocks/kernels.hpp"

namespace oplt {

namespace {

constexpr std::size_t kExamplesBetweenPolls = 256;

/// Encoded examples, with the memory that they refer to.
class EncodedExamples {
 public:
  /// The first pass over the examples assigns feature ids and counts the terms of texts, the second one encodes them.
  EncodedExamples(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
                  const std::function<void()>& poll) {
    const auto for_each = [&](auto visit) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (poll && i % kExamplesBetweenPolls == 0) {
          poll();
        }
        visit(i);
      }
    };
    Encoder& encoder = state.encoder.write();
    for_each([&](std::size_t i) { encoder.learn(x, i, scratch_); });
    for_each([&](std::size_t i) {
      const EncodedFeatures features = encoder.find(x, i, scratch_);
      const RowView row = rows_.build(features.ids, features.values, state.rows);
      const std::span<const LabelId> labels = labels_of(state.labels->names(), y, i);
      examples_.push_back({row, labels, weights.empty() ? Real{1} : weights[i]});
      state.counts.write().add(labels, i);
    });
  }

  std::span<const Example> all() const { return examples_; }

 private:
  std::span<const LabelId> labels_of(const Vocabulary& vocabulary, const NamedLabels& y, std::size_t i) {
    vocabulary.find_row(y.names, y.bounds.begin(i), y.bounds.end(i), labels_);
    const auto unknown = std::find(labels_.begin(), labels_.end(), kNone);
    if (unknown != labels_.end()) {
      const std::size_t position = y.bounds.begin(i) + static_cast<std::size_t>(unknown - labels_.begin());
      throw InvalidInput("row " + std::to_string(i) + " has the label " + shown(y.names[position]) +
                         ", which is not in the tree: all labels of Y must be leaves of the tree");
    }
    sort_distinct(labels_);
    return keep(std::span<const LabelId>(labels_), label_sets_);
  }

  Encoder::Scratch scratch_;
  RowBuilder rows_;
  std::vector<LabelId> labels_;
  SpanPool<LabelId> label_sets_;
  std::vector<Example> examples_;
};

}  // namespace

ModelState fit(const BatchParams& params, const RowParams& rows, FitStart start, const Inputs& x, const NamedLabels& y,
               std::span<const Real> weights, std::size_t threads, const std::function<void()>& poll) {
  kernels();  // training does without them, but not prediction: throws if OPLT_KERNELS is wrong
  ModelState state{.rows = rows,
                   .encoder = Shared(std::move(start.encoder)),
                   .labels = Shared(book_of(start.labels)),
                   .counts = Shared(LabelCounts(start.labels.size())),
                   .forest = {},
                   .history = {},
                   .ranker = {},
                   .calibration = {}};
  const EncodedExamples examples(state, x, y, weights, poll);
  BatchParams of_tree = params;
  for (LabelTree& tree : start.trees) {
    state.forest.trees.push_back(train_batch(of_tree, std::move(tree), examples.all(), threads, poll));
    ++of_tree.seed;
  }
  return state;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/span_pool.hpp"
#include "encode/history.hpp"
#include "encode/label_book.hpp"
#include "encode/row_builder.hpp"
#include "forest/forest_params.hpp"
#include "forest/plt.hpp"
#include "forest/plt_learner.hpp"
#include "tree/label_clustering.hpp"
#include "tree/label_vectors.hpp"

namespace oplt {

/// Trees in training, and the learner of each.
struct GrowingTrees {
  std::vector<Plt> trees;
  std::deque<PltLearner> learners;
};

/// When trees are regrown. It depends on the numbers of examples alone, so that a model does not depend on the clock.
///
/// When the stream has doubled since the trees were last regrown, new trees are built from all its examples. Building
/// and training them takes about as long as the stream has taken. So it is done beside the stream, a bit with each
/// further example, and the new trees replace the old ones after a fixed number of them.
struct RegrowthWindow {
  std::uint64_t begin;  // number of examples of which the new trees are built
  std::uint64_t end;    // number of examples after which they replace the old ones

  /// The first one that ends after more than `n_examples` examples. `regrown_at` is the number of examples of which the
  /// present trees were built; 0 if they have only grown.
  static RegrowthWindow after(std::uint64_t n_examples, std::uint64_t regrown_at, const ForestParams& params);
};

/// Builds new trees for the labels of a history by 2-means (label_clustering.hpp), and trains them on it, in order.
/// The result is bit for bit that of trees that were given from the start (PltLearner).
class Regrowth {
 public:
  /// The trees are built from the first `n_examples` examples of the history. Operations on labels after fewer than
  /// `n_examples` examples count for all examples, and for `all_operations` also those after just `n_examples`; others
  /// count for the examples after them.
  Regrowth(const ForestParams& params, std::uint64_t n_examples, bool all_operations);
  Regrowth(const Regrowth&) = delete;  // the clustering refers to the vectors
  Regrowth& operator=(const Regrowth&) = delete;

  std::uint64_t n_examples() const { return n_examples_; }

  /// Does a part of the work: as much as is due if it is to end in `n_left` equal parts, all of it if that is 0. The
  /// history and the labels may have changed since the last part. Returns whether the trees are trained on all of it.
  bool advance(const History& history, const LabelBook& labels, std::uint64_t n_left, HelperPool& helpers);

  /// The trained trees.
  GrowingTrees take() { return std::move(grown_); }

  /// Without the working memory of a batch. Visits all blocks.
  std::size_t memory_bytes() const;

 private:
  enum class Stage : std::uint8_t { kRead, kAddUp, kCluster, kLearn };

  void read_next(const History& history, const LabelBook& labels);
  void read(const History& history, const LabelBook& labels, std::uint64_t n);
  void add_up(std::size_t n_values);
  void begin_tree();
  void cluster(std::size_t n_values, HelperPool& helpers);
  void learn(const History& history, const LabelBook& labels, std::uint64_t n, HelperPool& helpers);

  ForestParams params_;
  std::uint64_t n_examples_;
  std::uint64_t resolved_as_;  // the labels of earlier examples are those that the example with this number would have
  Stage stage_ = Stage::kRead;
  History::Reader reader_;
  EncodedExample example_;
  std::vector<LabelId> labels_;  // of the example
  std::optional<LabelSums> sums_;
  LabelVectors vectors_;
  std::optional<LabelClustering> clustering_;
  std::size_t n_values_left_ = 0;  // estimate for the present stage
  GrowingTrees grown_;
  // The batch that is being learnt:
  std::vector<Example> batch_;
  RowBuilder rows_;
  SpanPool<LabelId> label_sets_;
};

}  // namespace oplt

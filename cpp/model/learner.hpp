// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/named_rows.hpp"
#include "encode/row_builder.hpp"
#include "forest/forest_learner.hpp"
#include "model/model_state.hpp"
#include "model/params.hpp"

namespace oplt {

/// A batch of examples: [begin, end) of those of a call.
struct BatchBounds {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool observed = false;  // the ranking learns from the first example before anything else does

  bool is_single() const { return end == begin + 1; }
};

/// Called between two batches, when the state includes a whole number of examples.
class BatchBreak {
 public:
  virtual ~BatchBreak() = default;

  /// Whether there is something to do at the next opportunity.
  virtual bool is_due() = 0;

  /// Does it. An exception ends the training; the examples before it have been learnt. Throws ForkedCall if it forks
  /// and `helpers` do not exist in the child.
  virtual void take(const HelperPool& helpers) = 0;
};

/// Trains a model online: the policy that grows its trees, the queues of their updates, the threads. The trained state
/// is all in ModelState; a learner has only working memory.
class Learner {
 public:
  explicit Learner(const ModelParams& params) : params_(params), forest_(params.forest) {}

  /// An empty model.
  ModelState start(Encoder encoder) const;
  /// A model that starts from a tree, the only one. `labels` names the tree's labels 0, 1, 2, …
  ModelState start(Encoder encoder, LabelTree tree, const NameList& labels) const;

  /// Throws FormatError unless this learner can continue from the state.
  void expect_learnable(const ModelState& state) const;

  /// Learns examples in order. `weights` is empty or has one weight per example, above 0 and at most kLargestWeight.
  /// The result depends neither on `threads` nor on how a stream is split into calls. If the training itself throws,
  /// the state must not be used any more.
  void learn(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
             std::size_t threads, BatchBreak& between);

 private:
  /// The examples of a batch by id, and what they refer to.
  struct Batch {
    std::vector<Example> examples;
    RowBuilder rows;
    SpanPool<LabelId> label_sets;
    std::vector<std::uint64_t> digests;  // of the examples as they came, if there is a label memory
  };

  BatchBounds next_batch(const ModelState& state, std::uint64_t n_learnt, std::size_t begin, std::size_t n) const;
  void encode(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
              const BatchBounds& bounds, Batch& batch);

  ModelParams params_;
  ForestLearner forest_;
  Batch batch_;
  Batch next_;
  Encoder::Scratch scratch_;        // of encode()
  std::vector<LabelId> label_ids_;  // likewise
};

}  // namespace oplt

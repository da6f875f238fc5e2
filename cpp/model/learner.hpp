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
#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/history.hpp"
#include "encode/label_log.hpp"
#include "encode/named_rows.hpp"
#include "encode/row_builder.hpp"
#include "forest/forest_learner.hpp"
#include "forest/scored.hpp"
#include "forest/search.hpp"
#include "model/model_state.hpp"
#include "model/params.hpp"

namespace oplt {

/// A batch: examples [begin, end) of a call.
struct BatchBounds {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t number = 0;  // of the first example, in the whole stream
  bool observed = false;     // the first example is observed before the trees are updated
  bool recorded = false;     // the examples become part of the history

  bool is_single() const { return end == begin + 1; }
};

/// Called between two batches, when the state includes a whole number of examples.
class BatchBreak {
 public:
  virtual ~BatchBreak() = default;

  /// Whether a break should be taken after the current batch.
  virtual bool is_due() = 0;

  /// Takes the break. An exception ends the training; all examples before it have been learnt. Throws ForkedCall in the
  /// child if the process forks during the break, because `helpers` do not exist there.
  virtual void take(const HelperPool& helpers) = 0;
};

/// Trains a model online. The trained state is all in ModelState; a learner holds only parameters and working memory.
class Learner {
 public:
  explicit Learner(const ModelParams& params) : params_(params), forest_(params.forest) {}

  /// An empty model.
  ModelState start(Encoder encoder) const;
  /// A model with a single tree, which is given. `labels` are the names of the tree's labels 0, 1, 2, …
  ModelState start(Encoder encoder, LabelTree tree, const NameList& labels) const;

  /// Throws FormatError unless this learner can continue from the state.
  void expect_learnable(const ModelState& state) const;
  /// Call this before training a loaded state. With a memory limit, it visits all cells.
  void prepare(ModelState& state) const;

  /// Learns examples in order. `weights` is empty or has one weight per example, above 0 and at most kLargestWeight.
  /// The result depends neither on `threads` nor on how a stream is split into calls. If the training itself throws,
  /// the state must not be used any more.
  void learn(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
             std::size_t threads, BatchBreak& between);

  /// Performs an operation on labels. Throws InvalidInput, without any effect, if it is impossible. If it throws
  /// anything else, the state must not be used any more. Returns whether it has had an effect.
  bool change_labels(ModelState& state, LabelOperation operation);
  /// Throws InvalidInput if this learner cannot perform the operation, whatever the labels are.
  void expect_performable(const LabelBook& labels, const LabelOperation& operation, bool closed) const;

  /// How far a model has been learnt again.
  struct Relearnt {
    History::Reader examples;
    std::size_t n_operations = 0;

    bool is_all_of(const ModelState& from) const {
      return examples.n_read() == from.n_examples() && n_operations == from.labels->log().size();
    }
  };

  /// Learns the rest of another model's history, except the examples with the numbers `without`, which ascend. The
  /// result is that of learn() on the original examples, and of the operations on labels between them that are still
  /// possible without the others. If the other model takes texts, it must know all their terms.
  void relearn(ModelState& state, const ModelState& from, Relearnt& relearnt, std::span<const std::uint64_t> without,
               std::size_t threads, BatchBreak& between);

  /// Regrows the trees from the history, which must have all examples, also after each break. If a break throws, the
  /// state is as it was.
  void regrow(ModelState& state, std::size_t threads, BatchBreak& between);

  /// Whether the tree can be cut: it is the only one, will not be regrown any more, and there is no memory limit, which
  /// would depend on all parts.
  bool can_cut(const ModelState& state) const {
    return params_.max_memory == 0 && state.history->size() == 0 && forest_.can_cut(state.forest);
  }
  /// Cuts the tree (Plt::cut), which must be possible. Returns the subtrees; this learner goes on with the top.
  std::vector<Plt> cut(ModelState& state) const { return state.forest.trees.front().cut(); }

  /// See ForestLearner::memory_of_regrowth().
  std::size_t memory_of_regrowth() const { return forest_.memory_of_regrowth(); }

 private:
  /// The encoded examples of a batch, with the memory that they refer to.
  struct Batch {
    std::vector<Example> examples;
    RowBuilder rows;
    SpanPool<LabelId> label_sets;
    std::vector<std::uint64_t> digests;  // by example (digest_of); empty if no examples are observed
    History::Piece recorded;             // empty if there is no history
  };

  /// A batch that the trees have learnt already, but the ranker or the calibration has not.
  struct Late {
    Batch batch;
    LaterLabels found;       // by the trees, for the first example; null if it is not observed
    LaterLabels of_thinned;  // likewise, for LabelRanker::thinned(); null if there is no such row
  };

  BatchBounds next_batch(const ModelState& state, std::uint64_t n_learnt, std::size_t begin, std::size_t n) const;
  void encode(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
              const BatchBounds& bounds, Batch& batch);
  bool keeps_history(std::uint64_t n_examples) const { return n_examples <= params_.forest.history; }
  bool may_be_late(const ModelState& state, const Example* observed, const LabelFilter* shown) const;
  void observe_later(const ModelState& state, const Example* observed);
  void catch_up(ModelState& state, std::size_t n);
  void catch_up(ModelState& state) { catch_up(state, late_.size()); }
  void record(ModelState& state, bool recorded, const History::Piece& piece) const;
  void check_budget(ModelState& state);
  void describe(ModelState& state, LabelId label, const LabelDescription& description);

  ModelParams params_;
  ForestLearner forest_;
  Batch batch_;
  Batch next_;
  std::deque<Late> late_;  // in their order; empty unless the tree is cut
  SearchScratch search_scratch_;
  Encoder::Scratch scratch_;         // for encode()
  std::vector<NameId> label_names_;  // likewise
  std::vector<LabelId> label_ids_;   // likewise
};

}  // namespace oplt

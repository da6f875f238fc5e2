// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/history.hpp"
#include "encode/label_book.hpp"
#include "encode/label_counts.hpp"
#include "encode/row_builder.hpp"
#include "encode/vocabulary.hpp"
#include "forest/forest.hpp"
#include "forest/label_filter.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/label_ranker.hpp"
#include "ranking/tree_calibration.hpp"

namespace oplt {

/// Predictions for many rows: those of row i are [indptr[i], indptr[i + 1]).
struct Predictions {
  std::vector<std::int64_t> indptr;
  std::vector<LabelId> labels;
  std::vector<Real> probabilities;
};

/// Memory of the parts of a model, in bytes. Parts in a mapped file are not counted.
struct MemoryUse {
  std::size_t trees = 0;  // including their classifiers
  std::size_t label_memory = 0;
  std::size_t history = 0;
  std::size_t label_names = 0;
  std::size_t features = 0;  // their names, or the terms of texts
  std::size_t regrowth = 0;  // in progress beside the stream; only an OnlineModel has one

  std::size_t total() const { return trees + label_memory + history + label_names + features + regrowth; }
};

/// The settings that are needed to load a trained state.
struct StateParams {
  RowParams rows;
  Link link = Link::kSigmoid;
  std::size_t trees = 1;
  std::uint32_t label_memory = 0;  // number of features kept for each label; 0 = no label memory
  bool calibrated = false;         // see ModelParams
  std::optional<TextParams> text;  // if the model takes texts
};

/// Labels with the ids 0, 1, 2, … by these names, in their order. Throws InvalidInput if one occurs twice.
LabelBook book_of(const NameList& names);

/// The trained state of a model, whether trained online or in batch: names, trees with their classifiers, label memory.
/// It predicts, and can be saved and inspected.
///
/// A copy takes microseconds, because it shares all parts with the original; a learner copies a shared part before it
/// writes to it. Const members may be called from many threads concurrently.
struct ModelState {
  RowParams rows;
  Shared<Encoder> encoder;
  Shared<LabelBook> labels;
  Shared<LabelCounts> counts;  // of labels
  Forest forest;
  Shared<History> history;                             // all examples, or none
  std::optional<Shared<LabelRanker>> ranker;           // if there is a label memory
  std::optional<Shared<TreeCalibration>> calibration;  // if there is none, and the settings ask for calibration

  /// If the model is *closed*: the number of examples before. From then on, it learns with what it has: new labels and
  /// features are ignored, and classifiers and label memory start no new weights. It has no history.
  std::optional<std::uint64_t> closed_at = {};
  /// After this number of examples, the size of the model is compared with its memory budget. 0 if it has none, or is
  /// closed.
  std::uint64_t next_check = 0;

  std::uint64_t n_examples() const { return forest.n_examples(); }
  bool has_history() const { return history->size() == n_examples(); }
  void close() {
    closed_at = n_examples();
    next_check = 0;
    history = {};
  }

  /// Whether the tree is the top of a cut one (Plt::cut).
  bool is_cut() const { return forest.first().is_top(); }
  /// The whole model of a cut one and all its subtrees, by position. Throws FormatError if they do not match.
  ModelState joined(std::span<const Plt* const> subtrees) const;

  /// Whether the latest examples are repetitions of earlier ones, as far as the model watches for that.
  bool is_repeating() const;

  /// Allows only the labels `allowed`, or all if it is nullopt, but none of `denied`, and none that is not shown. For
  /// predictions by this state only.
  LabelFilter filter(std::optional<std::span<const LabelId>> allowed, std::span<const LabelId> denied) const {
    return {*labels, allowed, denied, forest.trees};
  }

  /// Predicts labels that are shown, and that params.filter allows, if it is given. Calls `poll`, if given, regularly
  /// in the calling thread; an exception from it ends the prediction.
  Predictions predict(const Inputs& x, const SearchParams& params, std::size_t threads,
                      const std::function<void()>& poll = {}) const;

  MemoryUse memory_use() const;

  /// The size of the model for the memory budget: an estimate of memory_use(), mostly from above, that depends on the
  /// examples alone. Neither how they were split into calls, nor threads, nor saving and loading in between matter. As
  /// long as there is a history, it includes a regrowth. It takes time in proportion to the number of nodes, if
  /// count_cells() has been called.
  std::size_t budget_bytes() const;
  void count_cells();

  /// A copy for prediction only; see Plt::for_prediction().
  ModelState for_prediction(Real prune, bool half = false) const;

  void save(ArrayWriter& out) const;

  /// Large parts stay in the mapped file until they are written to. Throws FormatError if a part is missing.
  static ModelState load(const ArrayReader& in, const StateParams& params);

  /// Checks all content. Throws FormatError unless the loaded state could be the result of training, so that no later
  /// training or prediction can fail because of a damaged file.
  void check() const;
};

}  // namespace oplt

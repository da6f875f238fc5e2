// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "encode/encoder.hpp"
#include "encode/row_builder.hpp"
#include "encode/vocabulary.hpp"
#include "forest/forest.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"
#include "ranking/label_ranker.hpp"

namespace oplt {

/// Answers to many rows: those of row i are [indptr[i], indptr[i + 1]).
struct Predictions {
  std::vector<std::int64_t> indptr;
  std::vector<LabelId> labels;
  std::vector<Real> probabilities;
};

/// Bytes that the parts of a model take. What lies in a mapped file is not counted.
struct MemoryUse {
  std::size_t trees = 0;  // with their classifiers
  std::size_t label_memory = 0;
  std::size_t warm_up = 0;  // examples that are kept for it
  std::size_t label_names = 0;
  std::size_t features = 0;  // their names, or the terms of texts

  std::size_t total() const { return trees + label_memory + warm_up + label_names + features; }
};

/// What a model must know of itself, beside what it has learnt, to be loaded.
struct StateParams {
  RowParams rows;
  Loss loss = Loss::kLogistic;
  std::size_t trees = 1;
  std::uint32_t label_memory = 0;  // features that the label memory keeps of each label; 0 = there is none
  std::optional<TextParams> text;  // if it takes texts
};

/// How a name is shown in messages.
std::string shown(const Name& name);

/// Numbers names in their order. Throws InvalidInput if one occurs twice.
Vocabulary vocabulary_of(const NameList& labels);

/// What has been learnt, by whichever learner: names, trees with their classifiers, label memory. It predicts, is saved
/// and is looked at.
///
/// A copy shares everything with the original, and takes microseconds; a learner copies a part before it writes it if
/// somebody else holds it. Const members may be called from many threads at once.
struct ModelState {
  RowParams rows;
  Shared<Encoder> encoder;
  Shared<Vocabulary> labels;
  Forest forest;
  std::optional<Shared<LabelRanker>> ranker;  // if there is a label memory

  std::uint64_t n_examples() const { return forest.n_examples(); }

  /// Calls `poll`, if given, in the calling thread every now and then; what it throws ends the prediction.
  Predictions predict(const Inputs& x, const SearchParams& params, std::size_t threads,
                      const std::function<void()>& poll = {}) const;

  MemoryUse memory_use() const;

  /// How many examples of each label have been learnt, by label; nothing if there is no label memory, which counts
  /// them.
  std::optional<std::vector<std::uint32_t>> label_counts() const;

  /// A copy that only predicts; see Plt::for_prediction().
  ModelState for_prediction(Real prune, bool half = false) const;

  void save(ArrayWriter& out) const;

  /// Large parts stay in the file until they are written. Throws FormatError if the file does not have them.
  static ModelState load(const ArrayReader& in, const StateParams& params);

  /// Throws FormatError unless what was loaded is as if it had been learnt: then nothing that is learnt or asked
  /// afterwards can go wrong.
  void check() const;
};

}  // namespace oplt

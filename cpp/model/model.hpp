// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/params.hpp"
#include "base/scratch_pool.hpp"
#include "base/types.hpp"
#include "encode/named_rows.hpp"
#include "encode/row_builder.hpp"
#include "encode/text_features.hpp"
#include "encode/vocabulary.hpp"
#include "forest/example_queue.hpp"
#include "forest/forest.hpp"
#include "io/archive.hpp"
#include "ranking/label_ranker.hpp"

namespace oplt {

/// Answers to many rows: those of row i are [indptr[i], indptr[i + 1]).
struct Predictions {
  std::vector<std::int64_t> indptr;
  std::vector<LabelId> labels;
  std::vector<Real> probabilities;
  std::uint64_t n_examples = 0;  // how many examples the model had learnt when it answered
};

/// Bytes that the parts of a model take.
struct MemoryUse {
  std::size_t trees = 0;  // with their classifiers
  std::size_t label_memory = 0;
  std::size_t warm_up = 0;  // examples that are kept for it, as for
  std::size_t replay = 0;   // this
  std::size_t label_names = 0;
  std::size_t feature_names = 0;
  std::size_t text_features = 0;

  std::size_t total() const {
    return trees + label_memory + warm_up + replay + label_names + feature_names + text_features;
  }
};

/// A Forest together with the names of its labels and features: what is learnt, asked, saved and shared.
///
/// If it has text features, its examples are texts: learn_texts(), predict_texts() and fit_texts() take the place of
/// learn_many(), predict_many() and fit(), which are for models without.
///
/// One thread at a time learns, any number predict; each call waits for its turn, so that every answer is that of the
/// model after a whole number of examples.
class Model {
 public:
  /// Starts with nothing, which needs a policy that grows.
  explicit Model(const TrainParams& params, std::optional<TextFeatures> text = {});

  /// Starts from a tree, the only one. `labels` names the tree's labels 0, 1, 2, … If the policy never grows, there is
  /// at least one, and labels of examples that the tree lacks are ignored.
  Model(const TrainParams& params, LabelTree tree, const NameList& labels, std::optional<TextFeatures> text = {});

  Model(const TrainParams& params, std::span<const std::byte> saved, const std::optional<TextParams>& text = {});

  /// Trains all classifiers of the tree that the model was made from at once (batch_training.hpp). Throws InvalidInput
  /// if a row has a label that the tree lacks. If it throws, the model is of no use. For `weights` see learn_many(),
  /// for `poll` predict_many().
  void fit(const NamedRows& x, const NamedLabels& y, std::span<const Real> weights, const BatchParams& params,
           std::size_t threads, const std::function<void()>& poll = {});

  /// Learns the rows in order. `weights` is empty or has one weight a row, above 0 and at most
  /// kLargestWeight.
  void learn_many(const NamedRows& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads);

  /// Calls `poll`, if given, in the calling thread every now and then; what it throws ends the prediction.
  Predictions predict_many(const NamedRows& x, const PredictParams& params,
                           const std::function<void()>& poll = {}) const;

  /// Counts all texts first: each gets the row that the text features give it in the end.
  void fit_texts(Texts texts, const NamedLabels& y, std::span<const Real> weights, const BatchParams& params,
                 std::size_t threads, const std::function<void()>& poll = {});

  /// Counts each text, then learns it with the row that the text features give it at that time.
  void learn_texts(Texts texts, const NamedLabels& y, std::span<const Real> weights, std::size_t threads);

  Predictions predict_texts(Texts texts, const PredictParams& params, const std::function<void()>& poll = {}) const;

  /// Whether there are text features. It never changes.
  bool takes_texts() const { return text_.has_value(); }

  /// The text features as they are now.
  std::optional<TextFeatures> text_features() const {
    const auto lock = turn<ReaderLock>();
    return text_;
  }

  void save(Writer& out) const;

  MemoryUse memory_use() const;

  /// How many examples of each label have been learnt, by label; nothing if there is no label memory, which counts
  /// them.
  std::optional<std::vector<std::uint32_t>> label_counts() const;

  std::uint32_t n_features() const {
    const auto lock = turn<ReaderLock>();
    return count_features();
  }

  /// Calls read(forest, features, labels) while nobody learns.
  template <class Read>
  auto inspect(Read read) const {
    const auto lock = turn<ReaderLock>();
    return read(forest_, features_, labels_);
  }

 private:
  Model(const TrainParams& params, Forest forest, const NameList& labels, std::optional<TextFeatures> text);

  /// Working memory of one predicting thread.
  struct PredictScratch {
    std::vector<FeatureId> ids;
    TextRow text;
    RowBuilder row_builder;
    LabelRanker::Scratch ranking;
  };

  /// Ids and values of an example's features.
  struct Features {
    std::span<const FeatureId> ids;
    std::span<const Real> values;
  };

  using ReaderLock = std::shared_lock<std::shared_mutex>;
  using WriterLock = std::unique_lock<std::shared_mutex>;

  /// Waits for the lock in order of arrival: without the turnstile, readers that never pause would keep a writer
  /// waiting for ever.
  template <class Lock>
  Lock turn() const {
    const std::scoped_lock next(turnstile_);
    Lock lock(mutex_);
    if (broken_) {
      throw BrokenModel("learning has failed before, and left the model half changed: load it again from a file");
    }
    return lock;
  }

  std::uint32_t count_features() const { return text_ ? text_->terms().size() : features_.size(); }

  /// What rows and texts have in common. features_of(i), or features_of(i, scratch), are the features of example i; the
  /// label sets tell how many there are. To be called with the lock, but for predict().
  template <class FeaturesOf>
  void fit(std::size_t n_values, FeaturesOf features_of, const NamedLabels& y, std::span<const Real> weights,
           const BatchParams& params, std::size_t threads, const std::function<void()>& poll);
  template <class FeaturesOf>
  void learn(std::size_t n_values, FeaturesOf features_of, const NamedLabels& y, std::span<const Real> weights,
             std::size_t threads);
  template <class FeaturesOf>
  Predictions predict(std::size_t n_rows, FeaturesOf features_of, const PredictParams& params,
                      const std::function<void()>& poll) const;

  void learn_segment(ExampleQueue& examples, std::size_t begin, std::size_t end, std::size_t threads);

  mutable std::mutex turnstile_;
  mutable std::shared_mutex mutex_;
  Vocabulary features_;               // empty if there are text features
  std::optional<TextFeatures> text_;  // if examples are texts
  Vocabulary labels_;
  Forest forest_;
  std::optional<LabelRanker> ranker_;  // if there is a label memory
  RowBuilder row_builder_;             // of learn_many()
  bool broken_ = false;                // learning has failed half-way
  mutable ScratchPool<PredictScratch> scratches_;
};

}  // namespace oplt

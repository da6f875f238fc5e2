// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/learner.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace oplt {

namespace {

/// The larger the batch, the more updates each block gets while it is in the cache; batches beyond this size are not
/// faster (measured), and readers wait longer for them.
constexpr std::size_t kMostTogether = 2048;

std::optional<Shared<LabelRanker>> ranker_for(const ModelParams& params) {
  return params.label_memory > 0 ? std::optional(Shared(LabelRanker(params.label_memory))) : std::nullopt;
}

std::optional<Shared<TreeCalibration>> calibration_for(const ModelParams& params) {
  return params.label_memory == 0 && params.calibrated ? std::optional(Shared(TreeCalibration())) : std::nullopt;
}

/// Whether the ranker or the calibration observes the example with this number.
bool observes(const ModelState& state, std::uint64_t number) {
  return (state.ranker && LabelRanker::observes(number)) || (state.calibration && TreeCalibration::observes(number));
}

/// Before a batch is learnt. `observer` is a LabelRanker or a TreeCalibration.
template <class Observer>
void watch(Observer& observer, const Forest& forest, std::span<const std::uint64_t> digests, const Example* observed) {
  if (observer.recognise(digests) && observed != nullptr) {
    observer.observe(forest, *observed);
  }
}

/// A hash of a sequence of numbers and texts; it depends on their order.
class Digest {
 public:
  void add(std::uint64_t number) { state_ = Random(state_ ^ number).next(); }
  void add(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size(); begin += sizeof(std::uint64_t)) {
      std::uint64_t bytes = 0;
      for (const char byte : text.substr(begin, sizeof bytes)) {  // independent of the machine's byte order
        bytes = (bytes << 8) | static_cast<unsigned char>(byte);
      }
      add(bytes);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// Hash of a row as passed by the caller, independent of the order of its features.
std::uint64_t digest_of_further(const NamedRows& rows, std::size_t i) {
  std::uint64_t sum = 0;
  for (std::size_t j = rows.bounds.begin(i); j < rows.bounds.end(i); ++j) {
    Digest digest;
    const Name name = rows.names[j];
    digest.add(name.text);
    digest.add(static_cast<std::uint64_t>(name.number));
    digest.add(std::bit_cast<std::uint32_t>(rows.values[j]));
    sum += digest.value();
  }
  return sum;
}

/// Hash of an example. A text is hashed by its bytes, because its feature values change as the model learns.
std::uint64_t digest_of(const Inputs& x, std::size_t i, RowView row, std::span<const LabelId> labels) {
  Digest digest;
  if (x.texts) {
    digest.add((*x.texts)[i]);
    digest.add(x.has_further ? digest_of_further(x.rows, i) : 0);
  } else {
    for (std::size_t j = 0; j < row.size(); ++j) {
      digest.add((std::uint64_t{row.features[j]} << 32) | std::bit_cast<std::uint32_t>(row.values[j]));
    }
  }
  for (const LabelId label : labels) {
    digest.add(label);
  }
  return digest.value();
}

}  // namespace

ModelState Learner::start(Encoder encoder) const {
  if (params_.forest.tree.policy == Policy::kFixed) {
    throw InvalidParameter(
        "policy 'fixed' never extends the tree, so an empty tree would stay empty: start from a tree with from_tree");
  }
  return {.rows = params_.rows,
          .encoder = Shared(std::move(encoder)),
          .labels = {},
          .forest = forest_.start(),
          .ranker = ranker_for(params_),
          .calibration = calibration_for(params_)};
}

ModelState Learner::start(Encoder encoder, LabelTree tree, const NameList& labels) const {
  if (params_.forest.tree.policy == Policy::kFixed && tree.n_labels() == 0) {
    throw InvalidParameter(
        "policy 'fixed' never extends the tree, so an empty tree would stay empty: start from a tree with from_tree");
  }
  return {.rows = params_.rows,
          .encoder = Shared(std::move(encoder)),
          .labels = Shared(vocabulary_of(labels)),
          .forest = forest_.start(std::move(tree)),
          .ranker = ranker_for(params_),
          .calibration = calibration_for(params_)};
}

void Learner::expect_learnable(const ModelState& state) const { forest_.expect_learnable(state.forest); }

/// The only place that decides which examples form a batch. A batch ends before the next example that is
/// observed, because the observer must see the trees as they are just before that example, and at the end of a warm-up.
/// `n_learnt` is the number of examples before `begin`, including those of former calls.
BatchBounds Learner::next_batch(const ModelState& state, std::uint64_t n_learnt, std::size_t begin,
                                std::size_t n) const {
  const auto observed = [&](std::size_t i) { return observes(state, n_learnt + i - begin); };
  const std::uint64_t warm_up = params_.forest.warm_up;
  const std::uint64_t to_warm_up = warm_up > n_learnt ? warm_up - n_learnt : kMostTogether;
  const std::size_t most = begin + std::min<std::size_t>({kMostTogether, n - begin, to_warm_up});
  BatchBounds bounds{begin, begin, begin < n && observed(begin)};
  while (bounds.end < most && (bounds.end == begin || !observed(bounds.end))) {
    ++bounds.end;
  }
  return bounds;
}

void Learner::encode(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
                     const BatchBounds& bounds, Batch& batch) {
  batch.examples.clear();
  batch.rows.clear();
  batch.label_sets.clear();
  batch.digests.clear();
  for (std::size_t i = bounds.begin; i < bounds.end; ++i) {
    const EncodedFeatures features = learn_features(state.encoder, x, i, scratch_);
    const RowView row = batch.rows.build(features.ids, features.values, state.rows);
    state.labels->find_row(y.names, y.bounds.begin(i), y.bounds.end(i), label_ids_);
    if (std::find(label_ids_.begin(), label_ids_.end(), kNone) != label_ids_.end()) {
      if (params_.forest.tree.policy == Policy::kFixed) {
        std::erase(label_ids_, kNone);  // unknown labels leave no trace, not even their names
      } else {
        state.labels.write().add_row(y.names, y.bounds.begin(i), y.bounds.end(i), label_ids_);
      }
    }
    const Real weight = weights.empty() ? Real{1} : weights[i];
    batch.examples.push_back({row, keep_distinct(label_ids_, batch.label_sets), weight});
    if (state.ranker || state.calibration) {
      batch.digests.push_back(digest_of(x, i, row, batch.examples.back().labels));
    }
  }
}

/// The steps for each batch: encode, let the ranker or the calibration observe, train the trees (PltLearner::learn),
/// let the ranker remember. While the trees are trained, helpers encode the next batch and remember this one. If a
/// break is due, the next batch is not encoded ahead, so that all parts of the state include exactly the same examples.
void Learner::learn(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
                    std::size_t threads, BatchBreak& between) {
  const std::size_t n = y.bounds.n_rows();
  HelperPool helpers(std::max<std::size_t>(std::min(threads, n), 1) - 1);
  HelperPool none(0);  // for single examples: waking a helper takes longer than learning them
  bool is_encoded = false;
  for (BatchBounds bounds = next_batch(state, state.n_examples(), 0, n); bounds.begin < n;) {
    if (is_encoded) {
      std::swap(batch_, next_);
    } else {
      encode(state, x, y, weights, bounds, batch_);
    }
    const std::span<const Example> examples = batch_.examples;
    const BatchBounds next = next_batch(state, state.n_examples() + examples.size(), bounds.end, n);
    is_encoded = helpers.size() > 0 && !next.is_single() && !between.is_due();
    if (is_encoded) {
      helpers.start([&, next](std::size_t) { encode(state, x, y, weights, next, next_); });
    }
    const Example* observed = bounds.observed ? &examples.front() : nullptr;
    if (state.ranker) {
      watch(state.ranker->write(), state.forest, batch_.digests, observed);
    } else if (state.calibration) {
      watch(state.calibration->write(), state.forest, batch_.digests, observed);
    }
    HelperPool& own_helpers = bounds.is_single() ? none : helpers;
    if (state.ranker) {
      own_helpers.start([&ranker = state.ranker->write(), examples](std::size_t) { ranker.remember(examples); });
    }
    forest_.learn(state.forest, examples, own_helpers);
    own_helpers.finish();
    helpers.finish();
    bounds = next;
    if (!is_encoded && between.is_due()) {
      between.take(helpers);
      bounds = next_batch(state, state.n_examples(), next.begin, n);  // other threads may have trained meanwhile
    }
  }
}

}  // namespace oplt

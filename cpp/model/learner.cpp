// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/learner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace oplt {

namespace {

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

/// Records the digests of a batch. Returns whether its first example is new. There are no digests if the model is
/// closed: then all examples count as new.
bool recognise(ModelState& state, std::span<const std::uint64_t> digests) {
  if (digests.empty()) {
    return true;
  }
  return state.ranker ? state.ranker->write().recognise(digests) : state.calibration->write().recognise(digests);
}

/// Before the trees learn the example, or with what they found before.
void observe(ModelState& state, const LabelFilter* shown, const Example& example,
             const FoundByTrees* by_trees = nullptr) {
  if (state.ranker) {
    state.ranker->write().observe(state.forest, shown, example, by_trees);
  } else {
    state.calibration->write().observe(state.forest, shown, example, by_trees != nullptr ? &by_trees->labels : nullptr);
  }
}

/// A hash of a sequence of numbers; it depends on their order.
class Digest {
 public:
  void add(std::uint64_t number) { state_ = Random(state_ ^ number).next(); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// Hash of an example. A text is hashed by its terms, because their values change as the model learns.
std::uint64_t digest_of(const EncodedFeatures& features, RowView row, std::span<const LabelId> labels) {
  Digest digest;
  if (features.of_text) {
    digest.add(features.digest);
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

constexpr std::uint64_t kFirstCheck = 128;  // number of examples
constexpr double kFaster = 16;

/// The least number of examples between two comparisons of the size of a model with its budget. More would take time,
/// because a batch ends with each.
std::uint64_t least_step(std::uint64_t n_examples) { return std::max(kFirstCheck, n_examples / 256); }

/// The number of examples until the next comparison: few enough that the model stays within its budget if it grows
/// kFaster times as fast as it has on average, unless that is less than the least step. It depends on the stream alone,
/// so that the model does.
std::uint64_t step_to_check(std::uint64_t n_examples, double size, double budget) {
  const double step = static_cast<double>(n_examples) * (budget / size - 1) / kFaster;
  const auto n = static_cast<double>(n_examples);
  return std::max(least_step(n_examples), static_cast<std::uint64_t>(std::clamp(step, 0.0, n)));
}

}  // namespace

ModelState Learner::start(Encoder encoder) const {
  if (params_.forest.tree.policy == Policy::kFixed) {
    throw InvalidParameter(
        "policy 'fixed' never extends the tree, so an empty tree would stay empty: start from a tree with from_tree");
  }
  return {.rows = params_.forest.rows,
          .encoder = Shared(std::move(encoder)),
          .labels = {},
          .counts = {},
          .forest = forest_.start(),
          .history = {},
          .ranker = ranker_for(params_),
          .calibration = calibration_for(params_),
          .next_check = params_.max_memory > 0 ? kFirstCheck : 0};
}

ModelState Learner::start(Encoder encoder, LabelTree tree, const NameList& labels) const {
  if (params_.forest.tree.policy == Policy::kFixed && tree.n_labels() == 0) {
    throw InvalidParameter(
        "policy 'fixed' never extends the tree, so an empty tree would stay empty: start from a tree with from_tree");
  }
  return {.rows = params_.forest.rows,
          .encoder = Shared(std::move(encoder)),
          .labels = Shared(book_of(labels)),
          .counts = Shared(LabelCounts(labels.size())),
          .forest = forest_.start(std::move(tree)),
          .history = {},
          .ranker = ranker_for(params_),
          .calibration = calibration_for(params_),
          .next_check = params_.max_memory > 0 ? kFirstCheck : 0};
}

void Learner::expect_learnable(const ModelState& state) const {
  forest_.expect_learnable(state.forest);
  const bool may_have_none = params_.max_memory > 0 || state.closed_at || !keeps_history(state.n_examples());
  const bool may_have_all = keeps_history(state.n_examples());
  if (!(may_have_all && state.has_history()) && !(may_have_none && state.history->size() == 0)) {
    throw FormatError("the number of examples in the history does not match the settings");
  }
  if ((state.next_check > 0) != (params_.max_memory > 0 && !state.closed_at)) {
    throw FormatError("the memory limit does not match the settings");
  }
}

void Learner::prepare(ModelState& state) const {
  if (state.next_check > 0) {
    state.count_cells();
  }
}

/// The only place that decides which examples form a batch. A batch ends before the next example that is
/// observed, because the observer must see the trees as they are just before that example, when regrown trees take
/// over, and when the size of the model is compared with its budget. `n_learnt` is the number of examples before
/// `begin`, including those of former calls.
BatchBounds Learner::next_batch(const ModelState& state, std::uint64_t n_learnt, std::size_t begin,
                                std::size_t n) const {
  const auto observed = [&](std::size_t i) { return observes(state, n_learnt + i - begin); };
  const std::uint64_t change = forest_.next_change(state.forest, n_learnt).value_or(n_learnt + kLargestBatch);
  const std::uint64_t check = state.next_check > n_learnt ? state.next_check : change;
  const std::uint64_t to_change = std::min(change, check) - n_learnt;
  const std::size_t most = begin + std::min<std::size_t>({kLargestBatch, n - begin, to_change});
  BatchBounds bounds{begin, begin, n_learnt, begin < n && observed(begin)};
  while (bounds.end < most && (bounds.end == begin || !observed(bounds.end))) {
    ++bounds.end;
  }
  bounds.recorded = state.has_history() && keeps_history(n_learnt + bounds.end - begin);
  return bounds;
}

void Learner::encode(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
                     const BatchBounds& bounds, Batch& batch) {
  batch.examples.clear();
  batch.rows.clear();
  batch.label_sets.clear();
  batch.digests.clear();
  batch.recorded.clear();
  for (std::size_t i = bounds.begin; i < bounds.end; ++i) {
    const EncodedFeatures features = learn_features(state.encoder, x, i, !state.closed_at, scratch_);
    const RowView row = batch.rows.build(features.ids, features.values, state.rows);
    state.labels->names().find_row(y.names, y.bounds.begin(i), y.bounds.end(i), label_names_);
    if (std::find(label_names_.begin(), label_names_.end(), kNone) != label_names_.end()) {
      if (params_.forest.tree.policy == Policy::kFixed || state.closed_at) {
        std::erase(label_names_, kNone);  // unknown labels leave no trace, not even their names
      } else {
        state.labels.write().add_row(y.names, y.bounds.begin(i), y.bounds.end(i), label_names_);
        state.counts.write().resize(state.labels->size());
      }
    }
    sort_distinct(label_names_);
    const std::uint64_t number = bounds.number + i - bounds.begin;
    label_ids_ = label_names_;
    state.labels->resolve(label_ids_, number);
    state.counts.write().add(label_ids_, number);
    const Real weight = weights.empty() ? Real{1} : weights[i];
    batch.examples.push_back({row, keep(std::span<const LabelId>(label_ids_), batch.label_sets), weight});
    if (bounds.recorded) {
      batch.recorded.add(features, label_names_, weight);
    }
    if ((state.ranker || state.calibration) && !state.closed_at) {  // a digest needs the unknown features, too
      batch.digests.push_back(digest_of(features, row, batch.examples.back().labels));
    }
  }
}

/// When the stream exceeds the limit, the history ends: a part of it would be of no use.
void Learner::record(ModelState& state, bool recorded, const History::Piece& piece) const {
  if (recorded) {
    state.history.write().append(piece);
  } else if (state.history->size() > 0) {
    state.history = {};
  }
}

/// Acts if the model would exceed its budget before the next check, should it go on growing as it has so far. The
/// history goes first, because the trees of a regrowth would take as much memory as the present ones.
void Learner::check_budget(ModelState& state) {
  const std::uint64_t n = state.n_examples();
  const auto budget = static_cast<double>(params_.max_memory);
  const double growth = 1 + static_cast<double>(least_step(n)) / static_cast<double>(n);
  auto size = static_cast<double>(state.budget_bytes());
  if (size * growth > budget && state.history->size() > 0) {
    state.history = {};
    size = static_cast<double>(state.budget_bytes());
  }
  if (size * growth > budget) {
    state.close();
    forest_.close();
  } else {
    state.next_check = n + step_to_check(n, size, budget);
  }
}

/// In a cut tree, a search takes as long as learning many examples, because shards are elsewhere. So the trees go on,
/// and the ranker or the calibration follows a batch later, when the answers have come. Nothing differs, since the
/// trees do not depend on it, and it depends on the trees only by these answers. Not possible if some labels are
/// hidden, because such a search may have to be repeated, and if it is not certain whether the ranker will use the
/// observed example, because then it is not known whether the next ones are thinned.
bool Learner::may_be_late(const ModelState& state, const Example* observed, const LabelFilter* shown) const {
  return state.forest.is_cut() && shown == nullptr &&
         (observed == nullptr || !state.ranker || (*state.ranker)->will_use(observed->x));
}

void Learner::observe_later(const ModelState& state, const Example* observed) {
  Late late;
  if (observed != nullptr) {
    const SearchParams search = state.ranker ? LabelRanker::observed_search(state.forest, nullptr)
                                             : TreeCalibration::observed_search(state.forest, nullptr);
    late.found = state.forest.search_later(observed->x, search, search_scratch_);
    const auto n_before = std::ranges::count_if(late_, [](const Late& each) { return each.found != nullptr; });
    const auto thinned = state.ranker ? (*state.ranker)->thinned(observed->x, static_cast<std::uint64_t>(n_before))
                                      : std::optional<ThinnedRow>();
    if (thinned) {
      late.of_thinned = state.forest.search_later(thinned->view(), search, search_scratch_);
    }
  } else if (!state.ranker) {
    return;  // the calibration learns from observed examples only
  }
  late.batch = std::exchange(batch_, {});
  late_.push_back(std::move(late));
}

/// Observes, and remembers, the first n of the batches that the trees have learnt already.
void Learner::catch_up(ModelState& state, std::size_t n) {
  for (; n > 0; --n) {
    const Late& late = late_.front();
    const std::span<const Example> examples = late.batch.examples;
    if (late.found) {
      FoundByTrees by_trees{.labels = late.found(), .of_thinned = {}};
      if (late.of_thinned) {
        by_trees.of_thinned = late.of_thinned();
      }
      observe(state, nullptr, examples.front(), &by_trees);
    }
    if (state.ranker) {
      state.ranker->write().remember(examples, !state.closed_at);
    }
    late_.pop_front();
  }
}

/// The steps for each batch: encode, let the ranker or the calibration observe, train the trees (PltLearner::learn),
/// let the ranker remember; if the tree is cut, it observes and remembers later. While the trees are trained, helpers
/// encode the next batch and remember this one. If a break is due, the next batch is not encoded ahead, so that all
/// parts of the state include exactly the same examples.
void Learner::learn(ModelState& state, const Inputs& x, const NamedLabels& y, std::span<const Real> weights,
                    std::size_t threads, BatchBreak& between) {
  const std::size_t n = y.bounds.n_rows();
  HelperPool helpers(std::max<std::size_t>(std::min(threads, n), 1) - 1);
  HelperPool none(0);  // for single examples: waking a helper takes longer than learning them
  bool is_encoded = false;
  late_.clear();          // a call that failed may have left some
  std::size_t n_due = 0;  // of the late batches: those before the last one that was not a single example
  if (state.closed_at) {
    forest_.close();
  }
  for (BatchBounds bounds = next_batch(state, state.n_examples(), 0, n); bounds.begin < n;) {
    if (is_encoded) {
      std::swap(batch_, next_);
    } else {
      encode(state, x, y, weights, bounds, batch_);
    }
    const std::span<const Example> examples = batch_.examples;
    const BatchBounds next = next_batch(state, state.n_examples() + examples.size(), bounds.end, n);
    const std::optional<LabelFilter> not_hidden = shown_labels(*state.labels);  // before the next labels are added
    const LabelFilter* shown = not_hidden ? &*not_hidden : nullptr;
    const bool is_check = next.number == state.next_check;
    is_encoded = helpers.size() > 0 && !next.is_single() && !between.is_due() && !is_check;
    if (is_encoded) {
      helpers.start([&, next](std::size_t) { encode(state, x, y, weights, next, next_); });
    }
    const bool is_new = recognise(state, batch_.digests);
    const Example* observed = bounds.observed && is_new ? &examples.front() : nullptr;
    const bool is_late = may_be_late(state, observed, shown);
    if (is_late) {
      observe_later(state, observed);
    } else {
      catch_up(state);
      n_due = 0;
      if (observed != nullptr) {
        observe(state, shown, *observed);
      }
    }
    HelperPool& own_helpers = bounds.is_single() ? none : helpers;
    if (state.ranker && !is_late) {
      own_helpers.start([&ranker = state.ranker->write(), examples, grow = !state.closed_at](std::size_t) {
        ranker.remember(examples, grow);
      });
    }
    forest_.learn(state.forest, examples, own_helpers);
    if (is_late && !bounds.is_single()) {  // shards have work for a while, and have answered what was asked before
      catch_up(state, n_due);
      n_due = late_.size();
    }
    own_helpers.finish();
    helpers.finish();
    record(state, bounds.recorded, batch_.recorded);
    if (is_check) {
      check_budget(state);
    }
    forest_.regrow_beside(state.forest, *state.history, *state.labels, examples.size(), own_helpers);
    bounds = next;
    const bool is_break = !is_encoded && between.is_due();
    if (is_break) {
      catch_up(state);
      n_due = 0;
      between.take(helpers);
    }
    if (is_break || is_check) {  // other threads may have trained meanwhile, or the history may have ended
      bounds = next_batch(state, state.n_examples(), next.begin, n);
    }
  }
  catch_up(state);
}

namespace {

/// Encoded examples in the form in which users pass them.
class NamedAgain {
 public:
  explicit NamedAgain(const ModelState& names) : names_(names) {}

  void add(const EncodedExample& example) {
    if (names_.encoder->takes_texts()) {
      texts_.push_back(example);
    } else {
      for (const FeatureId id : example.ids) {
        features_.push_back(names_.encoder->vocabulary()->name(id));
      }
      values_.insert(values_.end(), example.values.begin(), example.values.end());
    }
    for (const NameId name : example.label_names) {
      labels_.push_back(names_.labels->names().name(name));
    }
    feature_ends_.push_back(static_cast<std::int64_t>(features_.size()));
    label_ends_.push_back(static_cast<std::int64_t>(labels_.size()));
    weights_.push_back(example.weight);
  }

  std::size_t size() const { return weights_.size(); }

  Inputs inputs() const {
    Inputs inputs{.rows = {{feature_ends_}, {.names = features_, .numbers = {}}, values_}, .texts = {}, .recorded = {}};
    if (names_.encoder->takes_texts()) {
      inputs.recorded.emplace(names_.encoder->text_features()->terms(), texts_);
    }
    return inputs;
  }
  NamedLabels labels() const { return {{label_ends_}, {.names = labels_, .numbers = {}}}; }
  std::span<const Real> weights() const { return weights_; }

 private:
  const ModelState& names_;
  std::vector<EncodedExample> texts_;
  std::vector<Name> features_;
  std::vector<Real> values_;
  std::vector<std::int64_t> feature_ends_{0};
  std::vector<Name> labels_;
  std::vector<std::int64_t> label_ends_{0};
  std::vector<Real> weights_;
};

/// An operation may be impossible because examples have been left out: it would have failed then, too.
void change_if_possible(Learner& learner, ModelState& state, const LabelOperation& operation) {
  try {
    learner.change_labels(state, operation);
  } catch (const InvalidInput&) {
  }
}

}  // namespace

void Learner::relearn(ModelState& state, const ModelState& from, Relearnt& relearnt,
                      std::span<const std::uint64_t> without, std::size_t threads, BatchBreak& between) {
  const LabelLog& log = from.labels->log();
  EncodedExample example;
  while (!relearnt.is_all_of(from)) {
    // Operations come before the example with the number that they have recorded.
    const bool has_operation = relearnt.n_operations < log.size();
    const std::uint64_t next = has_operation ? log[relearnt.n_operations].n_examples : from.n_examples();
    if (has_operation && next == relearnt.examples.n_read()) {
      change_if_possible(*this, state, log[relearnt.n_operations++]);
      continue;
    }
    NamedAgain examples(from);
    while (relearnt.examples.n_read() < next && examples.size() < kLargestBatch) {
      const std::uint64_t number = relearnt.examples.n_read();
      relearnt.examples.next(*from.history, example);
      if (!std::binary_search(without.begin(), without.end(), number)) {
        examples.add(example);
      }
    }
    learn(state, examples.inputs(), examples.labels(), examples.weights(), threads, between);
  }
}

void Learner::expect_performable(const LabelBook& labels, const LabelOperation& operation, bool closed) const {
  const bool is_new = operation.kind == LabelOperation::Kind::kAdd && labels.names().find(operation.label) == kNone;
  if (is_new && params_.forest.tree.policy == Policy::kFixed) {
    throw LabelRefused("labels-fixed", "the label " + shown(operation.label) + " cannot be added to a fixed tree",
                       "The policy 'fixed' never extends the tree; build it over all labels, or use another policy.");
  }
  if (is_new && closed) {
    throw LabelRefused("labels-closed", "the label " + shown(operation.label) + " cannot be added to a closed model",
                       "The model has reached max_memory; create one with a larger max_memory.");
  }
  if (operation.description && params_.label_memory == 0) {
    throw LabelRefused("no-label-memory", "a description of a label needs a label memory, but the model has none",
                       "Create the model with label_memory above 0.");
  }
}

bool Learner::change_labels(ModelState& state, LabelOperation operation) {
  expect_performable(*state.labels, operation, state.closed_at.has_value());
  operation.n_examples = state.n_examples();
  const LabelBook::Change change = state.labels.write().apply(operation);
  state.counts.write().resize(state.labels->size());
  if (change.into != kNone) {
    state.counts.write().merge(change.label, change.into, state.n_examples());
  }
  if (state.ranker && change.into != kNone) {
    state.ranker->write().merge(change.label, change.into);
  } else if (state.ranker && operation.kind == LabelOperation::Kind::kRemove) {
    state.ranker->write().remove(change.label);
  } else if (operation.description) {
    describe(state, change.label, *operation.description);
  }
  return change.label != kNone;
}

/// The description is encoded like an example, and becomes a part of the label memory.
void Learner::describe(ModelState& state, LabelId label, const LabelDescription& description) {
  const std::array<std::int64_t, 2> bounds{0, static_cast<std::int64_t>(description.names.size())};
  Inputs inputs{.rows = {{bounds}, {.names = description.names, .numbers = {}}, description.values},
                .texts = {},
                .has_further = !description.names.empty(),
                .recorded = {}};
  if (description.text) {
    inputs.texts.emplace(&*description.text, 1);
  }
  RowBuilder rows;
  const bool grow = !state.closed_at;
  const EncodedFeatures features = learn_features(state.encoder, inputs, 0, grow, scratch_);
  state.ranker->write().describe(rows.build(features.ids, features.values, state.rows), label, grow);
}

void Learner::regrow(ModelState& state, std::size_t threads, BatchBreak& between) {
  HelperPool helpers(std::max<std::size_t>(threads, 1) - 1);
  forest_.regrow(state.forest, state.history, state.labels, helpers, [&] {
    if (between.is_due()) {
      between.take(helpers);
    }
  });
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/model_state.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/forks.hpp"
#include "base/interruption.hpp"
#include "base/parallel.hpp"
#include "blocks/kernels.hpp"
#include "model/predict_scratch.hpp"

namespace oplt {

namespace {

constexpr const char* kHistory = "history";
constexpr const char* kCounts = "labels/counts";
constexpr const char* kClosedAt = "trees/closed_at";
constexpr const char* kNextCheck = "trees/next_check";

// With up to this many rows, the calling thread uses the scratch that it keeps: allocating it would take longer.
constexpr std::size_t kFewRows = 64;

/// How many rows each worker predicts together. Many are faster; but between two polls, they should take less than a
/// second or so, and not much memory. So they are fewer if each takes long.
std::size_t rows_together(std::size_t n, std::size_t threads, const SearchParams& params) {
  constexpr std::size_t kMost = 2048;
  constexpr std::size_t kLeast = 16;
  constexpr std::size_t kUsual = 20;                          // labels, or width of a beam
  const std::size_t n_parts = threads > 1 ? 4 * threads : 1;  // several for each worker, because some take longer
  const std::size_t wanted = std::max(params.top_k, params.beam);
  const std::size_t most = params.top_k == 0 ? kLeast : std::clamp(kMost * kUsual / wanted, kLeast, kMost);
  return std::clamp<std::size_t>((n + n_parts - 1) / n_parts, 1, most);
}

LabelsOfRows predict_rows(const ModelState& state, std::span<const RowView> rows, const SearchParams& params,
                          LabelRanker::Scratch& scratch) {
  if (state.ranker) {
    return (*state.ranker)->rank(state.forest, rows, params, scratch);
  }
  return state.calibration ? (*state.calibration)->search(state.forest, rows, params, scratch.search)
                           : state.forest.search(rows, params, scratch.search);
}

}  // namespace

LabelBook book_of(const NameList& names) {
  Vocabulary vocabulary;
  std::vector<LabelId> id;
  for (std::size_t i = 0; i < names.size(); ++i) {
    vocabulary.add_row(names, i, i + 1, id);  // one at a time, so that ids follow the order of the list
    if (id[0] < i) {
      throw InvalidInput("the label " + shown(names[i]) + " occurs twice in the tree");
    }
  }
  return LabelBook(std::move(vocabulary));
}

Predictions ModelState::predict(const Inputs& x, const SearchParams& asked, std::size_t threads,
                                const std::function<void()>& poll) const {
  const std::optional<LabelFilter> shown = shown_labels(*labels);
  SearchParams params = asked;
  params.shown = shown ? &*shown : nullptr;
  params.filter = asked.filter != nullptr ? asked.filter : params.shown;
  const std::size_t n_together = rows_together(x.size(), threads, params);
  const std::size_t n_parts = (x.size() + n_together - 1) / n_together;
  LeftInChild<LabelsOfRows> found(x.size());
  LeftInChild<std::vector<PredictScratch>> scratches(std::min(std::max<std::size_t>(threads, 1), n_parts));
  PredictScratch* kept = x.size() <= kFewRows ? &scratch_of_thread() : nullptr;
  Interruption interruption(poll);
  const auto predict_part = [&](std::size_t part, std::size_t worker) {
    interruption.check(worker);
    const std::size_t begin = part * n_together;
    const std::size_t end = std::min(begin + n_together, x.size());
    PredictScratch& scratch = worker == 0 && kept != nullptr ? *kept : (*scratches)[worker];
    std::ranges::move(predict_rows(*this, rows_of(*this, x, begin, end, scratch), params, scratch.ranking),
                      found->begin() + static_cast<std::ptrdiff_t>(begin));
  };
  parallel_for(n_parts, threads, predict_part, &interruption);

  Predictions result;
  result.indptr.push_back(0);
  for (const std::vector<ScoredLabel>& row : *found) {
    for (const ScoredLabel& label : row) {
      result.labels.push_back(label.label);
      result.probabilities.push_back(label.probability);
    }
    result.indptr.push_back(static_cast<std::int64_t>(result.labels.size()));
  }
  return result;
}

ModelState ModelState::joined(std::span<const Plt* const> subtrees) const {
  ModelState whole(*this);
  whole.forest.trees = {Plt::joined(forest.first(), subtrees)};
  return whole;
}

bool ModelState::is_repeating() const {
  return (ranker && (*ranker)->is_repeating()) || (calibration && (*calibration)->is_repeating());
}

MemoryUse ModelState::memory_use() const {
  return {.trees = forest.memory_of_trees(),
          .label_memory = ranker ? (*ranker)->memory_bytes() : 0,
          .history = history->memory_bytes(),
          .label_names = labels->memory_bytes() + counts->memory_bytes(),
          .features = encoder->memory_bytes()};
}

std::size_t ModelState::budget_bytes() const {
  // Growing arrays have up to a fourth of spare capacity.
  const auto with_spare = [](std::size_t bytes) { return bytes + bytes / 4; };
  const std::size_t trees = forest.budget_bytes();
  const std::size_t others = with_spare(labels->content_bytes() + counts->content_bytes() + encoder->content_bytes() +
                                        (ranker ? (*ranker)->content_bytes() : 0));
  if (history->size() == 0) {
    return trees + others;
  }
  // A regrowth has rows and sums of all examples in memory first, and then new trees beside the present ones.
  const std::size_t bytes = with_spare(history->content_bytes());
  return trees + others + bytes + std::max(trees, 4 * bytes);
}

void ModelState::count_cells() {
  for (Plt& tree : forest.trees) {
    tree.count();
  }
}

ModelState ModelState::for_prediction(Real prune, bool half) const {
  ModelState result(*this);
  for (Plt& tree : result.forest.trees) {
    tree = tree.for_prediction(prune, half);
  }
  result.history = {};
  result.next_check = 0;
  return result;
}

void ModelState::save(ArrayWriter& out) const {
  encoder->save(out, "features");
  labels->save(out, "labels");
  counts->save(out, kCounts);
  forest.save(out);
  if (history->size() > 0) {
    history->save(out, kHistory);
  }
  if (ranker) {
    (*ranker)->save(out, "ranking");
  }
  if (calibration) {
    (*calibration)->save(out, "calibration");
  }
  if (closed_at) {
    out.put_one(kClosedAt, *closed_at);
  }
  if (next_check > 0) {
    out.put_one(kNextCheck, next_check);
  }
}

ModelState ModelState::load(const ArrayReader& in, const StateParams& params) {
  kernels();  // throws if OPLT_KERNELS is wrong: here, and not at the first prediction
  ModelState state{.rows = params.rows,
                   .encoder = Shared(Encoder::load(in, "features", params.text)),
                   .labels = Shared(LabelBook::load(in, "labels")),
                   .counts = Shared(LabelCounts::load(in, kCounts)),
                   .forest = Forest::load(in, params.trees, params.link),
                   .history = History::is_in(in, kHistory) ? Shared(History::load(in, kHistory)) : Shared<History>(),
                   .ranker = {},
                   .calibration = {}};
  expect_format(state.forest.label_bound() <= state.labels->size(), "the tree has labels without names");
  expect_format(state.counts->size() == state.labels->size(), "not all labels have counts");
  if (params.label_memory > 0) {
    state.ranker = Shared(LabelRanker::load(in, "ranking", params.label_memory));
  } else if (params.calibrated) {
    state.calibration = Shared(TreeCalibration::load(in, "calibration"));
  }
  if (in.has(kClosedAt)) {
    state.closed_at = in.get_one<std::uint64_t>(kClosedAt);
  }
  if (in.has(kNextCheck)) {
    state.next_check = in.get_one<std::uint64_t>(kNextCheck);
  }
  return state;
}

void ModelState::check() const {
  constexpr std::uint64_t kMostExamples = std::uint64_t{1} << 62;  // a count beyond it could overflow
  expect_format(n_examples() <= kMostExamples, "the model has an impossible number of examples");
  expect_format(!closed_at || (*closed_at <= n_examples() && history->size() == 0),
                "the model was closed after more examples than there are, or has a history");
  expect_format(next_check == 0 || next_check > n_examples(), "a check of the memory was missed");
  encoder->check();
  labels->check(n_examples(), encoder->takes_texts());
  counts->check(n_examples());
  forest.check(encoder->n_features());
  history->check(encoder->n_features(), labels->names().size(), encoder->takes_texts());
  if (ranker) {
    (*ranker)->check({encoder->n_features(), labels->size(), n_examples()});
  }
  if (calibration) {
    (*calibration)->check(n_examples());
  }
}

}  // namespace oplt

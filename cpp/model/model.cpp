// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "model/model.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/span_pool.hpp"
#include "batch/batch_training.hpp"

namespace oplt {

namespace {

constexpr std::size_t kPollEvery = 256;  // rows

std::string shown(const Name& name) {
  return name.is_text() ? "'" + std::string(name.text) + "'" : std::to_string(name.number);
}

/// `weights` may be empty: then all are 1.
Real weight_of(std::span<const Real> weights, std::size_t i) { return weights.empty() ? Real{1} : weights[i]; }

/// Texts as the text features give them, end to end.
class TextRows {
 public:
  void add(const TextRow& row) {
    ids_.insert(ids_.end(), row.ids.begin(), row.ids.end());
    values_.insert(values_.end(), row.values.begin(), row.values.end());
    ends_.push_back(ids_.size());
  }

  std::size_t n_values() const { return values_.size(); }

  template <class Row>
  Row get(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {std::span(ids_).subspan(begin, ends_[i] - begin), std::span(values_).subspan(begin, ends_[i] - begin)};
  }

 private:
  std::vector<std::size_t> ends_;
  std::vector<FeatureId> ids_;
  std::vector<Real> values_;
};

Vocabulary vocabulary_of(const NameList& names) {
  Vocabulary vocabulary;
  std::vector<LabelId> id;
  for (std::size_t i = 0; i < names.size(); ++i) {
    vocabulary.add_row(names, i, i + 1, id);  // one by one: ids follow the order of the list
    if (id[0] < i) {
      throw InvalidInput("the label " + shown(names[i]) + " occurs twice in the tree");
    }
  }
  return vocabulary;
}

/// Throws if no label could ever be learnt.
void expect_labels(const Forest& start) {
  if (!grows(start.params().policy) && start.n_labels() == 0) {
    throw InvalidParameter("policy 'fixed' never extends the tree: start from one that has labels, by from_tree");
  }
}

/// Throws unless the leaves of a tree are the labels of the vocabulary.
void expect_all_labels(const LabelTree& tree, const Vocabulary& labels) {
  if (labels.size() != tree.n_labels()) {
    throw FormatError("the tree has " + std::to_string(tree.n_labels()) + " labels, the vocabulary " +
                      std::to_string(labels.size()));
  }
  for (LabelId label = 0; label < labels.size(); ++label) {
    if (tree.leaf_of(label) == kNone) {
      throw FormatError("label " + std::to_string(label) + " of the vocabulary has no leaf in the tree");
    }
  }
}

}  // namespace

Model::Model(const TrainParams& params, std::optional<TextFeatures> text)
    : Model(params, Forest(params), {}, std::move(text)) {}

Model::Model(const TrainParams& params, LabelTree tree, const NameList& labels, std::optional<TextFeatures> text)
    : Model(params, Forest(params, std::move(tree)), labels, std::move(text)) {}

Model::Model(const TrainParams& params, Forest forest, const NameList& labels, std::optional<TextFeatures> text)
    : text_(std::move(text)), labels_(vocabulary_of(labels)), forest_(std::move(forest)) {
  expect_labels(forest_);
  if (params.label_memory > 0) {
    ranker_.emplace(params.label_memory);
  }
}

Model::Model(const TrainParams& params, std::span<const std::byte> saved, const std::optional<TextParams>& text)
    : forest_(params) {
  Reader in(saved);
  features_ = Vocabulary::load(in);
  if (text) {
    text_ = TextFeatures::load(*text, in);
  }
  labels_ = Vocabulary::load(in);
  forest_ = Forest::load(params, count_features(), in);
  if (params.label_memory > 0) {
    ranker_ = LabelRanker::load(params.label_memory, {count_features(), labels_.size(), forest_.n_examples()}, in);
  }
  in.expect_end();
  for (const OnlinePlt& tree : forest_.trees()) {
    expect_all_labels(tree.tree(), labels_);
  }
}

void Model::fit(const NamedRows& x, const NamedLabels& y, std::span<const Real> weights, const BatchParams& params,
                std::size_t threads, const std::function<void()>& poll) {
  const auto lock = turn<WriterLock>();
  std::vector<FeatureId> ids;
  const auto features_of = [&](std::size_t i) {
    features_.add_row(x.names, x.bounds.begin(i), x.bounds.end(i), ids);
    return Features{ids, x.bounds.row(x.values, i)};
  };
  fit(x.values.size(), features_of, y, weights, params, threads, poll);
}

void Model::fit_texts(Texts texts, const NamedLabels& y, std::span<const Real> weights, const BatchParams& params,
                      std::size_t threads, const std::function<void()>& poll) {
  const auto lock = turn<WriterLock>();
  TextRow row;
  for (const std::string_view text : texts) {
    text_->learn(text, row);
  }
  TextRows rows;
  for (const std::string_view text : texts) {
    text_->find(text, row);
    rows.add(row);
  }
  fit(rows.n_values(), [&](std::size_t i) { return rows.get<Features>(i); }, y, weights, params, threads, poll);
}

template <class FeaturesOf>
void Model::fit(std::size_t n_values, FeaturesOf features_of, const NamedLabels& y, std::span<const Real> weights,
                const BatchParams& params, std::size_t threads, const std::function<void()>& poll) {
  const std::size_t n_rows = y.bounds.n_rows();
  RowBuilder row_builder;
  row_builder.start(n_values, n_rows);
  std::vector<LabelId> labels;
  SpanPool<LabelId> label_sets;
  std::vector<Example> examples;
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (poll && i % kPollEvery == 0) {
      poll();
    }
    labels_.find_row(y.names, y.bounds.begin(i), y.bounds.end(i), labels);
    const auto unknown = std::find(labels.begin(), labels.end(), kNone);
    if (unknown != labels.end()) {
      const std::size_t position = y.bounds.begin(i) + static_cast<std::size_t>(unknown - labels.begin());
      throw InvalidInput("row " + std::to_string(i) + " has the label " + shown(y.names[position]) +
                         ", which the tree lacks: all labels of Y must be leaves of the tree");
    }
    const Features features = features_of(i);
    const RowView row = row_builder.build(features.ids, features.values, forest_.params());
    examples.push_back({row, keep_distinct(labels, label_sets), weight_of(weights, i)});
  }
  forest_ = Forest(train_batch(params, forest_.first().tree(), examples, threads, poll));
}

void Model::learn_many(const NamedRows& x, const NamedLabels& y, std::span<const Real> weights, std::size_t threads) {
  const auto lock = turn<WriterLock>();
  forest_.expect_unfrozen();
  std::vector<FeatureId> ids;
  const auto features_of = [&](std::size_t i) {
    features_.add_row(x.names, x.bounds.begin(i), x.bounds.end(i), ids);
    return Features{ids, x.bounds.row(x.values, i)};
  };
  learn(x.values.size(), features_of, y, weights, threads);
}

void Model::learn_texts(Texts texts, const NamedLabels& y, std::span<const Real> weights, std::size_t threads) {
  const auto lock = turn<WriterLock>();
  forest_.expect_unfrozen();
  broken_ = true;  // until it has gone well
  TextRow row;
  TextRows rows;
  for (const std::string_view text : texts) {
    text_->learn(text, row);
    rows.add(row);
  }
  learn(rows.n_values(), [&](std::size_t i) { return rows.get<Features>(i); }, y, weights, threads);
}

template <class FeaturesOf>
void Model::learn(std::size_t n_values, FeaturesOf features_of, const NamedLabels& y, std::span<const Real> weights,
                  std::size_t threads) {
  const std::size_t n_rows = y.bounds.n_rows();
  row_builder_.start(n_values, n_rows);
  std::vector<LabelId> labels;
  SpanPool<LabelId> label_sets;
  ExampleQueue examples(n_rows, [&](std::size_t i) {
    const Features features = features_of(i);
    const RowView row = row_builder_.build(features.ids, features.values, forest_.params());
    if (grows(forest_.params().policy)) {
      labels_.add_row(y.names, y.bounds.begin(i), y.bounds.end(i), labels);
    } else {
      labels_.find_row(y.names, y.bounds.begin(i), y.bounds.end(i), labels);
      std::erase(labels, kNone);  // unknown labels leave no trace, not even their names
    }
    return Example{row, keep_distinct(labels, label_sets), weight_of(weights, i)};
  });
  const auto is_observed = [&, first = forest_.n_examples()](std::size_t i) {
    return ranker_ && LabelRanker::observes(first + i);
  };
  broken_ = true;  // until it has gone well
  for (std::size_t begin = 0, end = 0; begin < n_rows; begin = end) {
    if (is_observed(begin)) {
      ranker_->observe(forest_, examples.get(begin));
    }
    for (end = begin + 1; end < n_rows && !is_observed(end);) {
      ++end;
    }
    learn_segment(examples, begin, end, threads);
  }
  broken_ = false;
}

/// The label memory learns beside the trees, in a helper if there is one.
void Model::learn_segment(ExampleQueue& examples, std::size_t begin, std::size_t end, std::size_t threads) {
  bool memory_has_learnt = !ranker_;
  const auto learn_memory = [&] {
    for (std::size_t i = begin; i < end && !memory_has_learnt; ++i) {
      ranker_->learn(examples.get(i));
    }
    memory_has_learnt = true;
  };
  const auto ahead = [&] {
    examples.get_all_ready();
    learn_memory();
  };
  forest_.learn(end - begin, [&](std::size_t i) { return examples.get(begin + i); }, threads, ahead);
  learn_memory();
}

MemoryUse Model::memory_use() const {
  const auto lock = turn<ReaderLock>();
  return {.trees = forest_.memory_of_trees(),
          .label_memory = ranker_ ? ranker_->memory().memory_bytes() : 0,
          .warm_up = forest_.memory_of_warm_up(),
          .replay = forest_.memory_of_replay(),
          .label_names = labels_.memory_bytes(),
          .feature_names = features_.memory_bytes(),
          .text_features = text_ ? text_->terms().memory_bytes() : 0};
}

std::optional<std::vector<std::uint32_t>> Model::label_counts() const {
  const auto lock = turn<ReaderLock>();
  if (!ranker_) {
    return std::nullopt;
  }
  std::vector<std::uint32_t> counts;
  for (LabelId label = 0; label < forest_.n_labels(); ++label) {
    counts.push_back(ranker_->memory().count(label));
  }
  return counts;
}

Predictions Model::predict_many(const NamedRows& x, const PredictParams& params,
                                const std::function<void()>& poll) const {
  const auto features_of = [&](std::size_t i, PredictScratch& scratch) {
    features_.find_row(x.names, x.bounds.begin(i), x.bounds.end(i), scratch.ids);
    return Features{scratch.ids, x.bounds.row(x.values, i)};
  };
  return predict(x.bounds.n_rows(), features_of, params, poll);
}

Predictions Model::predict_texts(Texts texts, const PredictParams& params, const std::function<void()>& poll) const {
  const auto features_of = [&](std::size_t i, PredictScratch& scratch) {
    text_->find(texts[i], scratch.text);
    return Features{scratch.text.ids, scratch.text.values};
  };
  return predict(texts.size(), features_of, params, poll);
}

template <class FeaturesOf>
Predictions Model::predict(std::size_t n_rows, FeaturesOf features_of, const PredictParams& params,
                           const std::function<void()>& poll) const {
  params.validate();
  const auto lock = turn<ReaderLock>();
  std::vector<std::vector<ScoredLabel>> found(n_rows);
  std::vector<ScratchPool<PredictScratch>::Loan> scratches;
  for (std::size_t worker = 0; worker < std::min(params.threads, n_rows); ++worker) {
    scratches.push_back(scratches_.borrow());
  }
  std::size_t since_poll = 0;
  parallel_for(n_rows, params.threads, [&](std::size_t i, std::size_t worker) {
    if (poll && worker == 0 && ++since_poll == kPollEvery) {  // worker 0 is the calling thread
      poll();
      since_poll = 0;
    }
    PredictScratch& scratch = *scratches[worker];
    const Features features = features_of(i, scratch);
    scratch.row_builder.start(features.ids.size(), 1);
    const RowView row = scratch.row_builder.build(features.ids, features.values, forest_.params());
    found[i] = ranker_ ? ranker_->rank(forest_, row, params, scratch.ranking)
                       : forest_.search(row, params, scratch.ranking.search);
  });

  Predictions result;
  result.n_examples = forest_.n_examples();
  result.indptr.push_back(0);
  for (const std::vector<ScoredLabel>& labels : found) {
    for (const ScoredLabel& label : labels) {
      result.labels.push_back(label.label);
      result.probabilities.push_back(label.probability);
    }
    result.indptr.push_back(static_cast<std::int64_t>(result.labels.size()));
  }
  return result;
}

void Model::save(Writer& out) const {
  const auto lock = turn<ReaderLock>();
  features_.save(out);
  if (text_) {
    text_->save(out);
  }
  labels_.save(out);
  forest_.save(out);
  if (ranker_) {
    ranker_->save(out);
  }
  out.flush();
}

}  // namespace oplt

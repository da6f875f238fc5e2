// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "tree/label_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/interruption.hpp"

namespace oplt {

namespace {

constexpr RowParams kUnit{.bias = 0, .normalize = true};

}  // namespace

LabelVectors::LabelVectors(const NamedRows& x, const NamedLabels& y, Vocabulary& labels,
                           const std::function<void()>& poll) {
  WorkMeter meter(poll);
  Vocabulary features;
  LabelSums sums(x.bounds.n_rows());
  std::vector<std::uint32_t> ids;
  std::vector<LabelId> label_ids;
  for (std::size_t i = 0; i < x.bounds.n_rows(); ++i) {
    features.add_row(x.names, x.bounds.begin(i), x.bounds.end(i), ids);
    labels.add_row(y.names, y.bounds.begin(i), y.bounds.end(i), label_ids);
    std::sort(label_ids.begin(), label_ids.end());
    label_ids.erase(std::unique(label_ids.begin(), label_ids.end()), label_ids.end());
    sums.add(ids, x.bounds.row(x.values, i), label_ids);
    meter.add(ids.size());
  }
  while (!sums.advance(*this, WorkMeter::kCheckEvery)) {
    meter.add(WorkMeter::kCheckEvery);
  }
}

void LabelVectors::append(const SparseSum& sum, bool has_examples) {
  if (has_examples) {
    labels_.push_back(static_cast<LabelId>(n_labels()));
  }
  double squares = 0.0;
  for (const FeatureId feature : sum.features()) {
    squares += sum[feature] * sum[feature];
  }
  const double norm = squares > 0.0 ? std::sqrt(squares) : 1.0;
  for (const FeatureId feature : sum.features()) {
    features_.push_back(feature);
    values_.push_back(static_cast<Real>(sum[feature] / norm));
  }
  indptr_.push_back(features_.size());
}

void LabelSums::add(std::span<const FeatureId> ids, std::span<const Real> values, std::span<const LabelId> labels) {
  const RowView row = rows_.build(ids, values, kUnit);
  const std::span<LabelId> kept = label_sets_.allocate(labels.size());
  std::copy(labels.begin(), labels.end(), kept.begin());
  examples_.push_back({row, kept, 1});
  for (const FeatureId id : ids) {
    n_features_ = std::max<std::size_t>(n_features_, id + std::size_t{1});
  }
  for (const LabelId label : labels) {
    n_labels_ = std::max<std::size_t>(n_labels_, label + std::size_t{1});
  }
  n_values_ += row.size() * labels.size();
}

void LabelSums::list_examples() {
  indptr_.assign(n_labels_ + 1, 0);
  for (const Example& example : examples_) {
    for (const LabelId label : example.labels) {
      ++indptr_[label + 1];
    }
  }
  std::partial_sum(indptr_.begin(), indptr_.end(), indptr_.begin());
  of_label_.resize(indptr_.back());
  std::vector<std::size_t> next(indptr_.begin(), indptr_.end() - 1);
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    for (const LabelId label : examples_[i].labels) {
      of_label_[next[label]++] = static_cast<std::uint32_t>(i);
    }
  }
}

/// The number of values of all label vectors is at most this.
std::size_t LabelSums::most_values() const {
  std::size_t most = 0;
  for (std::size_t label = 0; label < n_labels_; ++label) {
    std::size_t n = 0;
    for (std::size_t i = indptr_[label]; i < indptr_[label + 1]; ++i) {
      n += examples_[of_label_[i]].x.size();
    }
    most += std::min(n, n_features_);
  }
  return most;
}

/// Rows have norm 1 and no bias. The examples' weights are ignored.
bool LabelSums::advance(LabelVectors& vectors, std::size_t n_values) {
  if (!sum_) {
    list_examples();
    sum_.emplace(n_features_);
    vectors.n_features_ = n_features_;
    const std::size_t most = most_values();  // an upper bound, so that the vectors are never moved
    vectors.features_.reserve(most);
    vectors.values_.reserve(most);
  }
  std::size_t n_added = 0;
  for (std::size_t label = vectors.n_labels(); label < n_labels_ && n_added < n_values; ++label) {
    for (std::size_t i = indptr_[label]; i < indptr_[label + 1]; ++i) {
      const RowView x = examples_[of_label_[i]].x;
      sum_->add(x);
      n_added += x.size();
    }
    vectors.append(*sum_, indptr_[label] < indptr_[label + 1]);
    sum_->clear();
  }
  return vectors.n_labels() == n_labels_;
}

}  // namespace oplt

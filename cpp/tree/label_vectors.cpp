// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "tree/label_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/span_pool.hpp"
#include "encode/row_builder.hpp"

namespace oplt {

namespace {

/// The examples of each label: those of label i are [indptr[i], indptr[i + 1]).
struct ExamplesOf {
  std::vector<std::size_t> indptr;
  std::vector<std::uint32_t> examples;

  ExamplesOf(std::span<const Example> all, std::size_t n_labels) : indptr(n_labels + 1, 0) {
    for (const Example& example : all) {
      for (const LabelId label : example.labels) {
        ++indptr[label + 1];
      }
    }
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    examples.resize(indptr.back());
    std::vector<std::size_t> next(indptr.begin(), indptr.end() - 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const LabelId label : all[i].labels) {
        examples[next[label]++] = static_cast<std::uint32_t>(i);
      }
    }
  }

  std::span<const std::uint32_t> operator[](std::size_t label) const {
    return std::span(examples).subspan(indptr[label], indptr[label + 1] - indptr[label]);
  }
};

/// Rows without bias, either unchanged or scaled to norm 1.
RowParams row_params(bool normalize) { return {.bias = 0, .normalize = normalize}; }

RowView without_bias(RowView x) {
  const std::size_t n = x.size() > 0 && x.features.back() == kBiasFeature ? x.size() - 1 : x.size();
  return {x.features.first(n), x.values.first(n)};
}

}  // namespace

LabelVectors::LabelVectors(const NamedRows& x, const NamedLabels& y, Vocabulary& labels,
                           const std::function<void()>& poll) {
  WorkMeter meter(poll);
  const std::size_t n_rows = x.bounds.n_rows();
  const RowParams unit = row_params(true);
  Vocabulary features;
  RowBuilder builder;
  SpanPool<LabelId> label_sets;
  std::vector<Example> examples;
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < n_rows; ++i) {
    features.add_row(x.names, x.bounds.begin(i), x.bounds.end(i), ids);
    const RowView row = builder.build(ids, x.bounds.row(x.values, i), unit);
    meter.add(ids.size());
    labels.add_row(y.names, y.bounds.begin(i), y.bounds.end(i), ids);
    examples.push_back({row, keep_distinct(ids, label_sets), 1});
  }
  n_features_ = features.size();
  add_up(examples, labels.size(), meter);
}

LabelVectors::LabelVectors(std::span<const Example> examples, std::uint32_t n_labels, bool of_norm_1) {
  for (const Example& example : examples) {
    const RowView row = without_bias(example.x);
    n_features_ = row.size() > 0 ? std::max<std::size_t>(n_features_, row.features.back() + 1) : n_features_;
  }
  const RowParams unit = row_params(!of_norm_1);  // scaling a row of norm 1 again would change its bits
  RowBuilder builder;
  std::vector<Example> unit_examples;
  for (const Example& example : examples) {
    const RowView row = without_bias(example.x);
    unit_examples.push_back({builder.build(row.features, row.values, unit), example.labels, example.weight});
  }
  WorkMeter meter;
  add_up(unit_examples, n_labels, meter);
}

/// Rows must have norm 1 and no constant feature. The examples' weights are ignored.
void LabelVectors::add_up(std::span<const Example> examples, std::size_t n_labels, WorkMeter& meter) {
  const ExamplesOf examples_of(examples, n_labels);
  SparseSum sum(n_features_);
  for (std::size_t label = 0; label < n_labels; ++label) {
    for (const std::uint32_t i : examples_of[label]) {
      sum.add(examples[i].x);
      meter.add(examples[i].x.size());
    }
    append(sum);
    sum.clear();
  }
}

void LabelVectors::append(const SparseSum& sum) {
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

}  // namespace oplt

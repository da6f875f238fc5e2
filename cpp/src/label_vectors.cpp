// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "oplt/label_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "oplt/interruption.hpp"
#include "oplt/params.hpp"
#include "oplt/row_builder.hpp"

namespace oplt {

namespace {

/// Rows of labels or, transposed, labels' rows: list i is [indptr[i], indptr[i + 1]).
struct Lists {
  std::vector<std::size_t> indptr{0};
  std::vector<std::uint32_t> items;

  std::size_t size() const { return indptr.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    return std::span(items).subspan(indptr[i], indptr[i + 1] - indptr[i]);
  }
};

Lists transposed(const Lists& lists, std::size_t n) {
  Lists result;
  result.indptr.assign(n + 1, 0);
  for (const std::uint32_t item : lists.items) {
    ++result.indptr[item + 1];
  }
  std::partial_sum(result.indptr.begin(), result.indptr.end(), result.indptr.begin());
  result.items.resize(lists.items.size());
  std::vector<std::size_t> next(result.indptr.begin(), result.indptr.end() - 1);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (const std::uint32_t item : lists[i]) {
      result.items[next[item]++] = static_cast<std::uint32_t>(i);
    }
  }
  return result;
}

/// Distinct labels of each row; new names join the vocabulary.
Lists label_lists(const NamedLabels& y, Vocabulary& vocabulary) {
  Lists lists;
  std::vector<LabelId> labels;
  for (std::size_t i = 0; i < y.bounds.n_rows(); ++i) {
    vocabulary.add_row(y.names, y.bounds.begin(i), y.bounds.end(i), labels);
    std::sort(labels.begin(), labels.end());
    lists.items.insert(lists.items.end(), labels.begin(), std::unique(labels.begin(), labels.end()));
    lists.indptr.push_back(lists.items.size());
  }
  return lists;
}

/// The examples, each of norm 1. They live in the builder.
std::vector<RowView> unit_rows(const NamedRows& x, Vocabulary& vocabulary, RowBuilder& builder, WorkMeter& meter) {
  TrainParams params{};
  params.normalize = true;
  params.bias = false;
  const std::size_t n_rows = x.bounds.n_rows();
  builder.start(x.values.size(), n_rows);
  std::vector<RowView> rows;
  std::vector<FeatureId> features;
  for (std::size_t i = 0; i < n_rows; ++i) {
    vocabulary.add_row(x.names, x.bounds.begin(i), x.bounds.end(i), features);
    rows.push_back(builder.build(features, x.bounds.row(x.values, i), params));
    meter.add(features.size());
  }
  return rows;
}

}  // namespace

LabelVectors::LabelVectors(const NamedRows& x, const NamedLabels& y, Vocabulary& labels,
                           const std::function<void()>& poll) {
  WorkMeter meter(poll);
  const Lists labels_of = label_lists(y, labels);
  const Lists rows_of = transposed(labels_of, labels.size());
  Vocabulary features;
  RowBuilder builder;
  const std::vector<RowView> rows = unit_rows(x, features, builder, meter);
  n_features_ = features.size();
  SparseSum sum(n_features_);
  for (std::size_t label = 0; label < rows_of.size(); ++label) {
    for (const std::uint32_t row : rows_of[label]) {
      sum.add(rows[row]);
      meter.add(rows[row].size());
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

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/memory_bytes.hpp"
#include "base/span_pool.hpp"
#include "base/types.hpp"
#include "encode/named_rows.hpp"
#include "encode/row_builder.hpp"
#include "encode/vocabulary.hpp"

namespace oplt {

/// A sparse sum in a dense array: adding takes one access per feature, and clearing takes time proportional to the
/// number of features added.
class SparseSum {
 public:
  explicit SparseSum(std::size_t n_features) : sums_(n_features), is_touched_(n_features) {}

  void add(RowView x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const FeatureId feature = x.features[i];
      if (is_touched_[feature] == 0) {
        is_touched_[feature] = 1;
        touched_.push_back(feature);
      }
      sums_[feature] += static_cast<double>(x.values[i]);
    }
  }

  double operator[](FeatureId feature) const { return sums_[feature]; }

  /// The features added, in order of arrival.
  std::span<const FeatureId> features() const { return touched_; }

  void clear() {
    for (const FeatureId feature : touched_) {
      sums_[feature] = 0.0;
      is_touched_[feature] = 0;
    }
    touched_.clear();
  }

  std::size_t memory_bytes() const { return oplt::memory_bytes(sums_, is_touched_, touched_); }

 private:
  std::vector<double> sums_;
  std::vector<unsigned char> is_touched_;
  std::vector<FeatureId> touched_;
};

/// One vector per label: the sum of its examples, each scaled to norm 1, scaled to norm 1 again. Empty if the examples
/// are empty.
class LabelVectors {
 public:
  LabelVectors() = default;

  /// Of examples by name. Adds the labels to `labels`, which must be empty. Calls `poll`, if given, regularly; an
  /// exception from it ends the work.
  LabelVectors(const NamedRows& x, const NamedLabels& y, Vocabulary& labels, const std::function<void()>& poll = {});

  /// The vector of a label. Its features are in an unspecified order, which is the same on every machine.
  RowView operator[](LabelId label) const {
    const std::size_t begin = indptr_[label];
    const std::size_t n = indptr_[label + 1] - begin;
    return {std::span(features_).subspan(begin, n), std::span(values_).subspan(begin, n)};
  }

  std::size_t n_labels() const { return indptr_.size() - 1; }
  /// The labels that have examples, ascending.
  std::span<const LabelId> labels() const { return labels_; }
  std::size_t n_features() const { return n_features_; }
  std::size_t n_values() const { return values_.size(); }
  /// Without memory that is reserved for further values, since it has not been touched.
  std::size_t memory_bytes() const {
    return oplt::memory_bytes(indptr_, labels_) + n_values() * (sizeof(FeatureId) + sizeof(Real));
  }

 private:
  friend class LabelSums;

  void append(const SparseSum& sum, bool has_examples);

  std::size_t n_features_ = 0;
  std::vector<LabelId> labels_;
  std::vector<std::size_t> indptr_{0};
  std::vector<FeatureId> features_;
  std::vector<Real> values_;
};

/// Computes label vectors in small steps: first add() all examples, then advance() until all labels are done.
class LabelSums {
 public:
  explicit LabelSums(std::size_t n_examples) { examples_.reserve(n_examples); }

  /// Adds an encoded example, whose labels are distinct. If ids were assigned in order of arrival, the vectors are bit
  /// for bit those of the examples by name.
  void add(std::span<const FeatureId> ids, std::span<const Real> values, std::span<const LabelId> labels);

  /// Adds up about `n_values` values, and appends the vectors of the labels that are done. Returns whether all are.
  bool advance(LabelVectors& vectors, std::size_t n_values);

  /// Number of values that advance() adds up in all.
  std::size_t n_values() const { return n_values_; }
  std::size_t memory_bytes() const {
    return rows_.memory_bytes() + label_sets_.memory_bytes() + oplt::memory_bytes(examples_, indptr_, of_label_) +
           (sum_ ? sum_->memory_bytes() : 0);
  }

 private:
  void list_examples();
  std::size_t most_values() const;

  RowBuilder rows_;
  SpanPool<LabelId> label_sets_;
  std::vector<Example> examples_;
  std::size_t n_features_ = 0;
  std::size_t n_labels_ = 0;
  std::size_t n_values_ = 0;
  // The examples of each label: those of label i are [indptr_[i], indptr_[i + 1]). Made when the adding up begins.
  std::vector<std::size_t> indptr_;
  std::vector<std::uint32_t> of_label_;
  std::optional<SparseSum> sum_;  // of one label
};

}  // namespace oplt

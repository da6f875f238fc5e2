// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The types shared by the whole core: identifiers, the number type, and views (spans, never owners).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace oplt {

using Real = float;  // weights, accumulators, probabilities: all arithmetic of a classifier is in float32
using NodeId = std::uint32_t;
using LabelId = std::uint32_t;
using FeatureId = std::uint32_t;
using NameId = std::uint32_t;  // of a name of a label; a label may have several
using BlockId = std::uint32_t;
using Column = std::uint32_t;  // a classifier's position in its sibling block

/// "No node", "no label", "no block", "no feature": an id that is never assigned.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The constant feature. Its id is larger than any other, so the bias is added last in every sum.
inline constexpr FeatureId kBiasFeature = kNone - 1;

/// One example's features as the classifiers see them: ascending ids, no duplicates, no zeros.
struct RowView {
  std::span<const FeatureId> features;
  std::span<const Real> values;

  std::size_t size() const { return features.size(); }
};

/// One training example. `labels` are distinct and may be empty. If the policy never extends the tree, all of them are
/// in the tree.
struct Example {
  RowView x;
  std::span<const LabelId> labels;
  Real weight;
};

/// Concatenated rows: row i is [indptr[i], indptr[i + 1]).
struct RowBounds {
  std::span<const std::int64_t> indptr;

  std::size_t n_rows() const { return indptr.empty() ? 0 : indptr.size() - 1; }
  std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(indptr[row] - indptr[0]); }
  std::size_t end(std::size_t row) const { return begin(row + 1); }

  template <class T>
  std::span<const T> row(std::span<const T> flat, std::size_t i) const {
    return flat.subspan(begin(i), end(i) - begin(i));
  }
};

}  // namespace oplt

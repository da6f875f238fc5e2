// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "base/random.hpp"
#include "base/types.hpp"
#include "batch/batch_params.hpp"

namespace oplt {

/// Rows whose features are numbered 0, 1, …, n_features - 1, so that the classifiers' weights fit into a plain array.
struct DenseRows {
  std::vector<std::size_t> indptr{0};
  std::vector<std::uint32_t> features;
  std::vector<Real> values;
  std::vector<Real> weights;  // by row: the weight of its loss
  std::size_t n_features = 0;

  std::size_t size() const { return indptr.size() - 1; }
  std::size_t n_values(std::size_t i) const { return indptr[i + 1] - indptr[i]; }
};

/// The positive rows of one classifier, in any order; duplicates are allowed.
using Positives = std::span<const std::uint32_t>;

/// Trains linear classifiers with L2 regularisation by dual coordinate descent: the squared hinge loss as in Hsieh et
/// al. (ICML 2008), the logistic loss as in Yu, Huang and Lin (Machine Learning 85, 2011). Problems and stopping rules
/// are those of LIBLINEAR. A row's weight multiplies the cost of its loss, as LIBLINEAR's instance weights do.
///
/// Several classifiers are solved together over the same rows, in the same random order. Each takes its own steps, but
/// a row is fetched once for all of them, and the innermost loops run over classifiers, which are adjacent in memory.
/// They stop together, when the slowest has converged.
///
/// Results are bit-for-bit deterministic on every machine. A solver keeps its memory from one call to the next: use one
/// per thread.
class DualSolver {
 public:
  static constexpr std::size_t kMostColumns = 8;

  /// `check`, if given, is called regularly; an exception from it ends solve().
  explicit DualSolver(std::function<void()> check = {}) : meter_(std::move(check)) {}

  /// Solves 1 to kMostColumns classifiers.
  void solve(const DenseRows& rows, std::span<const Positives> columns, const BatchParams& params, Random random);

  /// The result of the last solve().
  double weight(std::uint32_t feature, std::size_t column) const { return weights_[feature * n_lanes_ + column]; }

 private:
  template <std::size_t kLanes>
  class Group;

  template <std::size_t kLanes>
  void solve_group(const DenseRows& rows, std::span<const Positives> columns, const BatchParams& params, Random random);

  WorkMeter meter_;
  std::size_t n_lanes_ = 1;
  std::vector<double> weights_;      // by feature, then lane
  std::vector<double> targets_;      // by row, then lane: 1 or -1
  std::vector<double> alphas_;       // by row, then lane: the dual variables
  std::vector<double> complements_;  // likewise, for the logistic loss: the row's cost - alpha, stored because
                                     // computing it would lose precision
  std::vector<double> squares_;      // by row: x·x
  std::vector<double> costs_;        // by row: cost · weight
  std::vector<std::uint32_t> active_;
};

}  // namespace oplt

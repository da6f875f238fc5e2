// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/math.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// Online logistic regression on a few dense features, by Newton steps with exponential forgetting.
///
/// The curvature accounts for correlated features. It is at least the squared error, so that a confident wrong
/// prediction does not cause a huge step.
template <std::size_t N>
class OnlineLogistic {
 public:
  using Features = std::array<double, N>;

  explicit OnlineLogistic(const Features& start) : weights_(start) {
    for (std::size_t i = 0; i < N; ++i) {
      curvature_[i][i] = 1.0;
    }
  }

  double score(const Features& x) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < N; ++i) {
      sum += weights_[i] * x[i];
    }
    return sum;
  }

  /// Adds one example to the next step. It counts as `weight` examples.
  void observe(const Features& x, bool positive, double weight = 1.0) {
    observe_probability(sigmoid(static_cast<Real>(score(x))), x, positive, weight);
  }

  /// The same for an example whose probability p is given, because it does not depend on its own score alone.
  void observe_probability(double p, const Features& x, bool positive, double weight) {
    const double error = p - (positive ? 1.0 : 0.0);
    const double curvature = weight * std::max(p * (1.0 - p), error * error);
    for (std::size_t i = 0; i < N; ++i) {
      gradient_[i] += weight * error * x[i];
      for (std::size_t j = 0; j <= i; ++j) {
        pending_[i][j] += curvature * x[i] * x[j];
      }
    }
    any_pending_ = true;
  }

  /// Takes the step, if anything was observed since the last one. Keeps the fraction `keep` of the evidence before it.
  void step(double keep) {
    if (!any_pending_) {
      return;
    }
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        curvature_[i][j] = keep * curvature_[i][j] + (i == j ? 1.0 - keep : 0.0) + pending_[i][j];
      }
    }
    const Features direction = solved();
    for (std::size_t i = 0; i < N; ++i) {
      weights_[i] -= direction[i];
    }
    gradient_ = {};
    pending_ = {};
    any_pending_ = false;
  }

  const Features& weights() const { return weights_; }

  /// Writes one array: the weights, then the rows of the curvature. Must not be called between observe() and step().
  void save(ArrayWriter& out, const std::string& name) const {
    out.begin<double>(name);
    out.append<double>(weights_);
    for (const Features& row : curvature_) {
      out.append<double>(row);
    }
  }

  static OnlineLogistic load(const ArrayReader& in, const std::string& name) {
    const Buffer<double> values = in.get<double>(name);
    if (values.size() != N + N * N) {
      throw FormatError("the array '" + name + "' has " + std::to_string(values.size()) + " values instead of " +
                        std::to_string(N + N * N));
    }
    OnlineLogistic model(Features{});
    std::copy_n(values.data(), N, model.weights_.begin());
    for (std::size_t i = 0; i < N; ++i) {
      std::copy_n(values.data() + N + i * N, N, model.curvature_[i].begin());
    }
    return model;
  }

  /// Throws FormatError if a score or a later step could be NaN.
  void check() const {
    for (std::size_t i = 0; i < N; ++i) {
      expect_format(std::abs(weights_[i]) <= kMostWeight,
                    "a logistic model has a weight that is too large or not a number");
      for (const double value : curvature_[i]) {
        expect_format(std::abs(value) <= kMostCurvature,
                      "a logistic model has a curvature that is too large or not a number");
      }
    }
    const Matrix lower = cholesky();
    for (std::size_t i = 0; i < N; ++i) {
      expect_format(lower[i][i] >= kLeastPivot, "a logistic model has a curvature that is less than the identity");
    }
  }

 private:
  // Far beyond anything that can be learnt, and far from overflows. The curvature is at least the identity, so the
  // pivots of its decomposition are at least 1.
  static constexpr double kMostWeight = 1e9;
  static constexpr double kMostCurvature = 1e30;
  static constexpr double kLeastPivot = 0.5;

  using Matrix = std::array<Features, N>;  // symmetric: only the lower triangle is used

  /// The Cholesky factor L of the curvature, L Lᵀ. It exists, because the curvature is at least the identity.
  Matrix cholesky() const {
    Matrix lower{};
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = curvature_[i][j];
        for (std::size_t k = 0; k < j; ++k) {
          sum -= lower[i][k] * lower[j][k];
        }
        lower[i][j] = i == j ? std::sqrt(sum) : sum / lower[j][j];
      }
    }
    return lower;
  }

  /// curvature⁻¹ · gradient.
  Features solved() const {
    const Matrix lower = cholesky();
    Features result{};
    for (std::size_t i = 0; i < N; ++i) {
      double sum = gradient_[i];
      for (std::size_t k = 0; k < i; ++k) {
        sum -= lower[i][k] * result[k];
      }
      result[i] = sum / lower[i][i];
    }
    for (std::size_t i = N; i-- > 0;) {
      for (std::size_t k = i + 1; k < N; ++k) {
        result[i] -= lower[k][i] * result[k];
      }
      result[i] /= lower[i][i];
    }
    return result;
  }

  Features weights_;
  Matrix curvature_{};
  Features gradient_{};
  Matrix pending_{};
  bool any_pending_ = false;
};

}  // namespace oplt

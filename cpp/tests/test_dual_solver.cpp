// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "batch/dual_solver.hpp"
#include "check.hpp"

using namespace oplt;

namespace {

BatchParams make_params(Loss loss, double cost = 1) {
  return {.loss = loss, .cost = cost, .tolerance = 1e-9, .max_iterations = 100000, .prune = 0, .seed = 3};
}

constexpr Loss kBoth[] = {Loss::kLogistic, Loss::kSquaredHinge};

/// About a third of the features in each row, values of both signs, a constant last feature, and various weights.
DenseRows random_rows(std::uint64_t seed, std::size_t n_rows, std::uint32_t n_features) {
  Random random(seed);
  DenseRows rows;
  rows.n_features = n_features + 1;
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::uint32_t feature = 0; feature < n_features; ++feature) {
      if (random.below(3) == 0) {
        rows.features.push_back(feature);
        rows.values.push_back(static_cast<Real>(random.below(2000)) / 1000 - 1);
      }
    }
    rows.features.push_back(n_features);
    rows.values.push_back(1);
    rows.indptr.push_back(rows.features.size());
    rows.weights.push_back(static_cast<Real>(1 + i % 3) / 2);
  }
  return rows;
}

std::vector<std::uint32_t> every(std::uint32_t step, std::size_t n_rows) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < n_rows; i += step) {
    rows.push_back(i);
  }
  return rows;
}

double score(const DualSolver& solver, std::size_t column, const DenseRows& rows, std::size_t i) {
  double sum = 0;
  for (std::size_t k = rows.indptr[i]; k < rows.indptr[i + 1]; ++k) {
    sum += solver.weight(rows.features[k], column) * rows.values[k];
  }
  return sum;
}

/// The derivative of the loss with respect to the margin y·s.
double slope(Loss loss, double margin) {
  return loss == Loss::kLogistic ? -1 / (1 + std::exp(margin)) : -2 * std::max(0.0, 1 - margin);
}

/// The largest component of the gradient of |w|²/2 + cost · Σ weight · loss, which is 0 only at the minimum.
double gradient_size(const DualSolver& solver, std::size_t column, const DenseRows& rows, Positives positives,
                     const BatchParams& params) {
  std::vector<double> gradient(rows.n_features);
  for (std::uint32_t feature = 0; feature < rows.n_features; ++feature) {
    gradient[feature] = solver.weight(feature, column);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = std::find(positives.begin(), positives.end(), i) == positives.end() ? -1 : 1;
    const double factor = params.cost * rows.weights[i] * y * slope(params.loss, y * score(solver, column, rows, i));
    for (std::size_t k = rows.indptr[i]; k < rows.indptr[i + 1]; ++k) {
      gradient[rows.features[k]] += factor * rows.values[k];
    }
  }
  double largest = 0;
  for (const double g : gradient) {
    largest = std::max(largest, std::abs(g));
  }
  return largest;
}

}  // namespace

TEST("every column reaches its minimum, whatever its positives and however many are solved together") {
  const DenseRows rows = random_rows(1, 60, 12);
  std::vector<std::vector<std::uint32_t>> columns{every(2, 60), every(3, 60), every(7, 60), every(59, 60),
                                                  every(1, 60), {},           {5, 5, 5},    every(4, 60)};
  const std::vector<Positives> views(columns.begin(), columns.end());
  DualSolver solver;
  for (const Loss loss : kBoth) {
    for (const double cost : {0.01, 1.0, 30.0}) {
      const BatchParams params = make_params(loss, cost);
      for (std::size_t n = 1; n <= views.size(); ++n) {
        solver.solve(rows, std::span(views).first(n), params, Random(n));
        for (std::size_t column = 0; column < n; ++column) {
          // Dual gradients within 1e-9 of optimal ones, summed over 60 rows with some weight each.
          CHECK(gradient_size(solver, column, rows, views[column], params) < 1e-6 * std::max(1.0, cost));
        }
      }
    }
  }
}

TEST("a loose tolerance stops early, near the minimum") {
  const DenseRows rows = random_rows(2, 200, 20);
  const std::vector<std::uint32_t> positives = every(3, 200);
  const Positives column(positives);
  DualSolver exact;
  DualSolver rough;
  for (const Loss loss : kBoth) {
    BatchParams params = make_params(loss);
    exact.solve(rows, {&column, 1}, params, Random(1));
    params.tolerance = 0.1;
    rough.solve(rows, {&column, 1}, params, Random(1));
    double farthest = 0;
    for (std::uint32_t feature = 0; feature < rows.n_features; ++feature) {
      farthest = std::max(farthest, std::abs(exact.weight(feature, 0) - rough.weight(feature, 0)));
    }
    CHECK(farthest > 1e-6);
    CHECK(farthest < 0.1);
  }
}

TEST("the passes are limited") {
  const DenseRows rows = random_rows(3, 50, 10);
  const std::vector<std::uint32_t> positives = every(2, 50);
  const Positives column(positives);
  DualSolver solver;
  for (const Loss loss : kBoth) {
    BatchParams params = make_params(loss);
    params.max_iterations = 1;
    solver.solve(rows, {&column, 1}, params, Random(1));
    CHECK(gradient_size(solver, 0, rows, column, params) > 1e-3);
  }
}

TEST("the same order of steps gives the same bits, also from a used solver") {
  const DenseRows rows = random_rows(4, 80, 15);
  const std::vector<std::uint32_t> positives = every(5, 80);
  const std::vector<Positives> columns(3, positives);
  for (const Loss loss : kBoth) {
    BatchParams params = make_params(loss);
    params.tolerance = 0.1;
    DualSolver used;
    used.solve(random_rows(5, 100, 40), columns, params, Random(9));
    used.solve(rows, columns, params, Random(1));
    DualSolver fresh;
    fresh.solve(rows, columns, params, Random(1));
    for (std::uint32_t feature = 0; feature < rows.n_features; ++feature) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        CHECK_EQ(used.weight(feature, column), fresh.weight(feature, column));
      }
    }
  }
}

TEST("no rows at all: nothing to learn") {
  const Positives none;
  DualSolver solver;
  DenseRows rows;
  rows.n_features = 2;
  for (const Loss loss : kBoth) {
    solver.solve(rows, {&none, 1}, make_params(loss), Random(1));
    CHECK_EQ(solver.weight(1, 0), 0.0);
  }
}

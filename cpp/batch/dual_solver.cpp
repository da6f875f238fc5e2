// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "batch/dual_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/math.hpp"

namespace oplt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Faster than with Random::below(); its slight bias is harmless, because any order of the steps is valid.
void shuffle(std::span<std::uint32_t> items, Random& random) {
  for (std::size_t n = items.size(); n > 1; --n) {
    std::swap(items[n - 1], items[((random.next() >> 32) * n) >> 32]);
  }
}

}  // namespace

/// Solves up to kLanes classifiers together. Unused lanes repeat the last column, so that they need no special case.
template <std::size_t kLanes>
class DualSolver::Group {
 public:
  using Lanes = std::array<double, kLanes>;

  Group(DualSolver& memory, const DenseRows& rows, std::span<const Positives> columns, const BatchParams& params,
        Random random)
      : memory_(memory), rows_(rows), params_(params), random_(random) {
    const std::size_t n = rows.size();
    memory.n_lanes_ = kLanes;
    memory.weights_.assign(rows.n_features * kLanes, 0.0);
    memory.targets_.assign(n * kLanes, -1.0);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (const std::uint32_t i : columns[std::min(lane, columns.size() - 1)]) {
        memory.targets_[i * kLanes + lane] = 1.0;
      }
    }
    memory.squares_.resize(n);
    memory.costs_.resize(n);
    memory.active_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t k = rows.indptr[i]; k < rows.indptr[i + 1]; ++k) {
        sum += double{rows.values[k]} * rows.values[k];
      }
      memory.squares_[i] = sum;
      memory.costs_[i] = params.cost * rows.weights[i];
      memory.active_[i] = static_cast<std::uint32_t>(i);
    }
  }

  void minimise_squared_hinge();
  void minimise_logistic();

 private:
  double* alphas(std::size_t i) { return memory_.alphas_.data() + i * kLanes; }
  double* complements(std::size_t i) { return memory_.complements_.data() + i * kLanes; }
  const double* targets(std::size_t i) const { return memory_.targets_.data() + i * kLanes; }

  /// w·x of each lane.
  Lanes scores(std::size_t i) const {
    Lanes sums{};
    for (std::size_t k = rows_.indptr[i]; k < rows_.indptr[i + 1]; ++k) {
      const double* weights = memory_.weights_.data() + rows_.features[k] * kLanes;
      const double value = rows_.values[k];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += weights[lane] * value;
      }
    }
    return sums;
  }

  /// w += delta · x in each lane.
  void add(std::size_t i, const Lanes& deltas) {
    for (std::size_t k = rows_.indptr[i]; k < rows_.indptr[i + 1]; ++k) {
      double* weights = memory_.weights_.data() + rows_.features[k] * kLanes;
      const double value = rows_.values[k];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        weights[lane] += deltas[lane] * value;
      }
    }
  }

  /// The smallest and the largest projected gradient of a pass.
  struct Range {
    Lanes least;
    Lanes most;

    Range() {
      least.fill(kInfinity);
      most.fill(-kInfinity);
    }
  };

  bool step_squared_hinge(std::size_t i, const Lanes& bounds, Range& range);
  double step_logistic(std::size_t i, double inner_tolerance, std::size_t& n_newton);

  DualSolver& memory_;
  const DenseRows& rows_;
  const BatchParams& params_;
  Random random_;
};

/// Takes a step in each lane's variable of row i. Returns whether the row can be shrunk: in all lanes, the variable is
/// 0 and its gradient is above the largest projected gradient of the pass before.
template <std::size_t kLanes>
bool DualSolver::Group<kLanes>::step_squared_hinge(std::size_t i, const Lanes& bounds, Range& range) {
  double* alpha = alphas(i);
  const double* target = targets(i);
  const double diagonal = 0.5 / memory_.costs_[i];
  const double curvature = 1.0 / (memory_.squares_[i] + diagonal);
  const Lanes score = scores(i);
  Lanes deltas;
  bool idle = true;
  bool moves = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const double gradient = target[lane] * score[lane] - 1.0 + alpha[lane] * diagonal;
    const double projected = alpha[lane] > 0.0 ? gradient : std::min(gradient, 0.0);
    range.least[lane] = std::min(range.least[lane], projected);
    range.most[lane] = std::max(range.most[lane], projected);
    idle = idle && alpha[lane] == 0.0 && gradient > bounds[lane];
    const double next = std::max(alpha[lane] - gradient * curvature, 0.0);
    deltas[lane] = (next - alpha[lane]) * target[lane];
    moves = moves || deltas[lane] != 0.0;
    alpha[lane] = next;
  }
  if (moves) {
    add(i, deltas);
  }
  return idle;
}

/// Algorithm 3 of Hsieh et al. for the L2 loss: no upper bound on the variables, D_ii = 1 / (2 cost). A row is shrunk
/// only if all lanes would shrink it.
template <std::size_t kLanes>
void DualSolver::Group<kLanes>::minimise_squared_hinge() {
  memory_.alphas_.assign(rows_.size() * kLanes, 0.0);
  const std::span<std::uint32_t> all(memory_.active_);
  std::size_t n_active = all.size();
  Lanes bounds;
  bounds.fill(kInfinity);
  for (std::uint32_t iteration = 0; iteration < params_.max_iterations; ++iteration) {
    shuffle(all.first(n_active), random_);
    Range range;
    for (std::size_t s = 0; s < n_active;) {
      memory_.meter_.add(rows_.n_values(all[s]));
      if (step_squared_hinge(all[s], bounds, range)) {
        std::swap(all[s], all[--n_active]);
      } else {
        ++s;
      }
    }
    double width = 0.0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      width = std::max(width, range.most[lane] - range.least[lane]);
      bounds[lane] = range.most[lane] > 0.0 ? range.most[lane] : kInfinity;
    }
    if (width <= params_.tolerance) {
      if (n_active == all.size()) {
        return;
      }
      n_active = all.size();  // converged on the active rows: now check all of them
      bounds.fill(kInfinity);
    }
  }
}

/// Takes a step in each lane's pair of variables of row i (Algorithm 4 of Yu et al.): for the smaller one of the pair,
/// z, minimises z log z + (cost - z) log(cost - z) + x·x (z - old)² / 2 + sign · b (z - old) by Newton's method.
/// Returns the largest gradient before the steps.
template <std::size_t kLanes>
double DualSolver::Group<kLanes>::step_logistic(std::size_t i, double inner_tolerance, std::size_t& n_newton) {
  constexpr int kMostNewton = 100;
  const double cost = memory_.costs_[i];
  const double a = memory_.squares_[i];
  const Lanes score = scores(i);
  Lanes deltas{};
  double largest = 0.0;
  bool moves = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    double* one = alphas(i) + lane;
    double* other = complements(i) + lane;
    const double target = targets(i)[lane];
    double b = target * score[lane];
    double sign = 1.0;
    if (0.5 * a * (*other - *one) + b < 0.0) {
      std::swap(one, other);
      sign = -1.0;
    }
    b *= sign;
    const double old = *one;
    double z = cost - old < 0.5 * cost ? 0.1 * old : old;
    const auto gradient = [&] { return a * (z - old) + b + log_double(z / (cost - z)); };
    double g = gradient();
    largest = std::max(largest, std::abs(g));
    int n_steps = 0;
    for (; n_steps < kMostNewton && std::abs(g) >= inner_tolerance; ++n_steps) {
      const double next = z - g / (a + cost / (cost - z) / z);
      z = next <= 0.0 ? 0.1 * z : next;
      g = gradient();
    }
    if (n_steps > 0) {
      *one = z;
      *other = cost - z;
      deltas[lane] = sign * (z - old) * target;
      moves = true;
    }
    n_newton += static_cast<std::size_t>(n_steps);
  }
  if (moves) {
    add(i, deltas);
  }
  return largest;
}

/// Algorithm 5 of Yu et al.; the inner tolerance is tightened when few Newton steps are needed.
template <std::size_t kLanes>
void DualSolver::Group<kLanes>::minimise_logistic() {
  const double least_tolerance = std::min(1e-8, params_.tolerance);
  memory_.alphas_.resize(rows_.size() * kLanes);
  memory_.complements_.resize(rows_.size() * kLanes);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double cost = memory_.costs_[i];
    const double start = std::min(0.001 * cost, 1e-8);  // the variables must lie inside (0, cost)
    std::fill_n(alphas(i), kLanes, start);
    std::fill_n(complements(i), kLanes, cost - start);
    Lanes deltas;
    std::transform(targets(i), targets(i) + kLanes, deltas.begin(), [&](double target) { return target * start; });
    add(i, deltas);
  }
  double inner_tolerance = 1e-2;
  for (std::uint32_t iteration = 0; iteration < params_.max_iterations; ++iteration) {
    shuffle(memory_.active_, random_);
    double largest = 0.0;
    std::size_t n_newton = 0;
    for (const std::uint32_t i : memory_.active_) {
      memory_.meter_.add(rows_.n_values(i));
      largest = std::max(largest, step_logistic(i, inner_tolerance, n_newton));
    }
    if (largest < params_.tolerance) {
      return;
    }
    if (n_newton <= rows_.size() * kLanes / 10) {
      inner_tolerance = std::max(least_tolerance, 0.1 * inner_tolerance);
    }
  }
}

template <std::size_t kLanes>
void DualSolver::solve_group(const DenseRows& rows, std::span<const Positives> columns, const BatchParams& params,
                             Random random) {
  Group<kLanes> group(*this, rows, columns, params, random);
  if (params.loss == Loss::kSquaredHinge) {
    group.minimise_squared_hinge();
  } else {
    group.minimise_logistic();
  }
}

void DualSolver::solve(const DenseRows& rows, std::span<const Positives> columns, const BatchParams& params,
                       Random random) {
  if (columns.size() <= 2) {
    solve_group<2>(rows, columns, params, random);
  } else {
    solve_group<kMostColumns>(rows, columns, params, random);
  }
}

}  // namespace oplt

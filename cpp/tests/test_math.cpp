// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/math.hpp"
#include "check.hpp"

namespace {

using oplt::Real;

// A float's distance from the exact value in units of its last place.
double ulps(Real got, double exact) {
  const Real nearest = static_cast<Real>(exact);
  return std::abs(got - exact) / (std::nextafter(nearest, INFINITY) - nearest);
}

}  // namespace

TEST("exp_real is within 2 ulp") {
  double worst = 0;
  for (int i = -870'000; i <= 870'000; ++i) {
    const Real x = static_cast<Real>(i) / 10'000;
    worst = std::max(worst, ulps(oplt::exp_real(x), std::exp(static_cast<double>(x))));
  }
  CHECK(worst <= 2.0);
  CHECK_EQ(oplt::exp_real(0), 1.0F);
}

TEST("exp_real clamps its argument to [-87, 87]") {
  CHECK_EQ(oplt::exp_real(88), oplt::exp_real(87));
  CHECK_EQ(oplt::exp_real(INFINITY), oplt::exp_real(87));
  CHECK_EQ(oplt::exp_real(-1e9F), oplt::exp_real(-87));
  CHECK_EQ(oplt::exp_real(-INFINITY), oplt::exp_real(-87));
}

TEST("sigmoid is a monotone probability") {
  CHECK_EQ(oplt::sigmoid(0), 0.5F);
  Real previous = 0;
  for (int i = -100'000; i <= 100'000; ++i) {
    const Real p = oplt::sigmoid(static_cast<Real>(i) / 1000);
    CHECK(p > 0 && p <= 1);
    CHECK(p >= previous);
    previous = p;
  }
}

TEST("sigmoid(z) and sigmoid(-z) sum to 1 within rounding") {
  for (int i = 0; i <= 100'000; ++i) {
    const Real z = static_cast<Real>(i) / 1000;
    CHECK(std::abs(oplt::sigmoid(z) + oplt::sigmoid(-z) - 1) <= 2.4e-7F);  // 2 ulp of 1
  }
}

TEST("sigmoid is within a few ulp") {
  double worst = 0;
  for (int i = -80'000; i <= 80'000; ++i) {
    const Real z = static_cast<Real>(i) / 1000;
    worst = std::max(worst, ulps(oplt::sigmoid(z), 1 / (1 + std::exp(-static_cast<double>(z)))));
  }
  CHECK(worst <= 4.0);  // those of exp_real, of the sum and of the division
}

TEST("squared_hinge_probability is monotone, and 1 from a score of 1") {
  CHECK_EQ(oplt::squared_hinge_probability(1), Real{1});
  CHECK_EQ(oplt::squared_hinge_probability(1e12F), Real{1});
  CHECK(oplt::squared_hinge_probability(-1e30F) > 0);
  Real previous = 0;
  for (int i = -20'000; i <= 2'000; ++i) {
    const Real s = static_cast<Real>(i) / 1000;
    const Real p = oplt::squared_hinge_probability(s);
    CHECK(p >= previous && p <= 1);
    if (s > -8) {  // before clamping; the rounding error of the square grows with its size
      const double gap = std::max(0.0, 1 - static_cast<double>(s));
      CHECK(std::abs(p / std::exp(-gap * gap) - 1) < 2.4e-7 * (2 + gap * gap));
    }
    previous = p;
  }
}

TEST("exp_double is close to exp, and never decreases") {
  CHECK_EQ(oplt::exp_double(0), 1.0);
  double last = 0;
  for (double x = -700; x <= 700; x += 0.0625 / 3) {
    CHECK(std::abs(oplt::exp_double(x) / std::exp(x) - 1) <= 1e-15);
    CHECK(oplt::exp_double(x) > last);
    last = oplt::exp_double(x);
  }
}

TEST("log_double is close to log for numbers of leaves and their ratios") {
  const auto close = [](double x) { return std::abs(oplt::log_double(x) - std::log(x)) <= 1e-15 * (1 + std::log(x)); };
  CHECK_EQ(oplt::log_double(1), 0.0);
  for (int n = 1; n <= 1'000'000; ++n) {
    CHECK(close(n));
  }
  for (int a = 1; a <= 300; ++a) {
    for (int b = 1; b <= 300; ++b) {
      const double ratio = static_cast<double>(a) / b;
      CHECK(std::abs(oplt::log_double(ratio) - std::log(ratio)) <= 4e-16 * std::max(1.0, std::abs(std::log(ratio))));
    }
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/half.hpp"
#include "base/random.hpp"
#include "blocks/kernels.hpp"
#include "check.hpp"

using namespace oplt;

namespace {

Real random_real(Random& random) { return static_cast<Real>(random.below(2001)) / 500.0F - 2.0F; }

MaskWord random_mask(Random& random, std::uint32_t n_columns) {
  MaskWord mask = random.next();
  for (std::uint32_t sparser = random.below(4); sparser > 0; --sparser) {
    mask &= random.next();
  }
  return n_columns >= kWordColumns ? mask : mask & ((MaskWord{1} << n_columns) - 1);
}

/// Rows with random cells, laid out so that all `active` columns can be added.
struct Rows {
  std::uint32_t mask_words;
  std::vector<std::vector<MaskWord>> rows;
  std::vector<Real> values;
  std::vector<MaskWord> active;
  std::vector<MaskWord> after;  // by row
  std::vector<Real> gradients;
  RowShape shape;

  Rows(Random& random, std::uint32_t n_columns)
      : mask_words((n_columns + kWordColumns - 1) / kWordColumns), shape{mask_words, n_columns} {
    const auto columns_in = [&](std::uint32_t word) { return n_columns - word * kWordColumns; };
    for (std::uint32_t word = 0; word < mask_words; ++word) {
      active.push_back(random_mask(random, columns_in(word)));
    }
    for (std::uint32_t i = 0; i < mask_words * kWordColumns; ++i) {
      gradients.push_back(random_real(random));
    }
    for (int i = 0; i < 20; ++i) {
      std::vector<MaskWord> masks;
      std::uint32_t before = 0;
      std::uint32_t n_after = 0;
      for (std::uint32_t word = 0; word < mask_words; ++word) {
        masks.push_back(random_mask(random, columns_in(word)));
        before += count_bits(masks[word]);
        after.push_back(masks[word] | active[word] |
                        (random.below(2) == 0 ? random_mask(random, columns_in(word)) : 0));
        n_after += count_bits(after.back());
      }
      masks.resize(mask_words + capacity_for(n_after) + 8);  // 8 words after the row that must not change
      for (std::uint32_t cell = 0; cell < before; ++cell) {
        weights_of(masks.data(), mask_words)[cell] = random_real(random);
        (weights_of(masks.data(), mask_words) + capacity_for(n_after))[cell] = std::max(Real{0}, random_real(random));
      }
      rows.push_back(masks);
      values.push_back(random_real(random));
    }
  }

  std::vector<MaskWord*> pointers() {
    std::vector<MaskWord*> result;
    for (auto& row : rows) {
      result.push_back(row.data());
    }
    return result;
  }
};

/// Compares a version with the portable one on random rows.
void compare(const Kernels& version, Random& random, std::uint32_t n_columns, bool by_adagrad) {
  const Kernels& portable = portable_kernels();
  Rows one(random, n_columns);
  Rows other = one;
  auto one_rows = one.pointers();
  auto other_rows = other.pointers();
  one_rows[3] = other_rows[3] = nullptr;
  std::vector<Real> one_scores(n_scores(one.shape), -1);
  std::vector<Real> other_scores(one_scores.size(), -2);
  portable.score(one_rows.data(), one.values.data(), one_rows.size(), one.shape, one_scores.data());
  version.score(other_rows.data(), one.values.data(), one_rows.size(), one.shape, other_scores.data());
  CHECK(std::memcmp(one_scores.data(), other_scores.data(), one_scores.size() * sizeof(Real)) == 0);

  std::vector<Real> one_sums(one_scores.size(), -1);
  std::vector<Real> other_sums(one_scores.size(), -2);
  const auto sum = [&](const Kernels& some, auto& rows, std::vector<Real>& sums) {
    some.sum_accumulators(rows.data(), one.values.data(), rows.size(), one.shape, one.active.data(), sums.data());
  };
  sum(portable, one_rows, one_sums);
  sum(version, other_rows, other_sums);
  for_each_bit(one.active, [&](Column column) { CHECK_EQ(one_sums[column], other_sums[column]); });

  const StepColumns columns{one.active.data(), one.gradients.data()};
  const auto step = [&](auto* kernel, auto& rows, const auto& rule) {
    return kernel(rows.data(), one.after.data(), one.values.data(), rows.size(), one.mask_words, columns, rule);
  };
  const Real least = std::abs(one.gradients[0] * one.values[0]);
  if (by_adagrad) {
    const AdaGradStep rule{.learning_rate = 0.3F, .eps = 0.01F, .least = n_columns % 2 == 0 ? 0 : least};
    CHECK_EQ(step(portable.step_adagrad, one_rows, rule), step(version.step_adagrad, other_rows, rule));
  } else {
    const ArowStep rule{.r = 0.3F, .least = least};
    CHECK_EQ(step(portable.step_arow, one_rows, rule), step(version.step_arow, other_rows, rule));
  }
  CHECK(one.rows == other.rows);

  portable.sigmoids(one_scores.data(), one_scores.size());
  version.sigmoids(other_scores.data(), other_scores.size());
  CHECK(std::memcmp(one_scores.data(), other_scores.data(), one_scores.size() * sizeof(Real)) == 0);
}

}  // namespace

TEST("all kernels give the same bits as the portable ones") {
  for (const Kernels* version : all_kernels()) {
    Random random(1);
    for (const std::uint32_t n_columns :
         {1U, 2U, 3U, 4U, 5U, 8U, 9U, 15U, 16U, 17U, 33U, 48U, 49U, 63U, 64U, 65U, 101U, 130U, 200U}) {
      for (int round = 0; round < 20; ++round) {
        compare(*version, random, n_columns, round % 2 == 0);
      }
    }
  }
}

TEST("all kernels score halves exactly like floats of the same value") {
  Random random(2);
  for (const std::uint32_t n_columns : {1U, 2U, 4U, 5U, 8U, 9U, 16U, 17U, 33U, 48U, 49U, 63U, 64U, 65U, 130U, 200U}) {
    for (int round = 0; round < 20; ++round) {
      Rows floats(random, n_columns);
      std::vector<std::vector<MaskWord>> halves;  // no longer than necessary
      std::vector<const MaskWord*> half_rows;
      for (std::vector<MaskWord>& row : floats.rows) {
        const std::size_t count = count_bits(std::span(row).first(floats.mask_words));
        halves.emplace_back(row.begin(), row.begin() + floats.mask_words).resize(floats.mask_words + (count + 3) / 4);
        for (std::size_t cell = 0; cell < count; ++cell) {
          Half half{};
          do {
            half.bits = static_cast<std::uint16_t>(random.next());
          } while ((half.bits & kHalfExponent) == kHalfExponent);
          weights_of<Half>(halves.back().data(), floats.mask_words)[cell] = half;
          weights_of(row.data(), floats.mask_words)[cell] = to_real(half);
        }
        half_rows.push_back(count == 0 ? nullptr : halves.back().data());
      }
      std::vector<MaskWord*> float_rows = floats.pointers();
      for (std::size_t i = 0; i < float_rows.size(); ++i) {
        float_rows[i] = half_rows[i] == nullptr ? nullptr : float_rows[i];
      }
      std::vector<Real> expected(n_scores(floats.shape), -1);
      portable_kernels().score(float_rows.data(), floats.values.data(), float_rows.size(), floats.shape,
                               expected.data());
      for (const Kernels* some : all_kernels()) {
        std::vector<Real> scores(expected.size(), -2);
        some->score_halves(half_rows.data(), floats.values.data(), half_rows.size(), floats.shape, scores.data());
        CHECK(std::memcmp(scores.data(), expected.data(), scores.size() * sizeof(Real)) == 0);
      }
    }
  }
}

TEST("kernels are found by their names, and the fastest by none") {
  for (const Kernels* some : all_kernels()) {
    CHECK(&kernels_named(some->name) == some);
  }
  CHECK(&kernels_named("") == all_kernels().front());
  CHECK_THROWS(UnknownKernels, kernels_named("nonsense"));
  CHECK_THROWS(UnknownKernels, kernels_named("portable "));
}

TEST("a row has space for its cells, and not for many more") {
  for (std::uint32_t count = 1; count < 5000; ++count) {
    const std::uint32_t capacity = capacity_for(count);
    CHECK(capacity >= count);
    CHECK(capacity < 2 * count);
    CHECK(capacity <= capacity_for(count + 1));
  }
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "ranking/label_memory.hpp"

using namespace oplt;

namespace {

constexpr std::uint32_t kNoBound = 1000;
constexpr LabelMemory::Limits kNoLimits = {LabelMemory::kAll, LabelMemory::kAll, ~0ULL};

/// A slow reference implementation in double precision, without bounds.
struct Naive {
  std::map<LabelId, std::map<FeatureId, double>> sums;
  std::map<LabelId, std::map<FeatureId, double>> shares;  // as they were posted
  std::map<LabelId, std::uint32_t> counts;
  std::map<LabelId, double> norms;  // as of the last change of the label or the last renewal
  std::map<FeatureId, double> weights;
  std::map<FeatureId, double> totals;
  std::map<LabelId, std::uint64_t> last;
  std::uint64_t n_learnt = 0;
  std::size_t n_renewed = 0;

  void renew_norm(LabelId label) {
    double squares = 0;
    for (const auto& [feature, sum] : sums[label]) {
      squares += sum * weights[feature] * sum * weights[feature];
    }
    norms[label] = std::sqrt(squares);
  }

  void renew_weight(FeatureId feature) {
    double n = 0;
    for (const auto& [label, posted] : shares) {
      n += static_cast<double>(posted.count(feature));
    }
    weights[feature] = std::log(1 + static_cast<double>(counts.size()) / std::max(1.0, n));
  }

  void post(LabelId label) {
    for (const auto& [feature, sum] : sums[label]) {
      const bool is_new = shares[label].count(feature) == 0;
      shares[label][feature] = norms[label] > 0 ? sum / norms[label] : 0;
      if (is_new) {
        renew_weight(feature);
      }
    }
  }

  static double norm(const test::StreamExample& example) {
    double squares = 0;
    for (std::size_t i = 0; i + 1 < example.values.size(); ++i) {  // the last one is the bias
      squares += static_cast<double>(example.values[i]) * example.values[i];
    }
    return std::sqrt(squares);
  }

  void learn(const test::StreamExample& example) {
    ++n_learnt;
    const double scale = example.weight / norm(example);
    for (std::size_t i = 0; example.labels.empty() && i + 1 < example.features.size(); ++i) {
      if (weights[example.features[i]] == 0) {
        renew_weight(example.features[i]);
      }
    }
    for (const LabelId label : example.labels) {
      ++counts[label];
      last[label] = n_learnt;
      for (std::size_t i = 0; i + 1 < example.features.size(); ++i) {
        totals[example.features[i]] += std::abs(scale * example.values[i]);
        sums[label][example.features[i]] += scale * example.values[i];
        if (weights[example.features[i]] == 0) {
          renew_weight(example.features[i]);
        }
      }
      renew_norm(label);
      if (std::has_single_bit(counts[label])) {
        post(label);
      }
    }
    if (counts.size() > n_renewed + n_renewed / 2) {
      for (const auto& [feature, weight] : std::map(weights)) {
        if (weight > 0) {
          renew_weight(feature);
        }
      }
      for (const auto& [label, count] : counts) {
        renew_norm(label);
        post(label);
      }
      n_renewed = counts.size();
    }
  }

  /// The product by which labels are retrieved, from the shares in the postings.
  double product(LabelId label, const test::StreamExample& example) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < example.features.size(); ++i) {
      const FeatureId feature = example.features[i];
      if (shares[label].count(feature) > 0) {
        sum += example.values[i] / norm(example) * weights[feature] * weights[feature] * shares[label][feature];
      }
    }
    return sum;
  }

  /// The positive products of all labels, in descending order.
  std::vector<double> sorted_products(const test::StreamExample& example) {
    std::vector<double> products;
    for (const auto& [label, count] : counts) {
      if (const double found = product(label, example); found > 0) {
        products.push_back(found);
      }
    }
    std::sort(products.rbegin(), products.rend());
    return products;
  }

  Similarity similarity(LabelId label, const test::StreamExample& example) {
    double product = 0;
    double covered = 0;
    double squares = 0;
    double mean_share = 0;
    double largest_share = 0;
    for (std::size_t i = 0; i + 1 < example.features.size(); ++i) {
      const FeatureId feature = example.features[i];
      const double weighted = example.values[i] / norm(example) * weights[feature];
      squares += weighted * weighted;
      if (sums[label].count(feature) > 0) {
        product += weighted * weights[feature] * sums[label][feature];
        covered += weighted * weighted;
        const double share = totals[feature] > 0 ? std::abs(sums[label][feature]) / totals[feature] : 0;
        mean_share += std::abs(weighted) * share;
        largest_share = std::max(largest_share, share);
      }
    }
    if (squares == 0 || norms[label] == 0) {
      return {0, 0, 0, 0};
    }
    return {static_cast<Real>(product / std::sqrt(squares) / norms[label]), static_cast<Real>(covered / squares),
            static_cast<Real>(mean_share / std::sqrt(squares)), static_cast<Real>(largest_share)};
  }
};

LabelMemory taught(const std::vector<test::StreamExample>& stream, std::uint32_t max_features) {
  LabelMemory memory(max_features);
  for (const test::StreamExample& example : stream) {
    memory.learn(example.row(), example.labels, example.weight);
  }
  return memory;
}

bool near(Real a, Real b) { return std::abs(a - b) < 1e-3F; }

}  // namespace

TEST("similarities match the definition") {
  const auto stream = test::random_stream(3, 400);
  LabelMemory memory(kNoBound);
  Naive naive;
  LabelMemory::Query query;
  std::size_t n_compared = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (i % 20 == 0) {
      memory.ask(stream[i].row(), query);
      for (const auto& [label, count] : naive.counts) {
        const Similarity got = memory.similarity(label, query);
        const Similarity expected = naive.similarity(label, stream[i]);
        CHECK(near(got.cosine, expected.cosine));
        CHECK(near(got.coverage, expected.coverage));
        CHECK(near(got.mean_share, expected.mean_share));
        CHECK(near(got.largest_share, expected.largest_share));
        CHECK_EQ(memory.count(label), count);
        CHECK_EQ(memory.n_since(label), naive.n_learnt - naive.last[label]);
        ++n_compared;
      }
    }
    memory.learn(stream[i].row(), stream[i].labels, stream[i].weight);
    naive.learn(stream[i]);
  }
  CHECK(n_compared > 1000);
}

TEST("without bounds, the nearest labels are exact") {
  const auto stream = test::random_stream(3, 300);
  LabelMemory memory(kNoBound, LabelMemory::kExact);
  Naive naive;
  LabelMemory::Query query;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (i % 10 == 0) {
      memory.ask(stream[i].row(), query);
      std::vector<LabelId> found;
      memory.find_nearest(5, query, found);
      const std::vector<double> products = naive.sorted_products(stream[i]);
      CHECK_EQ(found.size(), std::min<std::size_t>(5, products.size()));
      for (std::size_t rank = 0; rank < found.size(); ++rank) {
        CHECK(near(static_cast<Real>(naive.product(found[rank], stream[i])), static_cast<Real>(products[rank])));
      }
    }
    memory.learn(stream[i].row(), stream[i].labels, stream[i].weight);
    naive.learn(stream[i]);
  }
}

TEST("a feature that too many labels have does not hide the others") {
  LabelMemory memory(kNoBound, {8, 100, 100});
  for (FeatureId label = 0; label < 200; ++label) {  // all labels have feature 0, the heaviest one
    memory.learn({std::vector<FeatureId>{0, label + 1}, std::vector<Real>{20, 1}}, std::vector<LabelId>{label}, 1);
  }
  LabelMemory::Query query;
  std::vector<LabelId> found;
  memory.ask({std::vector<FeatureId>{0, 150}, std::vector<Real>{20, 1}}, query);
  memory.find_nearest(1, query, found);
  CHECK_EQ(found, std::vector<LabelId>{149});
  found.clear();
  memory.ask({std::vector<FeatureId>{0}, std::vector<Real>{1}}, query);  // only the common feature
  memory.find_nearest(3, query, found);
  CHECK_EQ(found.size(), 3U);
}

TEST("if too many labels have every feature, several features are used nevertheless") {
  // Labels lie on a quarter of a circle, so that it takes both features to tell them apart.
  const auto on_circle = [](LabelId label) {
    const double angle = (label + 0.5) / 200 * std::acos(0.0);
    return std::vector<Real>{static_cast<Real>(std::cos(angle)), static_cast<Real>(std::sin(angle))};
  };
  const std::vector<FeatureId> features = {0, 1};
  LabelMemory memory(kNoBound, {8, 100, 400});
  for (LabelId label = 0; label < 200; ++label) {
    memory.learn({features, on_circle(label)}, std::vector<LabelId>{label}, 1);
  }
  LabelMemory::Query query;
  for (const LabelId label : {30U, 100U, 170U}) {
    std::vector<LabelId> found;
    memory.ask({features, on_circle(label)}, query);
    memory.find_nearest(3, query, found);
    std::sort(found.begin(), found.end());
    CHECK_EQ(found, (std::vector<LabelId>{label - 1, label, label + 1}));
  }
}

TEST("the nearest labels of a row are found through its features") {
  LabelMemory memory(kNoBound);
  const std::vector<Real> ones(3, 1);
  for (FeatureId label = 0; label < 200; ++label) {  // all labels have feature 0; the others belong to one label each
    memory.learn({std::vector<FeatureId>{0, 2 * label + 1, 2 * label + 2}, ones}, std::vector<LabelId>{label}, 1);
  }
  LabelMemory::Query query;
  std::vector<LabelId> found;
  memory.ask({std::vector<FeatureId>{0, 15, 16, 21}, std::vector<Real>{1, 1, 1, 0.5F}}, query);
  memory.find_nearest(3, query, found);
  CHECK_EQ(found, (std::vector<LabelId>{7, 10, 0}));  // all others are equally near: the lowest id

  found.clear();
  memory.ask({std::vector<FeatureId>{999}, std::vector<Real>{1}}, query);  // a feature that no label has
  memory.find_nearest(3, query, found);
  CHECK(found.empty());
  CHECK_EQ(memory.similarity(7, query).cosine, 0);
  CHECK_EQ(memory.count(5000), 0U);
  CHECK_EQ(memory.n_since(5000), 200U);
}

TEST("the heaviest features of a label are kept") {
  LabelMemory memory(8);
  std::vector<FeatureId> features;
  std::vector<Real> values;
  for (FeatureId feature = 0; feature < 20; ++feature) {
    features.push_back(feature);
    values.push_back(feature % 2 == 0 ? Real{1} + static_cast<Real>(feature) : Real{0.1F});
  }
  memory.learn({features, values}, std::vector<LabelId>{0}, 1);
  CHECK_EQ(memory.n_cells(), 6U);  // three quarters of 8
  LabelMemory::Query query;
  for (FeatureId feature = 0; feature < 20; ++feature) {
    memory.ask({std::vector<FeatureId>{feature}, std::vector<Real>{1}}, query);
    CHECK_EQ(memory.similarity(0, query).coverage > 0, feature % 2 == 0 && feature >= 8);
  }
}

TEST("a bounded memory stays within its bound, and continues identically after saving and loading") {
  for (const std::uint32_t bound : {1U, 3U, 16U, kNoBound}) {
    const auto stream = test::random_stream(9, 600);
    LabelMemory memory = taught(stream, bound);
    LabelMemory loaded = LabelMemory::load(test::read_arrays(test::saved_bytes(memory)), "thing", bound);
    loaded.check(kNoLimits);
    std::set<LabelId> labels;
    for (const test::StreamExample& example : stream) {
      labels.insert(example.labels.begin(), example.labels.end());
    }
    LabelMemory::Query query;
    LabelMemory::Query loaded_query;
    for (const test::StreamExample& example : test::random_stream(10, 300)) {
      labels.insert(example.labels.begin(), example.labels.end());
      std::vector<LabelId> found;
      std::vector<LabelId> loaded_found;
      memory.ask(example.row(), query);
      loaded.ask(example.row(), loaded_query);
      memory.find_nearest(7, query, found);
      loaded.find_nearest(7, loaded_query, loaded_found);
      CHECK_EQ(found, loaded_found);
      memory.learn(example.row(), example.labels, example.weight);
      loaded.learn(example.row(), example.labels, example.weight);
    }
    CHECK_EQ(test::saved_bytes(memory), test::saved_bytes(loaded));
    CHECK(memory.n_cells() <= bound * labels.size());
    CHECK_EQ(memory.n_cells(), loaded.n_cells());
  }
}

TEST("extremely large and small values and weights are handled") {
  const std::vector<Real> sizes = {1e-45F, 1e-38F, 1e-30F, 1e-12F, 1, 1e12F, 1e30F, 1e38F};
  LabelMemory memory(kNoBound);
  for (LabelId label = 0; label < sizes.size(); ++label) {
    for (const Real weight : sizes) {
      memory.learn({std::vector<FeatureId>{0, label + 1}, std::vector<Real>{sizes[label], sizes[label]}},
                   std::vector<LabelId>{label}, weight);
    }
  }
  LabelMemory::Query query;
  for (const Real size : sizes) {
    for (LabelId label = 0; label < sizes.size(); ++label) {
      memory.ask({std::vector<FeatureId>{0, label + 1}, std::vector<Real>{size, size}}, query);
      CHECK(std::abs(memory.similarity(label, query).cosine - 1) < 1e-3F);
      const Similarity other = memory.similarity((label + 1) % static_cast<LabelId>(sizes.size()), query);
      CHECK(other.cosine > 0 && other.cosine < 0.5F);
      CHECK(std::isfinite(other.coverage) && std::isfinite(other.mean_share) && std::isfinite(other.largest_share));
    }
  }
}

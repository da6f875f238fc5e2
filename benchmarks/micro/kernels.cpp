// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The cost of scoring and updating a sibling block with each version of the kernels, beside the bandwidth of the same
// machine in the same run. Prints tab-separated lines, which kernels.py reads:
//
//   bandwidth   read or update  cache or memory   bytes per ns
//   score, adagrad or arow      cache or memory   kernels   columns   round   ns per row
//
// A row is a feature of an example in this block. All its columns have cells, and an update changes all of them,
// because there is no gate, and because the steps of AROW are so small that no margin is ever reached. In `memory`, a
// block is larger than any cache, and all versions take turns with new examples.
#include "blocks/kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "blocks/sibling_block.hpp"

using namespace oplt;

namespace {

constexpr std::size_t kExamples = 8192;
constexpr std::size_t kFeaturesPerExample = 40;
constexpr int kRounds = 7;
constexpr Real kValue = 0.15F;  // about 1 / √40, so that rows have norm 1

struct Place {
  const char* name;
  std::size_t bytes;  // of a block
};
constexpr Place kPlaces[] = {{"cache", std::size_t{1} << 17}, {"memory", std::size_t{1} << 28}};

const LearningParams kAdaGrad = AdaGradParams{.learning_rate = 0.1F, .eps = 0.01F, .gate = 0};
const LearningParams kArow = ArowParams{.r = 1e6F, .sparsity = 0};

/// CPU time of a call in ns.
template <class Run>
double nanoseconds(Run run) {
  const std::clock_t begin = std::clock();
  run();
  return 1e9 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// How fast an array of this size can be read, and updated in place, as a step does. The best of several runs, each
/// repeated until it takes long enough to be timed.
void print_bandwidth(const Place& place) {
  std::vector<Real> values(place.bytes / sizeof(Real), 1);
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 28) / place.bytes);
  double read = 1e18;
  double update = 1e18;
  bool is_found = false;
  for (int round = 0; round < kRounds; ++round) {
    update = std::min(update, nanoseconds([&] {
                        for (std::size_t i = 0; i < repeats; ++i) {
                          std::ranges::for_each(values, [](Real& value) { value = value * 0.5F + 0.5F; });
                        }
                      }));
    read = std::min(read, nanoseconds([&] {
                      for (std::size_t i = 0; i < repeats; ++i) {
                        values[0] = static_cast<Real>(i % 2);  // so that no call is left out
                        is_found |= std::memchr(values.data(), 0xFF, place.bytes) != nullptr;
                      }
                    }));
  }
  const auto bytes = static_cast<double>(place.bytes * repeats);
  std::printf("bandwidth\tread\t%s\t%.3f\n", place.name, is_found ? 0 : bytes / read);
  std::printf("bandwidth\tupdate\t%s\t%.3f\n", place.name, 2 * bytes / update);
}

/// Examples with random features, ascending and distinct in each.
std::vector<FeatureId> random_features(Random& random, std::uint32_t n_features) {
  std::vector<FeatureId> features(kExamples * kFeaturesPerExample);
  const auto width = n_features / static_cast<std::uint32_t>(kFeaturesPerExample);
  for (std::size_t i = 0; i < features.size(); ++i) {
    features[i] = static_cast<FeatureId>(i % kFeaturesPerExample) * width + random.below(width);
  }
  return features;
}

template <class Visit>
void for_each_example(std::span<const FeatureId> features, Visit visit) {
  static const std::vector<Real> values(kFeaturesPerExample, kValue);
  for (std::size_t i = 0; i + kFeaturesPerExample <= features.size(); i += kFeaturesPerExample) {
    visit(RowView{features.subspan(i, kFeaturesPerExample), values});
  }
}

void learn_all(SiblingBlock& block, std::span<const FeatureId> features, const LearningParams& params,
               BlockScratch& scratch) {
  const std::vector<std::uint32_t> positives{0};
  for_each_example(features, [&](RowView x) {
    block.score(x, scratch);
    if (block.find_step(x, 1, positives, params, scratch)) {
      block.take_step(x, params, scratch);
    }
  });
}

/// A block in which every feature has a row, and every row a cell for each column.
SiblingBlock filled_block(Column n_columns, std::uint32_t n_features, const LearningParams& params) {
  SiblingBlock block(true, n_columns - 1);
  std::vector<FeatureId> all(n_features);
  std::ranges::generate(all, [next = FeatureId{0}]() mutable { return next++; });
  BlockScratch scratch;
  learn_all(block, all, params, scratch);
  return block;
}

/// Times `run(block, features, scratch)` with all versions in turn.
template <class Run>
void measure(const char* operation, const Place& place, Column n_columns, const LearningParams& params, Run run) {
  const std::size_t row_bytes = sizeof(MaskWord) * ((n_columns + kWordColumns - 1) / kWordColumns + n_columns);
  const auto n_features = static_cast<std::uint32_t>(place.bytes / row_bytes);
  SiblingBlock block = filled_block(n_columns, n_features, params);
  BlockScratch scratch;
  Random random(n_columns);
  for (int round = 0; round < kRounds; ++round) {
    for (const Kernels* some : all_kernels()) {
      scratch.kernels = some;
      const std::vector<FeatureId> features = random_features(random, n_features);
      const double ns = nanoseconds([&] { run(block, features, scratch); });
      std::printf("%s\t%s\t%s\t%u\t%d\t%.3f\n", operation, place.name, some->name, n_columns, round,
                  ns / static_cast<double>(features.size()));
    }
  }
}

void score_all(SiblingBlock& block, std::span<const FeatureId> features, BlockScratch& scratch) {
  for_each_example(features, [&](RowView x) { block.child_scores(x, scratch); });
}

}  // namespace

int main() {
  for (const Place& place : kPlaces) {
    print_bandwidth(place);
    for (const Column n_columns : {4U, 8U, 16U, 32U, 64U, 128U}) {
      measure("score", place, n_columns, kAdaGrad, score_all);
      for (const auto& [name, params] : {std::pair("adagrad", kAdaGrad), std::pair("arow", kArow)}) {
        measure(name, place, n_columns, params, [&](SiblingBlock& block, const auto& features, BlockScratch& scratch) {
          learn_all(block, features, params, scratch);
        });
      }
    }
  }
}

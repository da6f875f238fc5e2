// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Settings, random streams and bit-for-bit comparisons shared by several tests.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/types.hpp"
#include "blocks/sibling_block.hpp"
#include "encode/label_book.hpp"
#include "io/array_file.hpp"
#include "model/params.hpp"
#include "tree/label_tree.hpp"

namespace oplt::test {

inline constexpr Policy kGrowingPolicies[] = {Policy::kRandom, Policy::kBestGreedy, Policy::kComplete, Policy::kCpet,
                                              Policy::kFlat};

inline LearningParams adagrad(Real gate = 0) {
  return AdaGradParams{.learning_rate = 0.5F, .eps = 0.01F, .gate = gate};
}
inline LearningParams arow(Real sparsity = 0) { return ArowParams{.r = 0.3F, .sparsity = sparsity}; }

/// Both rules, updating all columns and cells, or only some.
inline const LearningParams kRules[] = {adagrad(), adagrad(0.1F), arow(), arow(0.5F)};

inline ModelParams make_params(Policy policy = Policy::kBestGreedy, std::uint32_t arity = 2,
                               std::uint32_t max_leaves = 4, const LearningParams& learning = adagrad()) {
  return {.forest = {.tree = {.policy = policy,
                              .alpha = 0.75,
                              .arity = arity,
                              .max_leaves = max_leaves,
                              .spread_new_labels = true,
                              .seed = 7},
                     .learning = learning,
                     .rows = {.bias = 1, .normalize = true}}};
}

/// Settings of a model whose only tree is tree `number` of a forest.
inline ModelParams of_tree(ModelParams params, std::uint32_t number) {
  params.forest.tree = params.forest.of_tree(number);
  params.forest.trees = 1;
  return params;
}

/// Labels with the names 0, 1, 2, …
inline LabelBook numbered_labels(std::uint32_t n) {
  Vocabulary names;
  std::vector<NameId> ids;
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(n); ++number) {
    names.add_row({.names = {}, .numbers = {&number, 1}}, 0, 1, ids);
  }
  return LabelBook(std::move(names));
}

struct StreamExample {
  std::vector<FeatureId> features;
  std::vector<Real> values;
  std::vector<LabelId> labels;
  Real weight;

  RowView row() const { return {features, values}; }
  Example view() const { return {row(), labels, weight}; }
};

/// Ascending features below n_features, with values of both signs, and a bias of 1.
inline StreamExample random_example(Random& random, std::uint32_t n_features) {
  StreamExample example{.features = {}, .values = {}, .labels = {}, .weight = 1};
  for (FeatureId feature = 0; feature < n_features; ++feature) {
    if (random.below(n_features) < 5) {  // about 5 features
      example.features.push_back(feature);
    }
  }
  example.features.push_back(kBiasFeature);
  for (std::size_t i = 0; i < example.features.size(); ++i) {
    const Real size = static_cast<Real>(random.below(1000) + 1) / 1000;
    example.values.push_back(random.below(3) == 0 ? -size : size);
  }
  example.values.back() = 1;
  if (random.below(3) == 0) {
    example.weight = static_cast<Real>(random.below(40) + 1) / 10;
  }
  return example;
}

/// A stream in which new features and labels keep appearing: one at a time, several at once, or none; and old examples
/// repeat. New labels get the ids from n_labels on, as a vocabulary would assign them.
inline std::vector<StreamExample> random_stream(std::uint64_t seed, std::size_t n, std::uint32_t n_labels = 0) {
  Random random(seed);
  std::vector<StreamExample> stream;
  for (std::uint32_t t = 0; t < n; ++t) {
    if (t > 0 && random.below(8) == 0) {
      stream.push_back(StreamExample(stream[random.below(t)]));
      continue;
    }
    StreamExample example = random_example(random, 12 + t / 4);
    const std::uint32_t n_old = n_labels == 0 ? 0 : random.below(3);
    for (std::uint32_t i = 0; i < n_old; ++i) {
      example.labels.push_back(random.below(n_labels));
    }
    std::uint32_t n_new = 0;
    if (random.below(3) == 0) {
      n_new = random.below(4);  // in a statement of its own, since operands may be evaluated in any order
      n_new = 1 + n_new * random.below(2);
    }
    for (std::uint32_t i = 0; i < n_new; ++i) {
      example.labels.push_back(n_labels++);
    }
    std::sort(example.labels.begin(), example.labels.end());
    example.labels.erase(std::unique(example.labels.begin(), example.labels.end()), example.labels.end());
    stream.push_back(std::move(example));
  }
  return stream;
}

/// A random tree: the parent of node v is a random earlier node. Leaves are labelled 0, 1, 2, …
inline LabelTree random_tree(Random& random, std::uint32_t n_nodes) {
  std::vector<NodeId> parents{kNone};
  std::vector<bool> is_leaf(n_nodes, true);
  for (NodeId v = 1; v < n_nodes; ++v) {
    parents.push_back(random.below(v));
    is_leaf[parents[v]] = false;
  }
  LabelId n_labels = 0;
  std::vector<LabelId> labels;
  for (NodeId v = 0; v < n_nodes; ++v) {
    labels.push_back(is_leaf[v] ? n_labels++ : kNone);
  }
  return {parents, labels};
}

/// The same tree, built from its parents and labels.
inline LabelTree rebuilt(const LabelTree& tree) {
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    parents.push_back(tree.node(v).parent);
    labels.push_back(tree.node(v).label);
  }
  return {parents, labels};
}

/// The bytes of a file that `write` has written.
template <class Write>
std::vector<std::byte> file_of(Write write) {
  std::vector<std::byte> bytes;
  ArrayWriter out([&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  write(out);
  out.finish();
  return bytes;
}

/// The bytes of a file with only this object. Array names begin with "thing/", unless the object chooses them itself.
template <class T>
std::vector<std::byte> saved_bytes(const T& thing) {
  return file_of([&](ArrayWriter& out) {
    if constexpr (requires { thing.save(out); }) {
      thing.save(out);
    } else {
      thing.save(out, "thing");
    }
  });
}

/// A reader whose bytes live as long as any view of them.
inline ArrayReader read_arrays(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {*owner, owner};
}

/// The same file, but with other values in one array.
template <class T>
std::vector<std::byte> with_array(const std::vector<std::byte>& file, std::string_view name,
                                  std::span<const T> values) {
  const ArrayReader in(file, nullptr);
  return file_of([&](ArrayWriter& out) {
    for (const ArrayEntry& entry : in.entries()) {
      const std::span<const std::byte> old = std::span(file).subspan(entry.offset, entry.n_bytes);
      out.put_bytes(entry.name, entry.value_bytes, entry.name == name ? std::as_bytes(values) : old);
    }
  });
}

/// The same file, but with one byte of an array changed and valid checksums.
inline std::vector<std::byte> with_random_byte(const std::vector<std::byte>& file, Random& random) {
  const ArrayReader in(file, nullptr);
  const ArrayEntry& entry = in.entries()[random.below(static_cast<std::uint32_t>(in.entries().size()))];
  std::vector<std::byte> bytes(file.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                               file.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.n_bytes));
  if (!bytes.empty()) {
    // Small values are more plausible, and pass checks more often.
    const std::uint32_t most = random.below(2) == 0 ? 8 : 256;
    bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::byte>(random.below(most));
  }
  return with_array<std::byte>(file, entry.name, bytes);
}

/// Damages a file in many ways and calls use(file), which must throw FormatError or do no harm. Returns how often it
/// did not throw.
template <class Use>
int n_harmless(const std::vector<std::byte>& file, int n, Use use) {
  Random random(14);
  int n_used = 0;
  for (int i = 0; i < n; ++i) {
    try {
      use(with_random_byte(file, random));
      ++n_used;
    } catch (const FormatError&) {
    }
  }
  return n_used;
}

/// The same file, but with one value of an array changed.
template <class T>
std::vector<std::byte> with_value(const std::vector<std::byte>& file, std::string_view name, std::size_t i, T value) {
  Buffer<T> values = ArrayReader(file, nullptr).get<T>(name);
  values.own();
  values[i] = value;
  return with_array<T>(file, name, values.view());
}

/// Damages saved bytes: overwrites them with a value.
template <class T>
void overwrite(std::vector<std::byte>& bytes, std::size_t place, T value) {
  const auto piece = std::as_bytes(std::span(&value, 1));
  std::copy(piece.begin(), piece.end(), bytes.begin() + static_cast<std::ptrdiff_t>(place));
}

/// Bit-for-bit equality, which unlike == distinguishes 0 from -0.
inline bool same_bits(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Cell& one, const Cell& other) {
    const auto bits = [](Real value) { return std::bit_cast<std::uint32_t>(value); };
    return one.feature == other.feature && bits(one.weight) == bits(other.weight) &&
           bits(one.accumulator) == bits(other.accumulator);
  });
}

}  // namespace oplt::test

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/buffer.hpp"
#include "base/error.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// How often, and when, each label has occurred in examples. Examples are numbered from 0.
class LabelCounts {
 public:
  explicit LabelCounts(std::size_t n_labels = 0) { counts_.resize(n_labels); }

  struct Count {
    std::uint64_t n_examples = 0;
    std::uint64_t first = 0;  // number of its first example; 0 if there is none
    std::uint64_t last = 0;
  };

  std::size_t size() const { return counts_.size(); }
  const Count& of(LabelId label) const { return counts_[label]; }

  /// Makes room for new labels.
  void resize(std::size_t n_labels) {
    counts_.own();
    counts_.resize(n_labels);
  }

  /// Counts the labels of the example with this number.
  void add(std::span<const LabelId> labels, std::uint64_t number) {
    counts_.own();
    for (const LabelId label : labels) {
      Count& count = counts_[label];
      count.first = count.n_examples == 0 ? number : count.first;
      count.last = number;
      ++count.n_examples;
    }
  }

  /// Adds the examples of a label to those of another. An example that has both counts twice, but there are not more
  /// than `n_examples`.
  void merge(LabelId label, LabelId into, std::uint64_t n_examples) {
    const Count from = counts_[label];
    if (from.n_examples == 0) {
      return;
    }
    counts_.own();
    Count& count = counts_[into];
    count.first = count.n_examples == 0 ? from.first : std::min(count.first, from.first);
    count.last = std::max(count.last, from.last);
    count.n_examples = std::min(count.n_examples + from.n_examples, n_examples);
    counts_[label] = {};
  }

  std::size_t memory_bytes() const { return counts_.memory_bytes(); }
  std::size_t content_bytes() const { return counts_.content_bytes(); }

  void save(ArrayWriter& out, const std::string& name) const { out.put(name, counts_); }
  /// The counts stay in the file until they change.
  static LabelCounts load(const ArrayReader& in, const std::string& name) {
    LabelCounts result;
    result.counts_ = in.get<Count>(name);
    return result;
  }
  /// Throws FormatError unless the counts are possible after this number of examples.
  void check(std::uint64_t n_examples) const {
    bool good = true;
    for (const auto& [n, first, last] : counts_) {
      good = good && n <= n_examples && first <= last && (n == 0 ? last == 0 : last < n_examples);
    }
    expect_format(good, "the counts of labels do not match the model");
  }

 private:
  Buffer<Count> counts_;  // by label
};

}  // namespace oplt

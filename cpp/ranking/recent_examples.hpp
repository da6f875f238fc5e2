// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/lists.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

/// What the examples nearest to a row say about a label.
struct Votes {
  Real share = 0;     // of the squared similarities of these examples, the part of those that have the label
  Real nearness = 0;  // 1 if the nearest example has the label, less for the second one, and so on; 0 if none has it
};

/// The latest examples of each label, for streams with few features.
///
/// With few features, a label's examples are not alike: their mean, which the label memory knows, says little, and a
/// linear classifier cannot separate them. But a row's nearest examples have its labels. With many features, as texts
/// have, this adds nothing to the memory and the tree. So the votes fade out as the number of features grows; then no
/// examples are kept any more.
class RecentExamples {
 public:
  static constexpr std::size_t kMostOfLabel = 64;  // examples kept of a label
  static constexpr std::size_t kNearest = 32;      // examples that vote

  /// The examples nearest to a row, and working memory of one thread.
  class Nearest {
   public:
    std::size_t size() const { return found_.size(); }

   private:
    friend class RecentExamples;

    void reset();

    struct Found {
      Real similarity;
      std::uint32_t slot;
    };

    std::vector<Found> found_;          // nearest first
    std::vector<std::uint32_t> slots_;  // to compare with the row
    std::vector<bool> is_listed_;       // by slot: whether slots_ has it
    std::vector<FeatureId> features_;   // of the row
    std::vector<Real> row_;             // by feature: the weighted row, scaled to norm 1
    double all_ = 0;                    // the sum of the squared similarities
  };

  /// Keeps an example that the memory has just learnt. Unless there may be more of them, i.e. they may `grow`, it takes
  /// the place of an earlier one of each label that has the most.
  void learn(RowView row, std::span<const LabelId> labels, const LabelMemory& memory, bool grow = true);

  /// Drops the examples of a label.
  void remove(LabelId label);

  /// Gives the latest examples of two labels to the second one. The memory still knows both.
  void merge(LabelId label, LabelId into, const LabelMemory& memory);

  /// Finds the nearest ones among the kept examples of some labels.
  void find_nearest(RowView row, std::span<const LabelId> labels, const LabelMemory& memory, Nearest& nearest) const;

  Votes votes(LabelId label, const Nearest& nearest) const;

  std::size_t size() const { return n_users_.size() - free_.size(); }
  std::size_t memory_bytes() const;
  std::size_t content_bytes() const {
    // An example of several labels may be replaced by one for each of them.
    const std::size_t n_slots = std::max<std::size_t>(1, n_users_.size());
    const std::size_t of_slot = (cells_.content_bytes() + labels_.content_bytes()) / n_slots + 1;
    return of_slot * std::max(n_slots, latest_.n_values()) + latest_.content_bytes() + 2 * n_users_.content_bytes();
  }

  /// See LabelMemory.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static RecentExamples load(const ArrayReader& in, const std::string& prefix);
  void check(const LabelMemory& memory) const;

 private:
  /// A feature of an example.
  struct Cell {
    FeatureId feature;
    Real value;  // weighted when the example was learnt, and divided by the norm of the weighted example
  };

  void renew_trust(const LabelMemory& memory);
  std::uint32_t free_slot();
  void release(std::uint32_t slot);
  std::vector<std::uint32_t> latest_first(LabelId label, std::uint32_t count) const;
  void check_examples(const LabelMemory& memory) const;
  void find_heaviest(RowView row, const LabelMemory& memory);

  double trust_ = 1;               // factor of all votes: 0 if there are many features, then for good
  Lists<Cell> cells_;              // by slot: the heaviest features of an example
  Lists<LabelId> labels_;          // by slot
  Lists<std::uint32_t> latest_;    // by label: slots; the oldest one is overwritten
  Buffer<std::uint32_t> n_users_;  // by slot: the number of labels that list it
  Buffer<std::uint32_t> free_;     // slots without users
  std::vector<Cell> heaviest_;     // working memory of learn()
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/lists.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The similarity of a label's examples to a row.
struct Similarity {
  Real cosine;    // between the row and the sum of the examples
  Real coverage;  // the fraction of the row, by squares, in features that the label has had
  // A label's share of a feature is its part of the feature's total over all labels, by absolute values:
  Real mean_share;     // the sum of the shares, each weighted by the feature's part of the row
  Real largest_share;  // of a feature of the row
};

/// Stores the centroid of each label: the sum of its examples' rows, each of norm 1. It finds a label from its first
/// example on, when the label's classifiers in the tree have had hardly any updates.
///
/// Features have inverse label frequency weights: log(1 + labels / labels with the feature). Labels are retrieved
/// through *postings*: for each feature, the labels that have it and its share in them. Updating them with every
/// example would cost more than everything else, so the postings of a label are renewed when its number of examples has
/// doubled, and all of them when the number of labels has grown by half.
class LabelMemory {
 public:
  /// A row in the form that the memory uses, and working memory of one querying thread.
  class Query {
   public:
    void clear();

    /// Features of the row that some example has had.
    std::size_t n_known() const { return n_known_; }

    /// Whether the row has negative values.
    bool is_signed() const { return is_signed_; }

   private:
    friend class LabelMemory;

    struct Weight {
      Real product = 0;  // value · weight², to be multiplied with a label's sum
      Real square = 0;   // (value · weight)²
      Real share = 0;    // 1 / what all labels have had of the feature
      Real part = 0;     // |value · weight| · share
    };

    std::vector<FeatureId> features_;  // those that some label has, ascending
    std::vector<FeatureId> heaviest_;  // of these, the heaviest first
    std::vector<Weight> weights_;      // by feature; all 0 but those of the row
    Real norm_ = 0;
    std::size_t n_known_ = 0;
    bool is_signed_ = false;
    std::vector<Real> products_;  // by label: what is summed up while looking for the nearest; all 0 at rest
    std::vector<LabelId> touched_;
  };

  /// Limits of find_nearest(): a few rare features suffice to find a near label.
  struct Bounds {
    std::size_t features = 16;         // the heaviest of a row
    std::size_t labels = 1'024;        // that have such a feature, or it is passed over
    std::size_t all_postings = 8'192;  // so that a row of common features does not visit every label
    // The same if all features are common, as dense features are, with a minimum.
    std::size_t common_postings = 131'072;
    std::size_t common_features = 4;
  };

  /// No limits, for tests.
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  static constexpr Bounds kExact = {kAll, kAll, kAll, kAll, kAll};

  /// Sizes of the model, which bound those of its memory.
  struct Limits {
    std::size_t features;
    std::size_t labels;
    std::uint64_t examples;
  };

  /// Of each label, up to `max_features` > 0 features are kept: those with the largest weighted sums.
  explicit LabelMemory(std::uint32_t max_features) : LabelMemory(max_features, Bounds{}) {}
  LabelMemory(std::uint32_t max_features, Bounds bounds) : max_features_(max_features), bounds_(bounds) {}

  /// Adds a row, times its weight, to the sums of its labels.
  void learn(RowView row, std::span<const LabelId> labels, Real weight);

  /// Prepares `query` for the row. To be repeated after each update of the memory.
  void ask(RowView row, Query& query) const;

  /// Appends the k approximately nearest labels, nearest first, ties by ascending label. Nearness is the cosine over
  /// the heaviest features of the row only, and only a limited number of labels that have them is visited. So the cost
  /// does not grow with the number of labels, unless all of these features are common.
  void find_nearest(std::size_t k, Query& query, std::vector<LabelId>& found) const;

  Similarity similarity(LabelId label, const Query& query) const;

  /// Number of examples of the label.
  std::uint32_t count(LabelId label) const { return label < labels_.size() ? labels_[label].count : 0; }

  /// Number of examples since the last one of the label; all examples, if there is none.
  std::uint64_t n_since(LabelId label) const { return n_learnt_ - (label < labels_.size() ? labels_[label].last : 0); }

  /// Number of examples.
  std::uint64_t n_learnt() const { return n_learnt_; }

  std::size_t n_cells() const { return cells_.n_values(); }
  std::size_t memory_bytes() const;

  /// Equal memories write equal arrays. Loaded arrays stay in the file until they are written; only their sizes have
  /// been checked.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelMemory load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features);

  /// Full check. Throws FormatError if any index is out of bounds, or if a similarity could be infinite or NaN.
  void check(const Limits& limits) const;

 private:
  struct Cell {
    FeatureId feature;
    Real sum;
    std::uint32_t posting;  // its place among the feature's postings; kNone before it has one
  };

  struct Posting {
    LabelId label;
    Real share;  // sum / norm
  };

  struct Label {
    std::uint64_t last = 0;  // which example was the last of the label, from 1
    Real norm = 0;
    std::uint32_t count = 0;
  };

  template <class Visit>
  void visit_common(std::span<const Cell> cells, const Query& query, Visit visit) const;
  void look_through_postings(Query& query) const;
  void add_products(FeatureId feature, Query& query) const;
  void add(RowView x, LabelId label);
  void merge(RowView x, std::span<const Cell> cells);
  void drop_lightest();
  void unpost(const Cell& cell);
  void renew_postings(LabelId label);
  void renew_norm(LabelId label);
  void renew_weight(FeatureId feature);
  void renew_all();
  void own();
  void check_features() const;
  void check_labels() const;
  void check_postings() const;
  std::size_t check_cells(LabelId label) const;

  std::uint32_t max_features_;
  Bounds bounds_;
  Buffer<Label> labels_;
  Lists<Cell> cells_;            // by label, ascending features
  Lists<Posting> postings_;      // by feature
  Buffer<Real> weights_;         // by feature
  Buffer<double> totals_;        // by feature: what all labels have had of it, by absolute values
  std::uint64_t n_learnt_ = 0;   // examples
  std::uint64_t n_known_ = 0;    // labels with an example
  std::uint64_t n_renewed_ = 0;  // labels with an example when everything was last renewed
  // Of learn():
  std::vector<Real> scaled_;
  std::vector<Cell> merged_;
  std::vector<Real> heaviness_;
};

}  // namespace oplt

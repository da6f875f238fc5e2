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
#include "base/prefetch.hpp"
#include "base/types.hpp"
#include "forest/label_filter.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The similarity of a label's examples to a row.
struct Similarity {
  Real cosine;    // between the row and the sum of the examples
  Real coverage;  // the fraction of the row's squared norm in features that the label has had
  // A label's share of a feature is its part of the feature's total over all labels, by absolute values:
  Real mean_share;     // mean over the features of the row, weighted by their values
  Real largest_share;  // maximum over the features of the row
};

/// What one feature of a row adds to the similarity of a label.
struct SimilarityPart {
  FeatureId feature;
  Real value;   // of the row, scaled to norm 1
  Real weight;  // inverse label frequency
  Real mean;    // the mean value of the feature in the label's examples, each scaled to norm 1 and times its weight
  Real cosine;  // its part of the cosine
  Real share;   // the label's share of the feature
};

/// Stores the centroid of each label: the sum of its examples' rows, and of its descriptions, each scaled to norm 1. It
/// finds a label from its first example on, when the label's classifiers in the tree have had hardly any updates.
///
/// Features have inverse label frequency weights: log(1 + labels / labels with the feature). Labels are retrieved
/// through *postings*: for each feature, the labels that have it and its normalised weight in each. Updating them with
/// every example would cost more than everything else, so the postings of a label are renewed when its number of
/// examples has doubled, and all postings when the number of labels has grown by half.
class LabelMemory {
 public:
  /// A row in the form that the memory uses, and working memory of one querying thread.
  class Query {
   public:
    void clear();

    /// Number of features of the row that some example has had.
    std::size_t n_known() const { return n_known_; }

    /// Whether the row has negative values.
    bool is_signed() const { return is_signed_; }

   private:
    friend class LabelMemory;

    struct Weight {
      Real product = 0;  // value · weight², to be multiplied with a label's sum
      Real square = 0;   // (value · weight)²
      Real share = 0;    // 1 / the feature's total over all labels
      Real part = 0;     // |value · weight| · share
    };

    struct Near {
      Real cosine;
      LabelId label;
    };

    static constexpr std::size_t kHasBits = 64;
    bool has(FeatureId feature) const { return (has_[feature / kHasBits] >> (feature % kHasBits) & 1) != 0; }

    std::vector<FeatureId> features_;  // those that some label has, ascending
    std::vector<FeatureId> heaviest_;  // the heaviest of these, in descending order
    std::vector<Weight> weights_;      // by feature; 0 except for those of the row
    std::vector<std::uint64_t> has_;   // a bit by feature: whether the row has it; stays in the cache, unlike weights_
    Real norm_ = 0;
    std::size_t n_known_ = 0;
    bool is_signed_ = false;
    std::vector<Real> products_;  // by label: sums during find_nearest(), otherwise 0
    std::vector<LabelId> touched_;
    std::vector<Near> nearest_;
  };

  /// Limits of find_nearest(): a few rare features suffice to find a near label.
  struct Bounds {
    std::size_t features = 16;         // use only this many of the heaviest features of a row
    std::size_t labels = 1'024;        // skip a feature that more labels have
    std::size_t all_postings = 8'192;  // in total, so that a row of common features does not visit every label
    // If all features are common, as dense features are: the maximum number of postings, but at least some features.
    std::size_t common_postings = 131'072;
    std::size_t common_features = 4;
  };

  /// No limits, for tests.
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  static constexpr Bounds kExact = {kAll, kAll, kAll, kAll, kAll};

  /// Sizes of the model, which limit those of its label memory.
  struct Limits {
    std::size_t features;
    std::size_t labels;
    std::uint64_t examples;
  };

  /// Keeps up to `max_features` > 0 features of each label: those with the largest weighted sums.
  explicit LabelMemory(std::uint32_t max_features) : LabelMemory(max_features, Bounds{}) {}
  LabelMemory(std::uint32_t max_features, Bounds bounds) : max_features_(max_features), bounds_(bounds) {}

  /// Adds a row, times its weight, to the sums of its labels. Unless the memory may `grow`, a label gets no features
  /// that it does not have yet.
  void learn(RowView row, std::span<const LabelId> labels, Real weight, bool grow = true);

  /// Adds a row to the sum of a label, which need not have examples. It does not count as an example.
  void describe(RowView row, LabelId label, bool grow = true);

  /// Forgets the examples of a label. The totals of their features are not changed.
  void remove(LabelId label);

  /// Gives the examples of a label to another one. An example that has both counts twice, but the other label does not
  /// get more examples than there are.
  void merge(LabelId label, LabelId into);

  /// Prepares `query` for the row. Must be repeated after each update of the memory.
  void ask(RowView row, Query& query) const;

  /// Appends the k approximately nearest labels, nearest first, ties by ascending label. Nearness is the cosine over
  /// the heaviest features of the row only, and only a limited number of labels that have them is visited. So the cost
  /// does not grow with the number of labels, unless all of these features are common. With a filter, only labels that
  /// it allows.
  void find_nearest(std::size_t k, Query& query, std::vector<LabelId>& found,
                    const LabelFilter* filter = nullptr) const;

  Similarity similarity(LabelId label, const Query& query) const;

  /// Prefetches what similarity() reads of a label first.
  void prefetch(LabelId label) const {
    if (label < labels_.size()) {
      oplt::prefetch(&labels_[label]);
      oplt::prefetch(cells_[label].data());
    }
  }

  /// Whether the label has features.
  bool knows(LabelId label) const { return label < labels_.size() && !cells_[label].empty(); }

  /// Whether a label has had a feature of the row. It stays so while examples are learnt.
  bool has_feature_of(RowView x) const;

  /// The features that row and label have in common, ascending; their cosines sum to that of similarity().
  std::vector<SimilarityPart> parts(LabelId label, const Query& query) const;

  /// Number of examples of the label.
  std::uint32_t count(LabelId label) const { return label < labels_.size() ? labels_[label].count : 0; }

  /// Number of examples since the last one of the label; all examples, if there is none.
  std::uint64_t n_since(LabelId label) const { return n_learnt_ - (label < labels_.size() ? labels_[label].last : 0); }

  /// Of a feature: its weight, and the sum of its absolute values over all labels.
  Real weight(FeatureId feature) const { return weights_[feature]; }
  double total(FeatureId feature) const { return totals_[feature]; }

  /// Number of features, and of labels, up to the last one that some example has had.
  std::size_t n_features() const { return weights_.size(); }
  std::size_t n_labels() const { return labels_.size(); }

  /// Number of examples.
  std::uint64_t n_learnt() const { return n_learnt_; }

  std::size_t n_cells() const { return cells_.n_values(); }
  std::size_t memory_bytes() const;
  /// Without spare capacity, but with a posting for each cell: those that have none get one later.
  std::size_t content_bytes() const {
    constexpr std::size_t kPosting = sizeof(Posting) * 3 / 2;  // lists of postings grow by half
    return labels_.content_bytes() + cells_.content_bytes() + postings_.size() * kPerFeature + n_cells() * kPosting;
  }

  /// Equal memories write equal arrays. Loaded arrays stay in the file until they are written to; only their sizes have
  /// been checked.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelMemory load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features);

  /// Checks all content. Throws FormatError if an index is out of bounds, or if a similarity could be infinite or NaN.
  void check(const Limits& limits) const;

 private:
  struct Cell {
    FeatureId feature;
    Real sum;
    std::uint32_t posting;  // its position among the feature's postings; kNone before it has one
  };

  struct Posting {
    LabelId label;
    Real share;  // sum / norm
  };

  // An empty list of postings, a weight and a total.
  static constexpr std::size_t kPerFeature = 32 + sizeof(Real) + sizeof(double);

  struct Label {
    std::uint64_t last = 0;  // number of the label's last example, from 1
    Real norm = 0;
    std::uint32_t count = 0;
  };

  bool is_comparable(LabelId label, const Query& query) const;
  template <class Visit>
  void visit_common(std::span<const Cell> cells, const Query& query, Visit visit) const;
  void look_through_postings(Query& query) const;
  void add_products(FeatureId feature, Query& query) const;
  RowView scale(RowView row, Real weight, std::size_t n_labels);
  void resize_labels(LabelId label);
  void add(RowView x, LabelId label, bool grow = true);
  void renew_if_grown();
  void merge(RowView x, std::span<const Cell> cells, bool grow);
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
  Buffer<double> totals_;        // by feature: sum of its absolute values over all labels
  std::uint64_t n_learnt_ = 0;   // examples
  std::uint64_t n_known_ = 0;    // labels with features
  std::uint64_t n_renewed_ = 0;  // labels with features when everything was last renewed, or fewer
  // Working memory of learn():
  std::vector<Real> scaled_;
  std::vector<Cell> merged_;
  std::vector<Real> heaviness_;
};

}  // namespace oplt

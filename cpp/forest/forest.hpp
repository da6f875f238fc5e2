// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "forest/plt.hpp"
#include "forest/search.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// An ensemble of label trees trained on the same stream; usually there is only one.
///
/// A copy shares everything with the original until one of the two is written.
struct Forest {
  std::vector<Plt> trees;
  std::uint64_t regrown_at = 0;  // number of examples of which the trees were built by a Regrowth; 0 if by none

  /// The labels that `params` asks for, most probable first; equally probable ones by ascending label id. A label's
  /// probability is its mean over the trees. Each tree returns its best labels; a label that a tree does not return
  /// counts as 0 for that tree.
  std::vector<ScoredLabel> search(RowView x, const SearchParams& params, SearchScratch& scratch) const {
    return std::move(search({&x, 1}, params, scratch)[0]);
  }
  /// The same for each of several rows.
  LabelsOfRows search(std::span<const RowView> rows, const SearchParams& params, SearchScratch& scratch) const;

  /// The same for a tree that is cut, as it is now; shards answer while other things go on. See search_top_later().
  LaterLabels search_later(RowView x, const SearchParams& params, SearchScratch& scratch) const;
  bool is_cut() const { return first().is_top(); }

  /// For each tree, whether it returns the label, so that search() counts its probability.
  std::vector<bool> returning(LabelId label, RowView x, const SearchParams& params, SearchScratch& scratch) const;

  const Plt& first() const { return trees.front(); }
  /// One more than the largest id of a label in the trees.
  std::uint32_t label_bound() const { return first().tree().label_bound(); }
  std::uint64_t n_examples() const { return first().n_examples(); }
  /// Of the deepest tree.
  std::uint32_t depth() const;
  // Sums over all trees:
  std::uint64_t n_updates() const;
  std::size_t n_cells() const;
  std::size_t memory_of_trees() const;
  std::size_t budget_bytes() const;

  void save(ArrayWriter& out) const;
  static Forest load(const ArrayReader& in, std::size_t n_trees, Link link);
  /// Throws FormatError unless the forest is consistent with a model that has this number of features.
  void check(std::uint32_t n_features) const;
};

/// The mean over all trees of the probabilities of one label, given by those trees that count, in ascending order.
Real mean_of_trees(std::span<const ScoredLabel> ascending, std::size_t n_trees);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "forest/forest_params.hpp"
#include "forest/plt.hpp"
#include "forest/plt_learner.hpp"
#include "forest/search.hpp"
#include "forest/subtrees.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// Subtrees of a cut tree, by position. A copy shares all parts with the original.
using SubtreeSet = std::map<std::uint32_t, Plt>;

/// Large parts stay in the mapped file until they are written to. check() checks the content.
void save(const SubtreeSet& subtrees, ArrayWriter& out);
SubtreeSet load_subtrees(const ArrayReader& in, Link link);

/// A shard of a cut tree: trains and searches some of its subtrees. Answers do not depend on which subtrees are in the
/// same shard.
///
/// Used by one thread at a time.
class Shard {
 public:
  explicit Shard(const ForestParams& params) : params_(params) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  Shard(Shard&&) = default;
  Shard& operator=(Shard&&) = default;

  /// Throws FormatError unless the subtree can be trained with these parameters.
  void add(std::uint32_t position, Plt subtree);
  Plt remove(std::uint32_t position);

  const SubtreeSet& subtrees() const { return subtrees_; }

  /// Learns examples of its subtrees, in order. If it throws, the shard is unusable.
  void learn(std::span<const SubtreeExample> examples, std::size_t threads);

  /// See Subtrees::ask().
  std::vector<ShardFound> search(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                                 const SearchParams& params, bool ahead);

 private:
  const Plt& subtree(std::uint32_t position) const;
  std::size_t number_of(std::uint32_t position) const;
  std::vector<ShardFound> search_exactly(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                                         const SearchParams& params);
  void expand(const SubtreeNode& parent, std::uint32_t index, RowView x, Real least, const SearchParams& params,
              ShardFound& found);

  ForestParams params_;
  SubtreeSet subtrees_;
  std::map<std::uint32_t, PltLearner> learners_;  // by position
  SearchScratch scratch_;
};

/// A filter for a search in a shard, of the form that LabelFilter::ids() returns. The number of a subtree is its place
/// in the set.
LabelFilter filter_for(const FilterIds& ids, const SubtreeSet& subtrees);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "base/types.hpp"
#include "forest/plt.hpp"
#include "forest/scored.hpp"
#include "forest/search.hpp"

namespace oplt {

/// search() in a cut tree, by its top and its subtrees: the same labels and probabilities as in the whole tree.
///
/// An exact search asks, for each row, first the shard of the most probable subtree, and then those whose subtrees may
/// have a label that is among the k best. A beam search asks, for each level, the shards that have nodes of the beam;
/// for few rows, it asks them about all levels at once.
LabelsOfRows search_top(const Plt& top, std::span<const RowView> rows, const SearchParams& params, NodeScratch& scratch,
                        std::size_t number);

/// A beam search for one row in the tree as it is now, whose result is waited for later: there must be no
/// filter, and the beam must be narrow.
LaterLabels search_top_later(const Plt& top, RowView x, const SearchParams& params, NodeScratch& scratch);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "forest/scored.hpp"

namespace oplt {

struct SearchParams;

/// The part of a training example that concerns one subtree of a cut tree (Plt::cut).
struct SubtreeExample {
  std::uint32_t subtree;  // the position of its root among the children of the tree's root
  std::uint32_t row;      // the number of the example in the batch
  Example example;        // only its labels in the subtree, and, if the subtree gets them, the new ones
  NodeId first_key;       // the keys of nodes for new labels: this one and the next for the first label, and so on
};

/// A node of a subtree, with its probability for a row.
struct SubtreeNode {
  std::uint32_t subtree;
  ScoredNode scored;  // its number is that in the subtree
};

/// What a shard is asked about a row. Exact search: the labels below the nodes. Beam search: their children, or all
/// levels below them.
struct ShardQuery {
  std::uint32_t shard;
  std::uint32_t row;
  Real least;                      // what is less probable is not wanted
  std::vector<SubtreeNode> nodes;  // not leaves; most probable first
};

/// An internal node that a beam search has reached.
struct FoundNode {
  SubtreeNode node;
  NodeId key;            // see Plt::key()
  std::uint32_t parent;  // among the found nodes; kNone if it is a node of the query
};

inline constexpr auto more_probable_node = [](const FoundNode& a, const FoundNode& b) {
  return more_probable({a.key, a.node.scored.probability}, {b.key, b.node.scored.probability});
};

struct FoundLabel {
  ScoredLabel scored;
  std::uint32_t parent;  // likewise
};

/// The answer to a query: as many of the best nodes and labels as the whole search can want.
struct ShardFound {
  std::vector<FoundNode> nodes;  // of a beam search
  std::vector<FoundLabel> labels;
};

/// Waits for the answers to some queries, one for each; called once.
using ShardAnswers = std::function<std::vector<ShardFound>()>;

/// The subtrees of a cut tree, wherever they are. Each is in a shard.
///
/// Calls take effect in their order: answers are those after all examples that were passed to learn() before, and after
/// no others, whenever they are waited for.
class Subtrees {
 public:
  Subtrees() = default;
  virtual ~Subtrees() = default;
  Subtrees(const Subtrees&) = delete;
  Subtrees& operator=(const Subtrees&) = delete;

  virtual std::uint32_t shard_of(std::uint32_t subtree) const = 0;

  /// May return before the examples have been learnt. They are only valid during the call.
  virtual void learn(std::span<const SubtreeExample> examples) = 0;

  /// Does not wait for the answers. `params` are those of the search, whose filter may be null. If a beam search looks
  /// `ahead`, the answer includes, at all levels below the nodes of the query, whatever may be in the beam.
  virtual ShardAnswers ask(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                           const SearchParams& params, bool ahead) = 0;
};

}  // namespace oplt

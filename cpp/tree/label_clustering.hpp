// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Trees that are built before training, from examples or at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/helper_pool.hpp"
#include "base/types.hpp"
#include "encode/named_rows.hpp"
#include "encode/vocabulary.hpp"
#include "tree/label_vectors.hpp"

namespace oplt {

/// The shape of a balanced tree: a node has `arity` children with nearly equal numbers of labels, or, if it has at most
/// `max_leaves` labels, these as its leaves. 2 <= arity <= max_leaves.
struct BalancedShape {
  std::uint32_t arity;
  std::uint32_t max_leaves;
};

/// A tree as LabelTree takes it: each node's parent (kNone for node 0) and label (kNone for internal nodes).
struct TreeNodes {
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
};

struct NamedTree {
  TreeNodes nodes;
  Vocabulary labels;
};

/// Hierarchical balanced spherical 2-means on the labels (Prabhu et al., Parabel, WWW 2018). A label's vector is the
/// sum of its examples, each scaled to norm 1, scaled to norm 1 again.
///
/// The result depends only on the examples, the shape and the seed, not on the number of threads or the machine. Calls
/// `poll`, if given, regularly in the calling thread; an exception from it ends the work.
NamedTree cluster_labels(const NamedRows& x, const NamedLabels& y, BalancedShape shape, std::uint64_t seed,
                         std::size_t threads, const std::function<void()>& poll = {});

/// The same clustering in small steps.
class LabelClustering {
 public:
  /// `vectors` must outlive this object.
  LabelClustering(const LabelVectors& vectors, BalancedShape shape, std::uint64_t seed);
  LabelClustering(LabelClustering&&) noexcept;
  LabelClustering& operator=(LabelClustering&&) noexcept;
  ~LabelClustering();

  /// Visits about `n_values` > 0 values of the vectors, together with the helpers. Returns whether the tree is
  /// complete.
  bool advance(std::size_t n_values, HelperPool& helpers);

  /// The complete tree.
  TreeNodes take();

  /// Without the vectors.
  std::size_t memory_bytes() const;

 private:
  struct Steps;
  std::unique_ptr<Steps> steps_;
};

/// A balanced tree over labels 0, 1, …, n_labels - 1 in random order.
TreeNodes shuffled_tree(std::uint32_t n_labels, BalancedShape shape, std::uint64_t seed);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "shards/shard.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/helper_pool.hpp"

namespace oplt {

namespace {

constexpr const char* kPositions = "subtrees/positions";

std::string prefix_of(std::uint32_t position) { return "subtrees/" + std::to_string(position); }

/// A node to be expanded for a query.
struct Expansion {
  SubtreeNode node;
  std::uint32_t query;
  std::uint32_t index;  // among the nodes found for the query; kNone if the query has it
};

constexpr auto by_node = [](const Expansion& a, const Expansion& b) {
  return std::tie(a.node.subtree, a.node.scored.node, a.query) < std::tie(b.node.subtree, b.node.scored.node, b.query);
};

/// Of the elements from `begin` on, keeps only the n best.
template <class T, class Better>
void keep_best(std::vector<T>& all, std::size_t begin, std::size_t n, Better better_one) {
  if (begin + n < all.size()) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = first + static_cast<std::ptrdiff_t>(n);
    std::nth_element(first, end, all.end(), better_one);
    all.erase(end, all.end());
  }
}

/// Of the labels from `begin` on, keeps only those that can be among the k best; all if k is 0.
void keep_best_labels(ShardFound& found, std::size_t begin, std::size_t k) {
  if (k > 0) {
    keep_best(found.labels, begin, k,
              [](const FoundLabel& a, const FoundLabel& b) { return better(a.scored, b.scored); });
  }
}

/// What a query has found so far, if it looks ahead: which nodes of the last level the beam of the whole search may
/// have.
///
/// Other shards may have better nodes, so of the nodes here, the beam has only the most probable ones, nobody knows how
/// many; at the next level, only the children of these compete. So a node is compared with its rivals alone: the more
/// probable nodes whose parents are rivals of its parent, and therefore in the beam whenever its parent is. A node with
/// as many rivals as the beam is wide cannot be in the beam. Rivals of a rival are rivals, so it is enough to count
/// those that can be in the beam.
class ReachableNodes {
 public:
  /// Removes the nodes of a new level, all after the last one, that cannot be in the beam. The others get sorted.
  void reduce(std::vector<FoundNode>& nodes, std::size_t beam) {
    const std::size_t begin = begin_ + rivals_.size();
    const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, nodes.end(), more_probable_node);
    std::vector<std::vector<bool>> rivals;
    std::size_t end = begin;
    for (std::size_t i = begin; i < nodes.size(); ++i) {
      std::vector<bool> own(end - begin);
      std::size_t n_rivals = 0;
      for (std::size_t j = 0; j < own.size() && n_rivals < beam; ++j) {
        own[j] = are_rivals(nodes[i].parent, nodes[begin + j].parent);
        n_rivals += own[j] ? 1 : 0;
      }
      if (n_rivals < beam) {
        own.push_back(true);
        rivals.push_back(std::move(own));
        nodes[end++] = nodes[i];
      }
    }
    nodes.resize(end);
    begin_ = begin;
    rivals_ = std::move(rivals);
  }

  /// The place of the level among the nodes.
  std::size_t begin() const { return begin_; }

 private:
  /// Whether a node of the last level, by place, is in the beam whenever the other one is. All nodes of a query are.
  bool are_rivals(std::uint32_t place, std::uint32_t rival) const {
    return place == kNone || (rival <= place && rivals_[place - begin_][rival - begin_]);
  }

  std::size_t begin_ = 0;
  std::vector<std::vector<bool>> rivals_;  // by node of the level: for each of the nodes up to this one
};

}  // namespace

void save(const SubtreeSet& subtrees, ArrayWriter& out) {
  std::vector<std::uint32_t> positions;
  for (const auto& [position, plt] : subtrees) {
    positions.push_back(position);
    plt.save(out, prefix_of(position));
  }
  out.put<std::uint32_t>(kPositions, positions);
}

SubtreeSet load_subtrees(const ArrayReader& in, Link link) {
  SubtreeSet subtrees;
  for (const std::uint32_t position : in.get<std::uint32_t>(kPositions)) {
    subtrees.emplace(position, Plt::load(in, prefix_of(position), link));
  }
  return subtrees;
}

LabelFilter filter_for(const FilterIds& ids, const SubtreeSet& subtrees) {
  std::vector<const LabelTree*> trees;
  for (const auto& [position, plt] : subtrees) {
    trees.push_back(&plt.tree());
  }
  return {ids, trees};
}

void Shard::add(std::uint32_t position, Plt subtree) {
  expect_format(subtree.is_subtree(), "a shard got something that is not a subtree");
  const auto [learner, is_new] = learners_.try_emplace(position, params_.of_tree(0), params_.learning);
  expect_format(is_new, "a shard got a subtree that it already has");
  try {
    learner->second.expect_learnable(subtree);
  } catch (...) {
    learners_.erase(learner);
    throw;
  }
  subtrees_.emplace(position, std::move(subtree));
}

Plt Shard::remove(std::uint32_t position) {
  Plt removed(subtree(position));
  learners_.erase(position);
  subtrees_.erase(position);
  return removed;
}

const Plt& Shard::subtree(std::uint32_t position) const {
  const auto found = subtrees_.find(position);
  if (found == subtrees_.end()) {
    throw InvalidInput("the shard does not have subtree " + std::to_string(position));
  }
  return found->second;
}

void Shard::learn(std::span<const SubtreeExample> examples, std::size_t threads) {
  std::map<std::uint32_t, std::pair<std::vector<Example>, std::vector<NodeId>>> batches;
  for (const SubtreeExample& each : examples) {
    subtree(each.subtree);  // throws before anything is changed
    auto& [batch, first_keys] = batches[each.subtree];
    batch.push_back(each.example);
    first_keys.push_back(each.first_key);
  }
  HelperPool helpers(std::max<std::size_t>(std::min(threads, examples.size()), 1) - 1);
  for (const auto& [position, batch] : batches) {
    learners_.at(position).learn_subtree(subtrees_.at(position), batch.first, batch.second, helpers);
    helpers.finish();
  }
}

/// By which filters know the subtree.
std::size_t Shard::number_of(std::uint32_t position) const {
  return static_cast<std::size_t>(std::distance(subtrees_.begin(), subtrees_.find(position)));
}

std::vector<ShardFound> Shard::search(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                                      const SearchParams& params, bool ahead) {
  for (const ShardQuery& query : queries) {
    for (const SubtreeNode& node : query.nodes) {
      subtree(node.subtree);
    }
  }
  if (params.beam == 0) {
    return search_exactly(rows, queries, params);
  }
  std::vector<ShardFound> found(queries.size());
  std::vector<Expansion> level;
  for (std::uint32_t i = 0; i < queries.size(); ++i) {
    for (const SubtreeNode& node : queries[i].nodes) {
      level.push_back({node, i, kNone});
    }
  }
  std::vector<ReachableNodes> reachable(ahead ? queries.size() : 0);
  while (!level.empty()) {
    // In the order of the nodes: their classifiers are in the cache when the next row needs them.
    std::sort(level.begin(), level.end(), by_node);
    for (const Expansion& each : level) {
      const ShardQuery& query = queries[each.query];
      expand(each.node, each.index, rows[query.row], query.least, params, found[each.query]);
    }
    level.clear();
    if (!ahead) {  // the level is known whole, so what is not among the best here is not among the best anywhere
      for (ShardFound& each : found) {
        keep_best(each.nodes, 0, params.beam, more_probable_node);
        keep_best_labels(each, 0, params.top_k);
      }
    }
    for (std::uint32_t i = 0; i < reachable.size(); ++i) {
      std::vector<FoundNode>& nodes = found[i].nodes;
      reachable[i].reduce(nodes, params.beam);
      for (std::size_t j = reachable[i].begin(); j < nodes.size(); ++j) {
        level.push_back({nodes[j].node, i, static_cast<std::uint32_t>(j)});
      }
    }
  }
  return found;
}

/// In each round, every query searches below its most probable node that is left and may have a wanted label; queries
/// for the same subtree are searched together.
std::vector<ShardFound> Shard::search_exactly(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                                              const SearchParams& params) {
  std::vector<RowSearch> searches;
  for (const ShardQuery& query : queries) {
    searches.push_back({rows[query.row], FoundLabels(params.top_k, query.least), {}, {}});
  }
  for (std::size_t round = 0;; ++round) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_subtree;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const std::vector<SubtreeNode>& nodes = queries[i].nodes;
      if (round < nodes.size() && searches[i].found.wants(nodes[round].scored.probability)) {
        searches[i].open = {nodes[round].scored};
        by_subtree[nodes[round].subtree].push_back(i);
      }
    }
    if (by_subtree.empty()) {
      break;
    }
    for (const auto& [position, numbers] : by_subtree) {
      std::vector<RowSearch> together;
      for (const std::size_t i : numbers) {
        together.push_back(std::move(searches[i]));
      }
      search_on(subtrees_.at(position), together, params.filter, scratch_, number_of(position));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        searches[numbers[i]] = std::move(together[i]);
      }
    }
  }
  std::vector<ShardFound> result(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (const ScoredLabel& label : std::move(searches[i].found).sorted()) {
      result[i].labels.push_back({label, kNone});
    }
  }
  return result;
}

/// Adds the children of a node; `index` is its place among the found nodes.
void Shard::expand(const SubtreeNode& parent, std::uint32_t index, RowView x, Real least, const SearchParams& params,
                   ShardFound& found) {
  const Plt& plt = subtrees_.at(parent.subtree);
  const LabelTree& tree = plt.tree();
  const std::size_t number = params.filter != nullptr ? number_of(parent.subtree) : 0;
  const std::span<const Real> probabilities = plt.child_probabilities(parent.scored.node, x, scratch_.nodes);
  const std::span<const NodeId> children = tree.children(parent.scored.node);
  const std::size_t n_labels = found.labels.size();
  for (std::size_t i = 0; i < children.size(); ++i) {
    const ScoredNode child{children[i], parent.scored.probability * probabilities[i]};
    if (child.probability < least) {
      continue;
    }
    if (!tree.is_leaf(child.node)) {
      if (params.filter == nullptr || params.filter->allows_below(number, child.node)) {
        found.nodes.push_back({{parent.subtree, child}, plt.key(child.node), index});
      }
    } else if (const LabelId label = tree.node(child.node).label;
               params.filter == nullptr || params.filter->allows(label)) {
      found.labels.push_back({{label, child.probability}, index});
    }
  }
  keep_best_labels(found, n_labels, params.top_k);
}

}  // namespace oplt

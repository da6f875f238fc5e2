// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/top_search.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace oplt {

namespace {

/// The search for one row.
struct TopRow {
  FoundLabels found;
  std::vector<FoundNode> open;  // nodes to be searched or, in a beam search, expanded
};

/// Begins at the root: offers its children that are leaves, and opens the others, most probable first.
TopRow start(const Plt& top, RowView x, const SearchParams& params, NodeScratch& scratch, std::size_t number) {
  TopRow row{FoundLabels(params.top_k, params.threshold), {}};
  const LabelTree& tree = top.tree();
  const Real root = top.root_probability(x, scratch);
  const std::span<const Real> probabilities = top.child_probabilities(LabelTree::kRoot, x, scratch);
  const std::span<const NodeId> children = tree.children(LabelTree::kRoot);
  for (std::uint32_t i = 0; i < children.size(); ++i) {
    const NodeId child = children[i];
    const Real probability = root * probabilities[i];
    if (!row.found.wants(probability)) {
      continue;
    }
    if (!tree.is_leaf(child)) {
      if (params.filter == nullptr || params.filter->allows_below(number, child)) {
        row.open.push_back({{i, {LabelTree::kRoot, probability}}, child, kNone});
      }
    } else if (const LabelId label = tree.node(child).label; params.filter == nullptr || params.filter->allows(label)) {
      row.found.offer({label, probability});
    }
  }
  std::sort(row.open.begin(), row.open.end(), more_probable_node);
  return row;
}

/// Moves the open nodes that select(node) selects to queries, one for each shard; drops those that are not wanted.
template <class Select>
void ask(TopRow& row, std::uint32_t number, const Subtrees& subtrees, std::vector<ShardQuery>& queries, Select select) {
  const auto begin = static_cast<std::ptrdiff_t>(queries.size());
  std::erase_if(row.open, [&](const FoundNode& open) {
    if (!row.found.wants(open.node.scored.probability)) {
      return true;
    }
    if (!select(open)) {
      return false;
    }
    const std::uint32_t shard = subtrees.shard_of(open.node.subtree);
    auto query = std::find_if(queries.begin() + begin, queries.end(),
                              [&](const ShardQuery& each) { return each.shard == shard; });
    if (query == queries.end()) {
      queries.push_back({shard, number, row.found.least(), {}});
      query = queries.end() - 1;
    }
    query->nodes.push_back(open.node);
    return true;
  });
}

/// Two rounds: the labels of the best shard make most others unnecessary.
void search_exactly(const Plt& top, std::span<const RowView> rows, const SearchParams& params,
                    std::span<TopRow> found) {
  Subtrees& subtrees = top.subtrees();
  for (const bool is_first : {true, false}) {
    std::vector<ShardQuery> queries;
    for (std::uint32_t i = 0; i < found.size(); ++i) {
      const std::uint32_t best = found[i].open.empty() ? 0 : subtrees.shard_of(found[i].open.front().node.subtree);
      ask(found[i], i, subtrees, queries,
          [&](const FoundNode& open) { return !is_first || subtrees.shard_of(open.node.subtree) == best; });
    }
    const std::vector<ShardFound> answers = subtrees.ask(rows, queries, params, false)();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      for (const FoundLabel& label : answers[i].labels) {
        found[queries[i].row].found.offer(label.scored);
      }
    }
  }
}

/// Sorts a level by probability, and reduces it to the beam.
void choose_beam(std::vector<FoundNode>& level, const SearchParams& params) {
  std::sort(level.begin(), level.end(), more_probable_node);
  level.resize(std::min(params.beam, level.size()));
  while (!level.empty() &&
         level.back().node.scored.probability < params.beam_share * level.front().node.scored.probability) {
    level.pop_back();
  }
}

/// Adds the answer of another shard about the same row.
void append(ShardFound& all, const ShardFound& more) {
  const auto offset = static_cast<std::uint32_t>(all.nodes.size());
  const auto moved = [&](std::uint32_t parent) { return parent == kNone ? kNone : parent + offset; };
  for (const FoundNode& node : more.nodes) {
    all.nodes.push_back({node.node, node.key, moved(node.parent)});
  }
  for (const FoundLabel& label : more.labels) {
    all.labels.push_back({label.scored, moved(label.parent)});
  }
}

/// Takes over what the shards have found below the beam of a row: the next level, or, if they have looked ahead, all
/// levels, of which only what is below the beam counts.
void take(const ShardFound& answer, const SearchParams& params, bool ahead, TopRow& row) {
  std::vector<bool> is_parent(answer.nodes.size());
  const auto is_below = [&](std::uint32_t parent, bool at_start) {
    return parent == kNone ? at_start : is_parent[parent];
  };
  for (bool at_start = true;; at_start = false) {
    for (const FoundLabel& label : answer.labels) {
      if (is_below(label.parent, at_start)) {
        row.found.offer(label.scored);
      }
    }
    std::vector<FoundNode> level;  // with their own place instead of that of their parent
    for (std::uint32_t i = 0; i < answer.nodes.size(); ++i) {
      if (is_below(answer.nodes[i].parent, at_start)) {
        level.push_back({answer.nodes[i].node, answer.nodes[i].key, i});
      }
    }
    if (!ahead || level.empty()) {
      row.open = std::move(level);
      return;
    }
    choose_beam(level, params);
    std::fill(is_parent.begin(), is_parent.end(), false);
    for (const FoundNode& node : level) {
      is_parent[node.parent] = true;
    }
  }
}

// Up to this many rows, a beam search that is not wider than this looks ahead: for few rows, the number of rounds
// counts more than the work, which grows with the number of shards and, in the worst case, with the square of the beam.
constexpr std::size_t kFewRows = 16;
constexpr std::size_t kWidestAhead = 256;

/// A round for each level, or for all. `numbers` are those of the rows to be searched for.
void search_beam(const Plt& top, std::span<const RowView> rows, const SearchParams& params,
                 std::span<const std::uint32_t> numbers, std::span<TopRow> found) {
  const bool ahead = numbers.size() <= kFewRows && params.beam <= kWidestAhead;
  while (true) {
    std::vector<ShardQuery> queries;
    for (const std::uint32_t i : numbers) {
      choose_beam(found[i].open, params);
      ask(found[i], i, top.subtrees(), queries, [](const FoundNode&) { return true; });
    }
    if (queries.empty()) {
      break;
    }
    const std::vector<ShardFound> answers = top.subtrees().ask(rows, queries, params, ahead)();
    std::vector<ShardFound> by_row(rows.size());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      append(by_row[queries[i].row], answers[i]);
    }
    for (const std::uint32_t i : numbers) {
      take(by_row[i], params, ahead, found[i]);
    }
  }
}

}  // namespace

LabelsOfRows search_top(const Plt& top, std::span<const RowView> rows, const SearchParams& params, NodeScratch& scratch,
                        std::size_t number) {
  std::vector<TopRow> found;
  for (const RowView& x : rows) {
    found.push_back(start(top, x, params, scratch, number));
  }
  if (params.beam == 0) {
    search_exactly(top, rows, params, found);
  } else {
    std::vector<std::uint32_t> numbers(rows.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    SearchParams asked = params;
    search_beam(top, rows, asked, numbers, found);
    while (asked.beam < top.n_labels()) {
      std::erase_if(numbers, [&](std::uint32_t i) { return !is_short(found[i].found, params); });
      if (numbers.empty()) {
        break;
      }
      asked.beam *= kWiderBeam;
      asked.beam_share = 0;
      for (const std::uint32_t i : numbers) {
        found[i] = start(top, rows[i], asked, scratch, number);
      }
      search_beam(top, rows, asked, numbers, found);
    }
  }
  LabelsOfRows result;
  for (TopRow& row : found) {
    result.push_back(std::move(row.found).sorted());
  }
  return result;
}

LaterLabels search_top_later(const Plt& top, RowView x, const SearchParams& params, NodeScratch& scratch) {
  assert(params.beam > 0 && params.beam <= kWidestAhead && params.filter == nullptr);
  TopRow row = start(top, x, params, scratch, 0);
  std::vector<ShardQuery> queries;
  choose_beam(row.open, params);
  ask(row, 0, top.subtrees(), queries, [](const FoundNode&) { return true; });
  return [row = std::move(row), params, answers = top.subtrees().ask({&x, 1}, queries, params, true)]() mutable {
    ShardFound all;
    for (const ShardFound& one : answers()) {
      append(all, one);
    }
    take(all, params, true, row);
    return std::move(row.found).sorted();
  };
}

}  // namespace oplt

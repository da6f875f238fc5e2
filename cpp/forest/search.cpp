// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/search.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/prefetch.hpp"
#include "forest/top_search.hpp"

namespace oplt {

namespace {

constexpr auto less_probable = [](const ScoredNode& a, const ScoredNode& b) { return more_probable(b, a); };
constexpr auto by_node = [](const Visit& a, const Visit& b) {
  return a.node.node != b.node.node ? a.node.node < b.node.node : a.row < b.row;
};

/// A tree, and the labels that may be found in it.
struct Searched {
  const Plt& plt;
  std::size_t number;
  const LabelFilter* filter;

  bool allows(NodeId node) const { return filter == nullptr || filter->allows_below(number, node); }
  bool allows_leaf(LabelId label) const { return filter == nullptr || filter->allows(label); }
};

/// Offers the leaves among the children of a node, and calls keep(child) for each other child worth expanding.
template <class Keep>
void expand(const Searched& searched, ScoredNode parent, RowSearch& row, NodeScratch& scratch, Keep keep) {
  const LabelTree& tree = searched.plt.tree();
  const std::span<const Real> probabilities = searched.plt.child_probabilities(parent.node, row.x, scratch);
  const std::span<const NodeId> children = tree.children(parent.node);
  const bool any_leaf = tree.node(parent.node).n_leaf_children > 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const ScoredNode child{children[i], parent.probability * probabilities[i]};
    if (!row.found.wants(child.probability)) {  // tested first: most fail, and reading the node is a cache miss
      continue;
    }
    if (!any_leaf || !tree.is_leaf(child.node)) {
      if (searched.allows(child.node)) {
        keep(child);
      }
    } else if (const LabelId label = tree.node(child.node).label; searched.allows_leaf(label)) {
      row.found.offer({label, child.probability});
    }
  }
}

/// Begins at the root.
void start(const Searched& searched, const FoundLabels& none, RowSearch& row, NodeScratch& scratch) {
  const LabelTree& tree = searched.plt.tree();
  row.found = none;
  row.open.clear();
  row.next_level.clear();
  if (tree.n_labels() == 0) {
    return;
  }
  const ScoredNode root{LabelTree::kRoot, searched.plt.root_probability(row.x, scratch)};
  if (!tree.is_leaf(root.node)) {
    row.open.push_back(root);
  } else if (const LabelId label = tree.node(root.node).label; searched.allows_leaf(label)) {
    row.found.offer({label, root.probability});
  }
}

/// Expands the most probable of all open nodes first (Algorithm 10).
struct BestFirst {
  static constexpr std::size_t kPerRound = 4;  // with more, too many nodes would be expanded in vain (measured)

  static void keep(ScoredNode child, RowSearch& row) {
    row.open.push_back(child);
    std::push_heap(row.open.begin(), row.open.end(), less_probable);
  }
  static const ScoredNode& best(const RowSearch& row) { return row.open.front(); }
  static void take_best(RowSearch& row) {
    std::pop_heap(row.open.begin(), row.open.end(), less_probable);
    row.open.pop_back();
  }
  void end_level(RowSearch& /*row*/) const {}
};

/// Expands the most probable nodes of a level, and then those of the next one.
struct Beam {
  static constexpr std::size_t kPerRound = 16;  // all nodes of a usual beam

  std::size_t width;
  Real share;

  static void keep(ScoredNode child, RowSearch& row) { row.next_level.push_back(child); }
  static const ScoredNode& best(const RowSearch& row) { return row.open.back(); }
  static void take_best(RowSearch& row) { row.open.pop_back(); }
  void end_level(RowSearch& row) const {
    std::vector<ScoredNode>& level = row.open;
    level.swap(row.next_level);
    if (width < level.size()) {
      std::nth_element(level.begin(), level.begin() + static_cast<std::ptrdiff_t>(width), level.end(), more_probable);
      level.resize(width);
    }
    // Sorted, because the labels found below the best nodes exclude most of the others.
    std::sort(level.begin(), level.end(), less_probable);
    const Real least = level.empty() ? Real{0} : share * level.back().probability;
    level.erase(level.begin(),
                std::ranges::find_if(level, [&](const auto& node) { return node.probability >= least; }));
  }
};

/// Adds the next nodes to be expanded for a row. Returns false if there are none, so that its search is complete.
template <class Order>
bool choose(const Order& order, std::size_t n_most, RowSearch& row, std::uint32_t index, std::vector<Visit>& visits) {
  const auto is_over = [&] { return row.open.empty() || !row.found.wants(order.best(row).probability); };
  if (is_over()) {
    row.open.clear();  // the others are less probable
    order.end_level(row);
  }
  std::size_t n = 0;
  for (; n < n_most && !is_over(); ++n) {
    visits.push_back({order.best(row), index});
    order.take_best(row);
  }
  return n > 0;
}

/// Prefetches what the visits after the i-th one will read of their rows.
void prefetch_rows(std::span<const Visit> visits, std::size_t i, std::span<const RowSearch> rows) {
  constexpr std::size_t kCacheLine = 64;
  constexpr std::size_t kSoon = 4;
  if (i + 2 * kSoon < visits.size()) {
    const RowSearch* row = &rows[visits[i + 2 * kSoon].row];
    prefetch(row);
    prefetch(reinterpret_cast<const std::byte*>(row) + kCacheLine);
  }
  if (i + kSoon < visits.size()) {
    const RowSearch& row = rows[visits[i + kSoon].row];
    for (std::size_t j = 0; j < row.x.size(); j += kCacheLine / sizeof(Real)) {
      prefetch(&row.x.features[j]);
      prefetch(&row.x.values[j]);
    }
    prefetch(row.open.data());
  }
}

/// Searches for several rows together. In each round, every row chooses some nodes; then all of them are expanded in
/// the order of the nodes, because the classifiers of a node are in the cache when the next row needs them.
template <class Order>
void run(const Searched& searched, const Order& order, std::span<RowSearch> rows, SearchScratch& scratch) {
  const std::size_t n_per_round = rows.size() > 1 ? Order::kPerRound : 1;
  std::vector<Visit>& visits = scratch.visits;
  scratch.unfinished.resize(rows.size());
  std::iota(scratch.unfinished.begin(), scratch.unfinished.end(), 0U);
  do {
    visits.clear();
    std::erase_if(scratch.unfinished, [&](std::uint32_t i) { return !choose(order, n_per_round, rows[i], i, visits); });
    std::sort(visits.begin(), visits.end(), by_node);
    for (std::size_t i = 0; i < visits.size(); ++i) {
      prefetch_rows(visits, i, rows);
      const Visit& visit = visits[i];
      RowSearch& row = rows[visit.row];
      if (row.found.wants(visit.node.probability)) {
        expand(searched, visit.node, row, scratch.nodes, [&](ScoredNode child) { order.keep(child, row); });
      }
    }
  } while (!visits.empty());
}

}  // namespace

bool is_short(const FoundLabels& found, const SearchParams& params) {
  return params.filter != nullptr && !params.filter->knows_nodes() && params.threshold == 0 &&
         found.size() < std::min(params.top_k, params.filter->n_allowed());
}

void FoundLabels::offer(const ScoredLabel& candidate) {
  if (!wants(candidate.probability)) {
    return;
  }
  if (is_full()) {
    if (!better(candidate, labels_.front())) {
      return;
    }
    std::pop_heap(labels_.begin(), labels_.end(), better);
    labels_.pop_back();
  }
  labels_.push_back(candidate);
  std::push_heap(labels_.begin(), labels_.end(), better);
  if (is_full()) {
    least_ = labels_.front().probability;
  }
}

std::vector<ScoredLabel> FoundLabels::sorted() && {
  std::sort_heap(labels_.begin(), labels_.end(), better);
  return std::move(labels_);
}

LabelsOfRows search(const Plt& plt, std::span<const RowView> rows, const SearchParams& params, SearchScratch& scratch,
                    std::size_t number) {
  if (plt.is_top()) {
    return search_top(plt, rows, params, scratch.nodes, number);
  }
  const Searched searched{plt, number, params.filter};
  const FoundLabels none(params.top_k, params.threshold);
  if (scratch.rows.size() < rows.size()) {
    scratch.rows.resize(rows.size(), {{}, none, {}, {}});
  }
  const std::span<RowSearch> searches = std::span(scratch.rows).first(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    searches[i].x = rows[i];
    start(searched, none, searches[i], scratch.nodes);
  }
  if (params.beam == 0) {
    run(searched, BestFirst{}, searches, scratch);
  } else {
    run(searched, Beam{params.beam, params.beam_share}, searches, scratch);
    for (RowSearch& row : searches) {
      for (std::size_t width = params.beam; is_short(row.found, params) && width < plt.n_labels();) {
        width *= kWiderBeam;
        start(searched, none, row, scratch.nodes);
        run(searched, Beam{width, 0}, {&row, 1}, scratch);
      }
    }
  }
  LabelsOfRows found;
  found.reserve(rows.size());
  for (RowSearch& row : searches) {
    found.push_back(std::move(row.found).sorted());
  }
  return found;
}

void search_on(const Plt& plt, std::span<RowSearch> rows, const LabelFilter* filter, SearchScratch& scratch,
               std::size_t number) {
  run({plt, number, filter}, BestFirst{}, rows, scratch);
}

std::vector<ScoredLabel> best_of(std::span<const ScoredLabel> labels, const SearchParams& params) {
  FoundLabels found(params.top_k, params.threshold);
  for (const ScoredLabel& label : labels) {
    found.offer(label);
  }
  return std::move(found).sorted();
}

}  // namespace oplt

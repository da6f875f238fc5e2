// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "forest/search.hpp"

#include <algorithm>

namespace oplt {

namespace {

constexpr std::size_t kWider = 4;  // factor of a beam that has found too few of the allowed labels

bool better(const ScoredLabel& a, const ScoredLabel& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
}

bool more_probable(const ScoredNode& a, const ScoredNode& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.node < b.node;
}

bool less_probable(const ScoredNode& a, const ScoredNode& b) { return more_probable(b, a); }

/// The labels found so far that reach the threshold: the k best, or all of them.
class Found {
 public:
  explicit Found(const SearchParams& params) : top_k_(params.top_k), threshold_(params.threshold) {}

  /// Whether a label of this probability could still be among the results.
  bool wants(Real probability) const {
    return probability >= threshold_ && (!full() || probability >= labels_.front().probability);
  }

  void offer(const ScoredLabel& candidate) {
    if (!wants(candidate.probability)) {
      return;
    }
    if (full()) {
      if (!better(candidate, labels_.front())) {
        return;
      }
      std::pop_heap(labels_.begin(), labels_.end(), better);
      labels_.pop_back();
    }
    labels_.push_back(candidate);
    std::push_heap(labels_.begin(), labels_.end(), better);  // the worst label is on top
  }

  std::size_t size() const { return labels_.size(); }

  std::vector<ScoredLabel> sorted() && {
    std::sort_heap(labels_.begin(), labels_.end(), better);
    return std::move(labels_);
  }

 private:
  bool full() const { return top_k_ > 0 && labels_.size() == top_k_; }

  std::size_t top_k_;
  Real threshold_;
  std::vector<ScoredLabel> labels_;
};

/// A tree, and the labels that may be found in it.
struct Searched {
  const Plt& plt;
  std::size_t number;
  const LabelFilter* filter;

  bool allows(NodeId node) const { return filter == nullptr || filter->allows_below(number, node); }
  bool allows_leaf(LabelId label) const { return filter == nullptr || filter->allows(label); }
};

/// Offers the leaves among the children of a node, and calls visit(child) for each other child worth expanding.
template <class Visit>
void expand(const Searched& searched, RowView x, ScoredNode parent, Found& found, NodeScratch& scratch, Visit visit) {
  const LabelTree& tree = searched.plt.tree();
  const std::span<const Real> probabilities = searched.plt.child_probabilities(parent.node, x, scratch);
  const std::span<const NodeId> children = tree.children(parent.node);
  for (std::size_t i = 0; i < children.size(); ++i) {
    const ScoredNode child{children[i], parent.probability * probabilities[i]};
    if (!found.wants(child.probability)) {  // tested first: most fail, and reading the node is a cache miss
      continue;
    }
    if (!tree.is_leaf(child.node)) {
      if (searched.allows(child.node)) {
        visit(child);
      }
    } else if (const LabelId label = tree.node(child.node).label; searched.allows_leaf(label)) {
      found.offer({label, child.probability});
    }
  }
}

void best_first(const Searched& searched, RowView x, ScoredNode root, Found& found, SearchScratch& scratch) {
  std::vector<ScoredNode>& frontier = scratch.frontier;  // a heap, the most probable node on top
  frontier.assign(1, root);
  while (!frontier.empty() && found.wants(frontier.front().probability)) {
    std::pop_heap(frontier.begin(), frontier.end(), less_probable);
    const ScoredNode node = frontier.back();
    frontier.pop_back();
    expand(searched, x, node, found, scratch.nodes, [&](ScoredNode child) {
      frontier.push_back(child);
      std::push_heap(frontier.begin(), frontier.end(), less_probable);
    });
  }
}

/// Keeps the n most probable nodes, sorted: the labels found below the first ones exclude most of the others.
void keep_best(std::vector<ScoredNode>& nodes, std::size_t n) {
  const auto before = [](const ScoredNode& a, const ScoredNode& b) { return more_probable(a, b); };  // can be inlined
  if (n < nodes.size()) {
    std::nth_element(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(n), nodes.end(), before);
    nodes.resize(n);
  }
  std::sort(nodes.begin(), nodes.end(), before);
}

void beam_search(const Searched& searched, RowView x, ScoredNode root, std::size_t beam, Found& found,
                 SearchScratch& scratch) {
  std::vector<ScoredNode>& level = scratch.frontier;
  level.assign(1, root);
  while (!level.empty()) {
    scratch.next_level.clear();
    for (const ScoredNode node : level) {
      if (!found.wants(node.probability)) {
        break;  // nor the others, which are less probable
      }
      expand(searched, x, node, found, scratch.nodes, [&](ScoredNode child) { scratch.next_level.push_back(child); });
    }
    keep_best(scratch.next_level, beam);
    level.swap(scratch.next_level);
  }
}

/// Whether nodes without an allowed label may have displaced others from the beam. If there is a threshold, fewer
/// labels may be all that reach it.
bool is_short(const Found& found, const SearchParams& params) {
  return params.filter != nullptr && !params.filter->knows_nodes() && params.threshold == 0 &&
         found.size() < std::min(params.top_k, params.filter->n_allowed());
}

}  // namespace

std::vector<ScoredLabel> search(const Plt& plt, RowView x, const SearchParams& params, SearchScratch& scratch,
                                std::size_t number) {
  Found found(params);
  const Searched searched{plt, number, params.filter};
  const LabelTree& tree = plt.tree();
  if (tree.n_labels() > 0) {
    const ScoredNode root{LabelTree::kRoot, plt.root_probability(x, scratch.nodes)};
    if (tree.is_leaf(root.node)) {
      if (const LabelId label = tree.node(root.node).label; searched.allows_leaf(label)) {
        found.offer({label, root.probability});
      }
    } else if (params.beam > 0) {
      beam_search(searched, x, root, params.beam, found, scratch);
      for (std::size_t beam = params.beam; is_short(found, params) && beam < tree.n_labels();) {
        beam *= kWider;
        found = Found(params);
        beam_search(searched, x, root, beam, found, scratch);
      }
    } else {
      best_first(searched, x, root, found, scratch);
    }
  }
  return std::move(found).sorted();
}

std::vector<ScoredLabel> best_of(std::span<const ScoredLabel> labels, const SearchParams& params) {
  Found found(params);
  for (const ScoredLabel& label : labels) {
    found.offer(label);
  }
  return std::move(found).sorted();
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "tree/label_clustering.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "base/forks.hpp"
#include "base/helper_pool.hpp"
#include "base/interruption.hpp"
#include "base/memory_bytes.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "tree/label_vectors.hpp"

namespace oplt {

namespace {

constexpr double kLeastGain = 1e-4;  // stop if a round of 2-means gains less mean similarity; Parabel's value

/// Balanced spherical 2-means, in small steps, with the working memory of one thread.
class Bisection {
 public:
  explicit Bisection(const LabelVectors& vectors)
      : vectors_(vectors),
        total_(vectors.n_features()),
        first_(vectors.n_features()),
        direction_(vectors.n_features()) {}

  /// Begins to split the labels into two clusters. In the end the first one, of n_first labels, is at the front. Within
  /// each cluster the order is kept.
  void begin(std::span<LabelId> labels, std::size_t n_first, Random random) {
    labels_ = labels;
    n_first_ = n_first;
    random_ = random;
    similarity_ = -std::numeric_limits<double>::infinity();
    phase_ = Phase::kAddUp;
    next_ = 0;
  }

  /// Visits labels until about `n_values` of their values have been processed, and subtracts these. Returns whether the
  /// clusters are final.
  bool advance(std::size_t& n_values) {
    for (;;) {
      for (; next_ < labels_.size(); ++next_) {
        if (n_values == 0) {
          return false;
        }
        const RowView x = vectors_[labels_[next_]];
        visit(x);
        n_values -= std::min(n_values, x.size() + 1);
      }
      next_ = 0;
      if (finish_phase()) {
        return true;
      }
    }
  }

  std::size_t memory_bytes() const {
    return total_.memory_bytes() + oplt::memory_bytes(first_, direction_, ranked_, is_first_, former_);
  }

 private:
  enum class Phase { kAddUp, kAssign, kMove };  // each visits all labels; the last two alternate

  void visit(RowView x) {
    if (phase_ == Phase::kAddUp) {
      total_.add(x);
    } else if (phase_ == Phase::kAssign) {
      ranked_.emplace_back(-along_direction(x), static_cast<std::uint32_t>(next_));
    } else if (is_first_[next_] != 0) {
      for (std::size_t j = 0; j < x.size(); ++j) {
        first_[x.features[j]] += static_cast<double>(x.values[j]);
      }
    }
  }

  bool finish_phase() {
    if (phase_ == Phase::kAddUp) {
      draw_centroids();
      ranked_.clear();
      phase_ = Phase::kAssign;
    } else if (phase_ == Phase::kAssign) {
      assign();
      phase_ = Phase::kMove;
    } else {
      const double before = std::exchange(similarity_, move_centroids());
      if (similarity_ - before < kLeastGain) {
        reorder();
        clear();
        return true;
      }
      ranked_.clear();
      phase_ = Phase::kAssign;
    }
    return false;
  }

  /// Starts from two different random labels.
  void draw_centroids() {
    const auto n = static_cast<std::uint32_t>(labels_.size());
    const std::uint32_t one = random_.below(n);
    const std::uint32_t other = (one + 1 + random_.below(n - 1)) % n;
    for (const auto& [position, sign] : {std::pair(one, Real{1}), std::pair(other, Real{-1})}) {
      const RowView centroid = vectors_[labels_[position]];
      for (std::size_t i = 0; i < centroid.size(); ++i) {
        direction_[centroid.features[i]] += sign * centroid.values[i];
      }
    }
  }

  /// The n_first labels with the strongest preference for the first centroid become the first cluster: for these
  /// centroids, no other balanced assignment has a higher total similarity. Ties are broken by position.
  void assign() {
    std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(n_first_), ranked_.end());
    is_first_.assign(labels_.size(), 0);
    for (std::size_t i = 0; i < n_first_; ++i) {
      is_first_[ranked_[i].second] = 1;
    }
    for (const FeatureId feature : total_.features()) {
      first_[feature] = 0.0;
    }
  }

  /// Similarity to the first centroid minus similarity to the second. Four partial sums break the dependency between
  /// additions; there are always four, so that every machine gets the same bits.
  double along_direction(RowView x) const {
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= x.size(); i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        sums[lane] += product(x, i + lane);
      }
    }
    for (; i < x.size(); ++i) {
      sums[0] += product(x, i);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  double product(RowView x, std::size_t i) const {
    return static_cast<double>(x.values[i]) * static_cast<double>(direction_[x.features[i]]);
  }

  /// Returns the mean similarity of the labels to their centroids. A centroid is the sum of its cluster, scaled to norm
  /// 1, so the cluster's total similarity to it is the norm of the sum.
  double move_centroids() {
    double squares[2] = {};
    for (const FeatureId feature : total_.features()) {
      const double second = total_[feature] - first_[feature];
      squares[0] += first_[feature] * first_[feature];
      squares[1] += second * second;
    }
    const double norms[2] = {std::sqrt(squares[0]), std::sqrt(squares[1])};
    const double scales[2] = {inverse(norms[0]), inverse(norms[1])};
    for (const FeatureId feature : total_.features()) {
      const double second = total_[feature] - first_[feature];
      direction_[feature] = static_cast<Real>(first_[feature] * scales[0] - second * scales[1]);
    }
    return (norms[0] + norms[1]) / static_cast<double>(labels_.size());
  }

  /// 0 for a cluster of empty vectors, which is similar to nothing.
  static double inverse(double norm) { return norm > 0.0 ? 1.0 / norm : 0.0; }

  void reorder() {
    former_.assign(labels_.begin(), labels_.end());
    auto next = labels_.begin();
    for (const bool first : {true, false}) {
      for (std::size_t i = 0; i < former_.size(); ++i) {
        if ((is_first_[i] != 0) == first) {
          *next++ = former_[i];
        }
      }
    }
  }

  void clear() {
    for (const FeatureId feature : total_.features()) {
      direction_[feature] = 0;
    }
    total_.clear();
  }

  const LabelVectors& vectors_;
  std::span<LabelId> labels_;
  std::size_t n_first_ = 0;
  Random random_{0};
  double similarity_ = 0;  // mean similarity of the labels to their centroids
  Phase phase_ = Phase::kAddUp;
  std::size_t next_ = 0;                                  // position of the next label to visit
  SparseSum total_;                                       // sum of all labels that are being split
  std::vector<double> first_;                             // sum of the first cluster
  std::vector<Real> direction_;                           // the first centroid minus the second
  std::vector<std::pair<double, std::uint32_t>> ranked_;  // positions, those of the first cluster first
  std::vector<unsigned char> is_first_;                   // by position
  std::vector<LabelId> former_;
};

/// Labels [begin, end) of the order, to be split into `n_parts` children of a node.
struct Group {
  std::size_t begin;
  std::size_t end;
  std::uint32_t n_parts;
  NodeId node;

  std::uint32_t n_first_parts() const { return (n_parts + 1) / 2; }
  /// In proportion to the parts, so that the final parts of a node differ by at most one label.
  std::size_t middle() const { return begin + (end - begin) * n_first_parts() / n_parts; }
};

/// Builds a tree by bisecting groups of labels repeatedly, until each part is one child of its node: `arity` clusters
/// take about log2(arity) rounds. The groups of a round are independent of each other.
class TreeGrower {
 public:
  TreeGrower(std::vector<LabelId> order, BalancedShape shape) : order_(std::move(order)), shape_(shape) {
    if (order_.empty()) {
      add_node(kNone, kNone);
    } else {
      add_child(0, order_.size(), kNone);
    }
  }

  /// The groups of this round, which are to be split; none if the tree is complete.
  std::span<const Group> groups() const { return groups_; }
  std::span<LabelId> labels_of(const Group& group) {
    return std::span(order_).subspan(group.begin, group.end - group.begin);
  }

  void finish_round() {
    const std::vector<Group> round = std::exchange(groups_, {});
    for (const Group& group : round) {
      const std::uint32_t n_first_parts = group.n_first_parts();
      add_part({group.begin, group.middle(), n_first_parts, group.node});
      add_part({group.middle(), group.end, group.n_parts - n_first_parts, group.node});
    }
  }

  TreeNodes take() { return std::move(nodes_); }

  std::size_t memory_bytes() const { return oplt::memory_bytes(order_, nodes_.parents, nodes_.labels, groups_); }

 private:
  NodeId add_node(NodeId parent, LabelId label) {
    nodes_.parents.push_back(parent);
    nodes_.labels.push_back(label);
    return static_cast<NodeId>(nodes_.parents.size() - 1);
  }

  void add_part(const Group& part) {
    if (part.n_parts == 1) {
      add_child(part.begin, part.end, part.node);
    } else {
      groups_.push_back(part);
    }
  }

  void add_child(std::size_t begin, std::size_t end, NodeId parent) {
    if (end - begin == 1) {
      add_node(parent, order_[begin]);
      return;
    }
    const NodeId node = add_node(parent, kNone);
    if (end - begin > shape_.max_leaves) {
      groups_.push_back({begin, end, shape_.arity, node});
      return;
    }
    for (std::size_t i = begin; i < end; ++i) {
      add_node(node, order_[i]);
    }
  }

  std::vector<LabelId> order_;
  BalancedShape shape_;
  TreeNodes nodes_;
  std::vector<Group> groups_;
};

std::vector<LabelId> all_labels(std::size_t n) {
  std::vector<LabelId> labels(n);
  std::iota(labels.begin(), labels.end(), LabelId{0});
  return labels;
}

/// Seeds for the groups of a round, in order, so that the result depends neither on the threads nor on the steps.
std::vector<Random> seeds_for(std::size_t n_groups, Random& random) {
  std::vector<Random> seeds;
  for (std::size_t i = 0; i < n_groups; ++i) {
    seeds.emplace_back(random.next());
  }
  return seeds;
}

TreeNodes cluster(const LabelVectors& vectors, BalancedShape shape, std::uint64_t seed, std::size_t threads,
                  const std::function<void()>& poll) {
  Random random(seed);
  Interruption interruption(poll);
  LeftInChild<std::vector<std::unique_ptr<Bisection>>> workers;
  TreeGrower grower({vectors.labels().begin(), vectors.labels().end()}, shape);
  for (std::span<const Group> groups = grower.groups(); !groups.empty(); groups = grower.groups()) {
    const std::vector<Random> seeds = seeds_for(groups.size(), random);
    workers->resize(std::max(workers->size(), std::min(threads, groups.size())));
    const auto split_one = [&](std::size_t i, std::size_t worker) {
      std::unique_ptr<Bisection>& bisection = (*workers)[worker];
      if (!bisection) {
        bisection = std::make_unique<Bisection>(vectors);
      }
      bisection->begin(grower.labels_of(groups[i]), groups[i].middle() - groups[i].begin, seeds[i]);
      for (std::size_t n_values = 0; !bisection->advance(n_values); n_values = WorkMeter::kCheckEvery) {
        interruption.check(worker);
      }
    };
    parallel_for(groups.size(), threads, split_one, &interruption);
    grower.finish_round();
  }
  return grower.take();
}

}  // namespace

struct LabelClustering::Steps {
  /// A bisection that is under way, or waits for a group.
  struct Worker {
    explicit Worker(const LabelVectors& vectors) : bisection(vectors) {}

    Bisection bisection;
    bool is_busy = false;
    std::size_t n_values = 0;  // that are still due
  };

  Steps(const LabelVectors& the_vectors, BalancedShape shape, std::uint64_t seed)
      : vectors(the_vectors), random(seed), grower({vectors.labels().begin(), vectors.labels().end()}, shape) {
    begin_round();
  }

  void begin_round() {
    seeds = seeds_for(grower.groups().size(), random);
    next = 0;
  }

  bool is_busy() const {
    return std::ranges::any_of(workers, [](const auto& worker) { return worker->is_busy; });
  }

  /// Splits groups until the values that are due have been visited, or there is no group left.
  void split(Worker& worker) {
    while (worker.n_values > 0) {
      if (!worker.is_busy) {
        const std::size_t i = next.fetch_add(1);
        if (i >= seeds.size()) {
          return;
        }
        const Group& group = grower.groups()[i];
        worker.bisection.begin(grower.labels_of(group), group.middle() - group.begin, seeds[i]);
      }
      worker.is_busy = !worker.bisection.advance(worker.n_values);
    }
  }

  bool advance(std::size_t n_values, HelperPool& helpers) {
    while (!grower.groups().empty()) {
      if (n_values == 0) {
        return false;
      }
      n_values = advance_round(n_values, helpers);
      if (next >= seeds.size() && !is_busy()) {
        grower.finish_round();
        begin_round();
      }
    }
    return true;
  }

  /// The threads share the work of a round. Returns how many of the values have not been visited: none, unless the
  /// round has ended.
  std::size_t advance_round(std::size_t n_values, HelperPool& helpers) {
    const std::size_t n_workers = std::max(workers.size(), std::min(helpers.size() + 1, seeds.size()));
    while (workers.size() < n_workers) {
      workers.push_back(std::make_unique<Worker>(vectors));
    }
    const std::size_t share = std::max<std::size_t>(1, n_values / n_workers);
    for (const auto& worker : workers) {
      worker->n_values = share;
    }
    if (helpers.size() == 0) {
      std::ranges::for_each(workers, [&](const auto& worker) { split(*worker); });
    } else {
      helpers.start_many(n_workers, [&](std::size_t i) { return [&, i](std::size_t) { split(*workers[i]); }; });
      helpers.finish();
    }
    std::size_t n_left = 0;
    for (const auto& worker : workers) {
      n_left += worker->n_values;
    }
    return std::min(n_left, n_values - 1);
  }

  const LabelVectors& vectors;
  Random random;
  TreeGrower grower;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Random> seeds;          // of the groups of this round
  std::atomic<std::size_t> next = 0;  // the first group of this round that has not been begun
};

LabelClustering::LabelClustering(const LabelVectors& vectors, BalancedShape shape, std::uint64_t seed)
    : steps_(std::make_unique<Steps>(vectors, shape, seed)) {}
LabelClustering::LabelClustering(LabelClustering&&) noexcept = default;
LabelClustering& LabelClustering::operator=(LabelClustering&&) noexcept = default;
LabelClustering::~LabelClustering() = default;

bool LabelClustering::advance(std::size_t n_values, HelperPool& helpers) { return steps_->advance(n_values, helpers); }

TreeNodes LabelClustering::take() { return steps_->grower.take(); }

std::size_t LabelClustering::memory_bytes() const {
  std::size_t bytes = steps_->grower.memory_bytes() + oplt::memory_bytes(steps_->seeds);
  for (const auto& worker : steps_->workers) {
    bytes += worker->bisection.memory_bytes();
  }
  return bytes;
}

NamedTree cluster_labels(const NamedRows& x, const NamedLabels& y, BalancedShape shape, std::uint64_t seed,
                         std::size_t threads, const std::function<void()>& poll) {
  NamedTree tree;
  const LabelVectors vectors(x, y, tree.labels, poll);
  tree.nodes = cluster(vectors, shape, seed, threads, poll);
  return tree;
}

TreeNodes shuffled_tree(std::uint32_t n_labels, BalancedShape shape, std::uint64_t seed) {
  std::vector<LabelId> order = all_labels(n_labels);
  Random random(seed);
  for (std::uint32_t i = n_labels; i > 1; --i) {  // Fisher-Yates shuffle
    std::swap(order[i - 1], order[random.below(i)]);
  }
  TreeGrower grower(std::move(order), shape);
  while (!grower.groups().empty()) {
    grower.finish_round();
  }
  return grower.take();
}

}  // namespace oplt

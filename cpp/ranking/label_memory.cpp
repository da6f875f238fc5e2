// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/label_memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "base/math.hpp"

namespace oplt {

namespace {

constexpr std::size_t kManyCells = 8;  // cells per feature of a row from which searching for each feature is faster

// Examples' weights are clamped to this range: beyond it, sums would overflow or underflow.
constexpr Real kLeastWeight = 1e-12F;
constexpr Real kMostWeight = 1e12F;

// Rows and labels with a smaller norm have no similarity: products and squares would underflow.
constexpr Real kLeastNorm = 1e-15F;

// Features with a smaller total over all labels have no shares: the inverse would overflow.
constexpr double kLeastTotal = 1e-30;

/// The row without the constant feature, which carries no information about labels.
RowView proper_part(RowView x) {
  const std::size_t n = x.size() > 0 && x.features.back() == kBiasFeature ? x.size() - 1 : x.size();
  return {x.features.first(n), x.values.first(n)};
}

/// 1 / norm; 0 if the norm is 0. In double, because squares may overflow a Real in models that do not normalise rows.
double scale_to_one(RowView x) {
  double squares = 0;
  for (const Real value : x.values) {
    squares += static_cast<double>(value) * value;
  }
  return squares > 0 ? 1 / std::sqrt(squares) : 0;
}

}  // namespace

void LabelMemory::Query::clear() {
  for (const FeatureId feature : features_) {
    weights_[feature] = {};
    has_[feature / kHasBits] = 0;
  }
  features_.clear();
}

void LabelMemory::own() {
  labels_.own();
  weights_.own();
  totals_.own();
}

/// The row without the constant feature, times its weight and scaled to norm 1. Its features become known, and their
/// totals grow by its values for each of the labels.
RowView LabelMemory::scale(RowView row, Real weight, std::size_t n_labels) {
  const RowView x = proper_part(row);
  if (x.size() > 0 && x.features.back() >= weights_.size()) {
    weights_.resize(x.features.back() + 1);
    totals_.resize(weights_.size());
    postings_.resize(weights_.size());
  }
  const double scale = scale_to_one(x) * std::clamp(weight, kLeastWeight, kMostWeight);
  scaled_.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    scaled_[i] = static_cast<Real>(scale * x.values[i]);
    totals_[x.features[i]] += static_cast<double>(n_labels) * std::abs(scaled_[i]);
  }
  return {x.features, scaled_};
}

void LabelMemory::learn(RowView row, std::span<const LabelId> labels, Real weight, bool grow) {
  own();
  ++n_learnt_;
  const RowView x = scale(row, weight, labels.size());
  if (labels.empty()) {  // features of examples without labels count as known, too
    for (const FeatureId feature : x.features) {
      if (weights_[feature] == 0) {
        renew_weight(feature);
      }
    }
  }
  for (const LabelId label : labels) {
    resize_labels(label);
    ++labels_[label].count;
    labels_[label].last = n_learnt_;
    add(x, label, grow);
    if (std::has_single_bit(labels_[label].count)) {
      renew_postings(label);
    }
  }
  renew_if_grown();
}

void LabelMemory::describe(RowView row, LabelId label, bool grow) {
  own();
  resize_labels(label);
  add(scale(row, 1, 1), label, grow);
  renew_postings(label);
  renew_if_grown();
}

void LabelMemory::remove(LabelId label) {
  if (label >= labels_.size()) {
    return;
  }
  own();
  n_known_ -= knows(label) ? 1 : 0;
  n_renewed_ = std::min(n_renewed_, n_known_);
  const std::vector<Cell> cells(cells_[label].begin(), cells_[label].end());
  cells_.assign(label, {});
  for (const Cell& cell : cells) {
    unpost(cell);
  }
  labels_[label] = {};
}

void LabelMemory::merge(LabelId label, LabelId into) {
  if (label >= labels_.size()) {
    return;
  }
  const Label entry = labels_[label];
  std::vector<FeatureId> features;
  std::vector<Real> sums;
  for (const Cell& cell : cells_[label]) {
    features.push_back(cell.feature);
    sums.push_back(cell.sum);
  }
  remove(label);
  resize_labels(into);
  const std::uint64_t count = std::uint64_t{labels_[into].count} + entry.count;
  labels_[into].count = static_cast<std::uint32_t>(std::min(count, n_learnt_));
  labels_[into].last = std::max(labels_[into].last, entry.last);
  add({features, sums}, into);
  renew_postings(into);
}

void LabelMemory::resize_labels(LabelId label) {
  if (label >= labels_.size()) {
    labels_.resize(label + 1);
    cells_.resize(label + 1);
  }
}

void LabelMemory::add(RowView x, LabelId label, bool grow) {
  n_known_ += grow && !knows(label) && x.size() > 0 ? 1 : 0;
  merge(x, cells_[label], grow);
  if (merged_.size() > max_features_) {
    drop_lightest();
  }
  cells_.assign(label, merged_);
  renew_norm(label);
}

void LabelMemory::renew_if_grown() {
  if (n_known_ > n_renewed_ + n_renewed_ / 2) {
    renew_all();
  }
}

void LabelMemory::merge(RowView x, std::span<const Cell> cells, bool grow) {
  merged_.clear();
  auto cell = cells.begin();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const FeatureId feature = x.features[i];
    const Real value = x.values[i];
    for (; cell != cells.end() && cell->feature < feature; ++cell) {
      merged_.push_back(*cell);
    }
    if (cell != cells.end() && cell->feature == feature) {
      merged_.push_back({feature, cell->sum + value, cell->posting});
      ++cell;
    } else if (grow) {
      merged_.push_back({feature, value, kNone});
      if (weights_[feature] == 0) {
        renew_weight(feature);
      }
    }
  }
  merged_.insert(merged_.end(), cell, cells.end());
}

/// Reduces the cells to three quarters of the maximum, so that this is not necessary for every example.
void LabelMemory::drop_lightest() {
  const auto heaviness = [this](const Cell& cell) { return std::abs(cell.sum) * weights_[cell.feature]; };
  heaviness_.resize(merged_.size());
  std::transform(merged_.begin(), merged_.end(), heaviness_.begin(), heaviness);
  const std::size_t n_kept = max_features_ - max_features_ / 4;
  const auto last = heaviness_.begin() + static_cast<std::ptrdiff_t>(n_kept - 1);
  std::nth_element(heaviness_.begin(), last, heaviness_.end(), std::greater<>());
  const Real least = *last;
  auto n_least = static_cast<std::size_t>(std::count(heaviness_.begin(), last + 1, least));
  std::erase_if(merged_, [&](const Cell& cell) {
    const Real heavy = heaviness(cell);
    if (heavy > least || (heavy == least && n_least > 0)) {
      n_least -= heavy == least ? 1 : 0;
      return false;
    }
    unpost(cell);
    return true;
  });
}

/// Removes a posting; the feature's last posting takes its place.
void LabelMemory::unpost(const Cell& cell) {
  if (cell.posting == kNone) {
    return;
  }
  const Posting last = postings_[cell.feature].back();
  postings_.pop_back(cell.feature);
  renew_weight(cell.feature);
  if (const std::span<Posting> postings = postings_.write(cell.feature); cell.posting < postings.size()) {
    postings[cell.posting] = last;
    const std::span<Cell> cells = cells_.write(last.label);
    std::lower_bound(cells.begin(), cells.end(), cell.feature, [](const Cell& c, FeatureId feature) {
      return c.feature < feature;
    })->posting = cell.posting;
  }
}

void LabelMemory::renew_postings(LabelId label) {
  constexpr std::size_t kAhead = 8;  // prefetch distance: postings are accessed in random order
  const Real norm = labels_[label].norm;
  const std::span<Cell> cells = cells_.write(label);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i + kAhead < cells.size() && cells[i + kAhead].posting != kNone) {
      oplt::prefetch(postings_[cells[i + kAhead].feature].data() + cells[i + kAhead].posting);
    }
    Cell& cell = cells[i];
    const Posting posting{label, norm > 0 ? cell.sum / norm : Real{0}};
    if (cell.posting == kNone) {
      cell.posting = static_cast<std::uint32_t>(postings_[cell.feature].size());
      postings_.push_back(cell.feature, posting);
      renew_weight(cell.feature);
    } else {
      postings_.write(cell.feature)[cell.posting] = posting;
    }
  }
}

void LabelMemory::renew_norm(LabelId label) {
  double squares = 0;
  for (const Cell& cell : cells_[label]) {
    const double weighted = static_cast<double>(cell.sum) * weights_[cell.feature];
    squares += weighted * weighted;
  }
  labels_[label].norm = static_cast<Real>(std::sqrt(squares));
}

void LabelMemory::renew_weight(FeatureId feature) {
  const auto n_labels = static_cast<double>(std::max<std::size_t>(1, postings_[feature].size()));
  weights_[feature] = static_cast<Real>(log_double(1.0 + static_cast<double>(n_known_) / n_labels));
}

/// Recomputes all weights and norms, which grow with the number of labels even if nothing else changes.
void LabelMemory::renew_all() {
  for (FeatureId feature = 0; feature < weights_.size(); ++feature) {
    if (weights_[feature] > 0) {  // else no example has had the feature
      renew_weight(feature);
    }
  }
  for (LabelId label = 0; label < labels_.size(); ++label) {
    renew_norm(label);
    renew_postings(label);
  }
  n_renewed_ = n_known_;
}

bool LabelMemory::has_feature_of(RowView x) const {
  return std::ranges::any_of(proper_part(x).features,
                             [&](FeatureId feature) { return feature < weights_.size() && weights_[feature] > 0; });
}

void LabelMemory::ask(RowView row, Query& query) const {
  query.clear();
  query.weights_.resize(weights_.size());
  query.has_.resize(weights_.size() / Query::kHasBits + 1);
  const RowView x = proper_part(row);
  const double scale = scale_to_one(x);
  Real squares = 0;
  query.n_known_ = 0;
  query.is_signed_ = std::any_of(x.values.begin(), x.values.end(), [](Real value) { return value < 0; });
  for (std::size_t i = 0; i < x.size() && x.features[i] < weights_.size(); ++i) {
    const FeatureId feature = x.features[i];
    const Real weight = weights_[feature];
    const Real weighted = static_cast<Real>(scale * x.values[i]) * weight;
    query.features_.push_back(feature);  // first, because clear() resets only the weights of listed features
    const auto share = static_cast<Real>(totals_[feature] > kLeastTotal ? 1.0 / totals_[feature] : 0.0);
    query.weights_[feature] = {weighted * weight, weighted * weighted, share, std::abs(weighted) * share};
    query.has_[feature / Query::kHasBits] |= std::uint64_t{1} << (feature % Query::kHasBits);
    squares += weighted * weighted;
    query.n_known_ += weight > 0 ? 1 : 0;
  }
  query.norm_ = std::sqrt(squares);
  query.heaviest_.resize(std::min(bounds_.features, query.features_.size()));
  std::partial_sort_copy(query.features_.begin(), query.features_.end(), query.heaviest_.begin(), query.heaviest_.end(),
                         [&](FeatureId a, FeatureId b) {
                           const Real square_a = query.weights_[a].square;
                           const Real square_b = query.weights_[b].square;
                           return square_a != square_b ? square_a > square_b : a < b;
                         });
}

/// Skips lists that are too long, because features that many labels have are not informative. If all are too long, as
/// those of dense features may be, uses the heaviest features, and at least a few of them, because a single one says
/// next to nothing.
void LabelMemory::look_through_postings(Query& query) const {
  std::size_t n_postings = 0;
  for (const FeatureId feature : query.heaviest_) {
    const std::size_t n = postings_[feature].size();
    if (n <= bounds_.labels && n_postings + n <= bounds_.all_postings) {
      n_postings += n;
      add_products(feature, query);
    }
  }
  if (n_postings > 0) {
    return;
  }
  std::size_t n_features = 0;
  for (const FeatureId feature : query.heaviest_) {
    const std::size_t n = postings_[feature].size();
    if (n_features < bounds_.common_features || n_postings + n <= bounds_.common_postings) {
      n_postings += n;
      ++n_features;
      add_products(feature, query);
    }
  }
}

void LabelMemory::add_products(FeatureId feature, Query& query) const {
  const Real product = query.weights_[feature].product;
  for (const Posting& posting : postings_[feature]) {
    Real& sum = query.products_[posting.label];
    if (sum == 0) {
      query.touched_.push_back(posting.label);
    }
    sum += product * posting.share;
  }
}

void LabelMemory::find_nearest(std::size_t k, Query& query, std::vector<LabelId>& found,
                               const LabelFilter* filter) const {
  for (const LabelId label : query.touched_) {  // left by a search that failed
    query.products_[label] = 0;
  }
  query.touched_.clear();
  query.products_.resize(labels_.size());
  look_through_postings(query);

  const auto nearer = [](const Query::Near& a, const Query::Near& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.label < b.label;
  };
  std::vector<Query::Near>& nearest = query.nearest_;  // a heap, the farthest of the k nearest on top
  nearest.clear();
  for (const LabelId label : query.touched_) {
    // 0 from now on, so that further occurrences of a label that was touched twice are ignored.
    const Query::Near near{std::exchange(query.products_[label], Real{0}), label};
    const bool is_full = nearest.size() == k;
    if (near.cosine <= 0 || (is_full && (k == 0 || !nearer(near, nearest.front()))) ||
        (filter != nullptr && !filter->allows(label))) {
      continue;
    }
    if (is_full) {
      std::pop_heap(nearest.begin(), nearest.end(), nearer);
      nearest.pop_back();
    }
    nearest.push_back(near);
    std::push_heap(nearest.begin(), nearest.end(), nearer);
  }
  query.touched_.clear();
  std::sort_heap(nearest.begin(), nearest.end(), nearer);
  std::transform(nearest.begin(), nearest.end(), std::back_inserter(found),
                 [](const Query::Near& near) { return near.label; });
}

/// Calls visit(cell, weight) for the features that label and row have in common, ascending. The features of a short row
/// are searched for among the cells; for a long row, each cell is looked up in the row.
template <class Visit>
void LabelMemory::visit_common(std::span<const Cell> cells, const Query& query, Visit visit) const {
  if (cells.size() < kManyCells * query.features_.size()) {
    for (const Cell& cell : cells) {
      if (query.has(cell.feature)) {
        visit(cell, query.weights_[cell.feature]);
      }
    }
    return;
  }
  auto cell = cells.begin();
  for (const FeatureId feature : query.features_) {
    cell = std::lower_bound(cell, cells.end(), feature, [](const Cell& c, FeatureId f) { return c.feature < f; });
    if (cell != cells.end() && cell->feature == feature) {
      visit(*cell, query.weights_[feature]);
    }
  }
}

std::size_t LabelMemory::memory_bytes() const {
  return labels_.memory_bytes() + cells_.memory_bytes() + postings_.memory_bytes() + weights_.memory_bytes() +
         totals_.memory_bytes();
}

bool LabelMemory::is_comparable(LabelId label, const Query& query) const {
  return knows(label) && query.norm_ >= kLeastNorm && labels_[label].norm >= kLeastNorm;
}

std::vector<SimilarityPart> LabelMemory::parts(LabelId label, const Query& query) const {
  std::vector<SimilarityPart> found;
  if (!is_comparable(label, query)) {
    return found;
  }
  const Label& entry = labels_[label];
  visit_common(cells_[label], query, [&](const Cell& cell, const Query::Weight& of_row) {
    if (const Real weight = weights_[cell.feature]; of_row.product != 0 && cell.sum != 0) {
      found.push_back({.feature = cell.feature,
                       .value = of_row.product / (weight * weight),
                       .weight = weight,
                       .mean = cell.sum / static_cast<Real>(std::max(entry.count, 1U)),
                       .cosine = of_row.product * cell.sum / (query.norm_ * entry.norm),
                       .share = of_row.share * std::abs(cell.sum)});
    }
  });
  return found;
}

Similarity LabelMemory::similarity(LabelId label, const Query& query) const {
  if (!is_comparable(label, query)) {
    return {0, 0, 0, 0};
  }
  Real product = 0;
  Real square = 0;
  Real share = 0;
  Real largest_share = 0;
  visit_common(cells_[label], query, [&](const Cell& cell, const Query::Weight& weight) {
    const Real size = std::abs(cell.sum);
    product += weight.product * cell.sum;
    square += weight.square;
    share += weight.part * size;
    largest_share = std::max(largest_share, weight.share * size);
  });
  return {product / (query.norm_ * labels_[label].norm), square / (query.norm_ * query.norm_), share / query.norm_,
          largest_share};
}

}  // namespace oplt

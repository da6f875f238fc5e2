// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/recent_examples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/prefetch.hpp"
#include "base/span_pool.hpp"

namespace oplt {

namespace {

constexpr std::size_t kMostCells = 64;  // of an example: its heaviest features
constexpr Real kMostValue = 1.001F;     // of a feature in an example of norm 1, rounded

// The number of features above which votes count less, and from which on they do not count. Each feature is weighted by
// its part in all examples, so that a few features that all examples have, and a million that few have, are few.
constexpr double kFewFeatures = 1'024;
constexpr double kManyFeatures = 2'048;
constexpr std::uint64_t kFirstCount = 64;  // features are counted after this many examples, and whenever they double

constexpr std::size_t kAhead = 8;  // prefetch distance: examples are accessed in random order

double square(double x) { return x * x; }

/// 1 / norm of the weighted row without the constant feature; 0 if the norm is 0. In double, because squares may
/// overflow a Real in models that do not normalise rows.
double scale_of_weighted(RowView row, const LabelMemory& memory) {
  double squares = 0;
  for (std::size_t i = 0; i < row.size() && row.features[i] < memory.n_features(); ++i) {
    const double weighted = static_cast<double>(row.values[i]) * memory.weight(row.features[i]);
    squares += weighted * weighted;
  }
  return squares > 0 ? 1 / std::sqrt(squares) : 0;
}

}  // namespace

/// The heaviest features of the example, ascending.
void RecentExamples::find_heaviest(RowView row, const LabelMemory& memory) {
  heaviest_.clear();
  const double scale = scale_of_weighted(row, memory);
  for (std::size_t i = 0; i < row.size() && row.features[i] < memory.n_features(); ++i) {
    const FeatureId feature = row.features[i];
    heaviest_.push_back({feature, static_cast<Real>(scale * row.values[i] * memory.weight(feature))});
  }
  if (heaviest_.size() > kMostCells) {
    std::nth_element(heaviest_.begin(), heaviest_.begin() + kMostCells, heaviest_.end(),
                     [](const Cell& a, const Cell& b) {
                       const Real size_a = std::abs(a.value);
                       const Real size_b = std::abs(b.value);
                       return size_a != size_b ? size_a > size_b : a.feature < b.feature;
                     });
    heaviest_.resize(kMostCells);
    std::ranges::sort(heaviest_, {}, &Cell::feature);
  }
}

std::uint32_t RecentExamples::free_slot() {
  if (free_.empty()) {
    const auto slot = static_cast<std::uint32_t>(n_users_.size());
    n_users_.push_back(0);
    cells_.resize(slot + 1);
    labels_.resize(slot + 1);
    return slot;
  }
  const std::uint32_t slot = free_[free_.size() - 1];
  free_.resize(free_.size() - 1);
  return slot;
}

void RecentExamples::release(std::uint32_t slot) {
  if (--n_users_[slot] == 0) {
    cells_.assign(slot, {});
    labels_.assign(slot, {});
    free_.push_back(slot);
  }
}

/// By the inverse Simpson index, the number of equally frequent features that are as diverse as those of the stream.
void RecentExamples::renew_trust(const LabelMemory& memory) {
  double sum = 0;
  double squares = 0;
  for (FeatureId feature = 0; feature < memory.n_features(); ++feature) {
    const double part = memory.total(feature) * memory.weight(feature);
    sum += part;
    squares += part * part;
  }
  const double n_features = squares > 0 ? sum * sum / squares : 0;
  const double trust = std::clamp((kManyFeatures - n_features) / (kManyFeatures - kFewFeatures), 0.0, 1.0);
  if (trust == 0) {
    *this = {};
  }
  trust_ = trust;
}

void RecentExamples::learn(RowView row, std::span<const LabelId> labels, const LabelMemory& memory, bool grow) {
  if (trust_ > 0 && memory.n_learnt() >= kFirstCount && std::has_single_bit(memory.n_learnt())) {
    renew_trust(memory);
  }
  const auto lists = [&](LabelId label) {
    return grow || (label < latest_.size() && latest_[label].size() == kMostOfLabel);
  };
  const auto n_lists = std::ranges::count_if(labels, lists);
  if (trust_ == 0 || n_lists == 0) {
    return;
  }
  n_users_.own();
  free_.own();
  find_heaviest(row, memory);
  const std::uint32_t slot = free_slot();
  cells_.assign(slot, heaviest_);
  labels_.assign(slot, labels);
  n_users_[slot] = static_cast<std::uint32_t>(n_lists);
  latest_.resize(labels.back() + std::size_t{1});
  for (const LabelId label : labels) {
    if (latest_[label].size() < kMostOfLabel) {
      if (grow) {
        latest_.push_back(label, slot);
      }
    } else {
      release(std::exchange(latest_.write(label)[(memory.count(label) - 1) % kMostOfLabel], slot));
    }
  }
}

/// The slots of a label's examples, of which there have been `count`.
std::vector<std::uint32_t> RecentExamples::latest_first(LabelId label, std::uint32_t count) const {
  if (label >= latest_.size()) {
    return {};
  }
  std::vector<std::uint32_t> slots(latest_[label].begin(), latest_[label].end());
  if (slots.size() == kMostOfLabel) {  // the oldest one is at the place of the next example
    std::rotate(slots.begin(), slots.begin() + count % kMostOfLabel, slots.end());
  }
  std::reverse(slots.begin(), slots.end());
  return slots;
}

void RecentExamples::remove(LabelId label) {
  if (label >= latest_.size()) {
    return;
  }
  n_users_.own();
  free_.own();
  const std::vector<std::uint32_t> slots(latest_[label].begin(), latest_[label].end());
  latest_.assign(label, {});
  for (const std::uint32_t slot : slots) {
    release(slot);
  }
}

/// Takes the latest examples of both labels in turn.
void RecentExamples::merge(LabelId label, LabelId into, const LabelMemory& memory) {
  const std::vector<std::uint32_t> from = latest_first(label, memory.count(label));
  const std::vector<std::uint32_t> own = latest_first(into, memory.count(into));
  if (from.empty()) {
    return;
  }
  std::vector<std::uint32_t> both;
  for (std::size_t i = 0; i < std::max(from.size(), own.size()); ++i) {
    for (const auto* slots : {&own, &from}) {
      const bool is_new = i < slots->size() && std::ranges::find(both, (*slots)[i]) == both.end();
      if (is_new && both.size() < kMostOfLabel) {
        both.push_back((*slots)[i]);
      }
    }
  }
  n_users_.own();
  for (const std::uint32_t slot : both) {
    ++n_users_[slot];
    std::vector<LabelId> labels(labels_[slot].begin(), labels_[slot].end());
    labels.push_back(into);
    sort_distinct(labels);
    labels_.assign(slot, labels);
  }
  remove(label);
  remove(into);
  std::reverse(both.begin(), both.end());
  if (both.size() == kMostOfLabel) {
    const std::uint64_t count = std::uint64_t{memory.count(label)} + memory.count(into);
    const std::uint64_t next = std::min(count, memory.n_learnt()) % kMostOfLabel;  // the place of the next example
    std::rotate(both.begin(), both.end() - static_cast<std::ptrdiff_t>(next), both.end());
  }
  latest_.resize(into + std::size_t{1});
  latest_.assign(into, both);
}

void RecentExamples::Nearest::reset() {
  for (const std::uint32_t slot : slots_) {
    is_listed_[slot] = false;
  }
  for (const FeatureId feature : features_) {
    row_[feature] = 0;
  }
  found_.clear();
  slots_.clear();
  features_.clear();
}

void RecentExamples::find_nearest(RowView row, std::span<const LabelId> labels, const LabelMemory& memory,
                                  Nearest& nearest) const {
  nearest.reset();
  if (n_users_.empty()) {
    return;
  }
  if (nearest.is_listed_.size() < n_users_.size()) {
    nearest.is_listed_.resize(n_users_.size());
  }
  if (nearest.row_.size() < memory.n_features()) {
    nearest.row_.resize(memory.n_features());
  }
  for (const LabelId label : labels) {
    if (label < latest_.size()) {
      for (const std::uint32_t slot : latest_[label]) {
        if (!nearest.is_listed_[slot]) {
          nearest.slots_.push_back(slot);
          nearest.is_listed_[slot] = true;
        }
      }
    }
  }
  const double scale = scale_of_weighted(row, memory);
  for (std::size_t i = 0; i < row.size() && row.features[i] < memory.n_features(); ++i) {
    const FeatureId feature = row.features[i];
    nearest.features_.push_back(feature);
    nearest.row_[feature] = static_cast<Real>(scale * row.values[i] * memory.weight(feature));
  }
  for (std::size_t i = 0; i < nearest.slots_.size(); ++i) {
    if (i + kAhead < nearest.slots_.size()) {
      prefetch(cells_[nearest.slots_[i + kAhead]].data());
    }
    Real sum = 0;
    for (const Cell& cell : cells_[nearest.slots_[i]]) {
      sum += nearest.row_[cell.feature] * cell.value;
    }
    if (sum > 0) {
      nearest.found_.push_back({sum, nearest.slots_[i]});
    }
  }
  const auto nearer = [](const Nearest::Found& a, const Nearest::Found& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.slot < b.slot;
  };
  const std::size_t n = std::min(kNearest, nearest.found_.size());
  std::partial_sort(nearest.found_.begin(), nearest.found_.begin() + static_cast<std::ptrdiff_t>(n),
                    nearest.found_.end(), nearer);
  nearest.found_.resize(n);
  nearest.all_ = 0;
  for (const Nearest::Found& each : nearest.found_) {
    nearest.all_ += square(each.similarity);
  }
}

Votes RecentExamples::votes(LabelId label, const Nearest& nearest) const {
  double share = 0;
  double nearness = 0;
  for (std::uint32_t i = 0; i < nearest.found_.size(); ++i) {
    const auto& [similarity, slot] = nearest.found_[i];
    const std::span<const LabelId> labels = labels_[slot];
    if (std::binary_search(labels.begin(), labels.end(), label)) {
      share += square(similarity) / nearest.all_;
      nearness = std::max(nearness, 1.0 - log_double(1.0 + i) / log_double(1.0 + kNearest));
    }
  }
  return {static_cast<Real>(trust_ * share), static_cast<Real>(trust_ * nearness)};
}

std::size_t RecentExamples::memory_bytes() const {
  return cells_.memory_bytes() + labels_.memory_bytes() + latest_.memory_bytes() + n_users_.memory_bytes() +
         free_.memory_bytes();
}

void RecentExamples::save(ArrayWriter& out, const std::string& prefix) const {
  out.put_one(prefix + "/trust", trust_);
  cells_.save(out, prefix + "/cells");
  labels_.save(out, prefix + "/labels");
  latest_.save(out, prefix + "/latest");
  out.put(prefix + "/n_users", n_users_);
  out.put(prefix + "/free", free_);
}

RecentExamples RecentExamples::load(const ArrayReader& in, const std::string& prefix) {
  RecentExamples recent;
  recent.trust_ = in.get_one<double>(prefix + "/trust");
  recent.cells_ = Lists<Cell>::load(in, prefix + "/cells");
  recent.labels_ = Lists<LabelId>::load(in, prefix + "/labels");
  recent.latest_ = Lists<std::uint32_t>::load(in, prefix + "/latest");
  recent.n_users_ = in.get<std::uint32_t>(prefix + "/n_users");
  recent.free_ = in.get<std::uint32_t>(prefix + "/free");
  const std::size_t n = recent.n_users_.size();
  expect_format(recent.cells_.size() == n && recent.labels_.size() == n,
                "the arrays of recent examples differ in size");
  return recent;
}

void RecentExamples::check(const LabelMemory& memory) const {
  expect_format(trust_ >= 0 && trust_ <= 1, "the trust in recent examples is not between 0 and 1");
  expect_format(trust_ > 0 || n_users_.empty(), "there are recent examples that do not count");
  check_examples(memory);
  expect_format(latest_.size() <= memory.n_labels(), "a label of recent examples is unknown to the label memory");
  std::vector<std::uint32_t> n_users(n_users_.size());
  for (LabelId label = 0; label < latest_.size(); ++label) {
    expect_format(latest_[label].size() <= std::min<std::size_t>(memory.count(label), kMostOfLabel),
                  "a label has too many recent examples");
    for (const std::uint32_t slot : latest_[label]) {
      expect_format(slot < labels_.size() && std::ranges::binary_search(labels_[slot], label),
                    "a label is listed with a recent example of another label");
      ++n_users[slot];
    }
  }
  expect_format(std::ranges::equal(n_users, n_users_.view()), "a recent example is listed by a wrong number of labels");
  for (const std::uint32_t slot : free_) {
    expect_format(slot < n_users.size() && n_users[slot]++ == 0, "a slot of a recent example is not free");
  }
  expect_format(std::ranges::find(n_users, 0U) == n_users.end(), "a recent example has no labels");
}

void RecentExamples::check_examples(const LabelMemory& memory) const {
  for (std::size_t slot = 0; slot < labels_.size(); ++slot) {
    const std::span<const LabelId> labels = labels_[slot];
    expect_format(std::ranges::adjacent_find(labels, std::greater_equal<>()) == labels.end() &&
                      (labels.empty() || labels.back() < memory.n_labels()),
                  "the labels of a recent example are out of order or unknown");
    expect_format(std::ranges::all_of(cells_[slot],
                                      [&](const Cell& cell) {
                                        return cell.feature < memory.n_features() && std::abs(cell.value) <= kMostValue;
                                      }),
                  "a recent example has an unknown feature, or a value that is too large or not a number");
  }
}

}  // namespace oplt

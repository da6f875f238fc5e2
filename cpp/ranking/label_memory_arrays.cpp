// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

namespace {

// The possible ranges. Within them no similarity overflows, whatever else is in a file.
constexpr Real kLeastFeatureWeight = 0.69F;  // log 2: no feature has more labels than there are
constexpr Real kMostFeatureWeight = 1e3F;
constexpr Real kMostSum = 1e22F;   // 2^32 examples of the largest weight
constexpr Real kMostShare = 4.0F;  // sum / norm, where weights are at least 0.69
constexpr double kTiny = 1e-37;    // smaller sums are dominated by rounding

}  // namespace

/// Writes postings by ascending label, so that the file does not depend on their order in memory.
void LabelMemory::save(ArrayWriter& out, const std::string& prefix) const {
  out.put_one(prefix + "/n_learnt", n_learnt_);
  out.put_one(prefix + "/n_known", n_known_);
  out.put_one(prefix + "/n_renewed", n_renewed_);
  out.put(prefix + "/labels", labels_);
  out.put(prefix + "/weights", weights_);
  out.put(prefix + "/totals", totals_);
  // By ascending label, the position of a cell's posting is the number of earlier cells with the same feature.
  std::vector<std::uint32_t> n_before(weights_.size());  // by feature
  cells_.save(out, prefix + "/cells", [&](std::size_t, std::span<Cell> cells) {
    for (Cell& cell : cells) {
      if (cell.posting != kNone) {
        cell.posting = n_before[cell.feature]++;
      }
    }
  });
  postings_.save(out, prefix + "/postings", [](std::size_t, std::span<Posting> postings) {
    std::sort(postings.begin(), postings.end(), [](const Posting& a, const Posting& b) { return a.label < b.label; });
  });
}

LabelMemory LabelMemory::load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features) {
  LabelMemory memory(max_features);
  memory.n_learnt_ = in.get_one<std::uint64_t>(prefix + "/n_learnt");
  memory.n_known_ = in.get_one<std::uint64_t>(prefix + "/n_known");
  memory.n_renewed_ = in.get_one<std::uint64_t>(prefix + "/n_renewed");
  memory.labels_ = in.get<Label>(prefix + "/labels");
  memory.weights_ = in.get<Real>(prefix + "/weights");
  memory.totals_ = in.get<double>(prefix + "/totals");
  memory.cells_ = Lists<Cell>::load(in, prefix + "/cells");
  memory.postings_ = Lists<Posting>::load(in, prefix + "/postings");
  expect_format(memory.cells_.size() == memory.labels_.size(),
                "the arrays of the label memory's labels differ in size");
  expect_format(memory.totals_.size() == memory.weights_.size() && memory.postings_.size() == memory.weights_.size(),
                "the arrays of the label memory's features differ in size");
  return memory;
}

void LabelMemory::check(const Limits& limits) const {
  expect_format(n_learnt_ <= limits.examples, "the label memory has more examples than the model");
  expect_format(weights_.size() <= limits.features, "the label memory has more features than the model");
  expect_format(labels_.size() <= limits.labels, "the label memory has more labels than the model");
  check_features();
  check_postings();
  check_labels();
}

void LabelMemory::check_features() const {
  bool good_weights = true;
  for (const Real weight : weights_) {  // comparisons are written so that NaN fails them
    good_weights = good_weights && (weight == 0 || (weight >= kLeastFeatureWeight && weight <= kMostFeatureWeight));
  }
  expect_format(good_weights, "the weight of a feature in the label memory is out of range");
  bool good_totals = true;
  for (const double total : totals_) {
    good_totals = good_totals && total >= 0 && std::isfinite(total);
  }
  expect_format(good_totals, "the total of a feature in the label memory is negative or not finite");
}

void LabelMemory::check_postings() const {
  bool good = true;
  for (FeatureId feature = 0; feature < postings_.size(); ++feature) {
    for (const Posting& posting : postings_[feature]) {
      good = good && posting.label < labels_.size() && std::abs(posting.share) <= kMostShare;
    }
  }
  expect_format(good, "the label memory has a posting without a label, or with an impossible share");
}

void LabelMemory::check_labels() const {
  std::uint64_t n_known = 0;
  std::uint64_t n_posted = 0;
  for (LabelId label = 0; label < labels_.size(); ++label) {
    const Label& entry = labels_[label];
    n_known += knows(label) ? 1 : 0;
    n_posted += check_cells(label);
    expect_format(entry.last <= n_learnt_ && entry.count <= n_learnt_,
                  "the label memory has examples of a label beyond the last example");
  }
  expect_format(n_posted == postings_.n_values(), "the label memory has postings that belong to no label's features");
  expect_format(n_known == n_known_ && n_renewed_ <= n_known_, "the label memory has a wrong number of labels");
}

/// Returns the number of the label's features that have postings.
std::size_t LabelMemory::check_cells(LabelId label) const {
  bool in_order = true;
  bool good_sums = true;
  bool good_postings = true;
  std::size_t n_posted = 0;
  double squares = 0;
  std::uint64_t next = 0;  // the smallest feature that may follow
  for (const Cell& cell : cells_[label]) {
    in_order = in_order && cell.feature >= next && cell.feature < weights_.size();
    if (!in_order) {
      break;
    }
    next = std::uint64_t{cell.feature} + 1;
    const Real size = std::abs(cell.sum);
    good_sums =
        good_sums && size <= kMostSum && size <= 4 * totals_[cell.feature] + kTiny && weights_[cell.feature] > 0;
    squares += static_cast<double>(size) * size;
    if (cell.posting != kNone) {
      const std::span<const Posting> postings = postings_[cell.feature];
      good_postings = good_postings && cell.posting < postings.size() && postings[cell.posting].label == label;
      ++n_posted;
    }
  }
  const Real norm = labels_[label].norm;
  expect_format(in_order, "features of a label in the label memory are out of order");
  expect_format(good_sums, "a sum in the label memory exceeds the total of its feature, or is not a number");
  expect_format(good_postings, "a feature of a label in the label memory refers to a posting of another label");
  expect_format(std::isfinite(norm) && norm + kTiny >= kLeastFeatureWeight * 0.99 * std::sqrt(squares),
                "a label in the label memory has a norm that does not match its features");
  return n_posted;
}

}  // namespace oplt

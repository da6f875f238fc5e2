// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "ranking/label_memory.hpp"

namespace oplt {

namespace {

constexpr Real kNoShare = std::numeric_limits<Real>::infinity();  // the cell has no posting

// Far above what there can be, and small enough that no similarity becomes NaN, whatever else is in a file.
constexpr Real kMostFeatureWeight = 1e3F;
constexpr Real kMostSum = 1e30F;

void expect(bool fits, const char* what) {
  if (!fits) {
    throw FormatError(std::string("the label memory is damaged: ") + what);
  }
}

template <class T>
bool all_finite(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](T number) { return std::isfinite(number); });
}

bool all_within(const std::vector<Real>& numbers, Real least, Real most) {
  return std::all_of(numbers.begin(), numbers.end(), [&](Real number) { return number >= least && number <= most; });
}

}  // namespace

std::size_t LabelMemory::memory_bytes() const {
  std::size_t bytes = labels_.capacity() * sizeof(Label) + weights_.capacity() * sizeof(Real) +
                      totals_.capacity() * sizeof(double) + postings_.capacity() * sizeof(postings_[0]);
  for (const Label& label : labels_) {
    bytes += label.cells.capacity() * sizeof(Cell);
  }
  for (const std::vector<Posting>& postings : postings_) {
    bytes += postings.capacity() * sizeof(Posting);
  }
  return bytes;
}

/// Of the postings, only the shares are written: their order says nothing.
void LabelMemory::save(Writer& out) const {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint64_t> lasts;
  std::vector<std::uint32_t> sizes;
  std::vector<Real> norms;
  std::vector<FeatureId> features;
  std::vector<Real> sums;
  std::vector<Real> shares;
  for (const Label& label : labels_) {
    counts.push_back(label.count);
    lasts.push_back(label.last);
    sizes.push_back(static_cast<std::uint32_t>(label.cells.size()));
    norms.push_back(label.norm);
    for (const Cell& cell : label.cells) {
      features.push_back(cell.feature);
      sums.push_back(cell.sum);
      shares.push_back(cell.posting == kNone ? kNoShare : postings_[cell.feature][cell.posting].share);
    }
  }
  out.put(static_cast<std::uint64_t>(n_renewed_));
  out.put(n_learnt_);
  out.put_array<Real>(weights_);
  out.put_array<double>(totals_);
  out.put_array<std::uint32_t>(counts);
  out.put_array<std::uint64_t>(lasts);
  out.put_array<Real>(norms);
  out.put_array<std::uint32_t>(sizes);
  out.put_array<FeatureId>(features);
  out.put_array<Real>(sums);
  out.put_array<Real>(shares);
}

LabelMemory LabelMemory::load(std::uint32_t max_features, const Limits& limits, Reader& in) {
  LabelMemory memory(max_features);
  memory.n_renewed_ = in.get<std::uint64_t>();
  memory.n_learnt_ = in.get<std::uint64_t>();
  memory.weights_ = in.get_array<Real>();
  memory.totals_ = in.get_array<double>();
  expect(memory.n_learnt_ <= limits.examples, "it has more examples than the model");
  expect(memory.weights_.size() <= limits.features, "it has more features than the model");
  expect(memory.totals_.size() == memory.weights_.size(), "weights and totals of features differ in number");
  expect(all_within(memory.weights_, 0, kMostFeatureWeight),
         "the weight of a feature is negative, too large, or no number");
  expect(all_finite(memory.totals_), "the total of a feature is not finite");
  const auto counts = in.get_array<std::uint32_t>();
  const auto lasts = in.get_array<std::uint64_t>();
  const auto norms = in.get_array<Real>();
  const auto sizes = in.get_array<std::uint32_t>();
  expect(counts.size() <= limits.labels, "it has more labels than the model");
  expect(lasts.size() == counts.size() && norms.size() == counts.size() && sizes.size() == counts.size(),
         "counts and norms of labels differ in number");
  expect(all_finite(norms), "a label has a norm that is not finite");
  expect(std::all_of(lasts.begin(), lasts.end(), [&](std::uint64_t last) { return last <= memory.n_learnt_; }),
         "a label's last example is yet to come");
  memory.postings_.resize(memory.weights_.size());
  memory.labels_.resize(counts.size());
  memory.load_cells(sizes, in);
  for (LabelId label = 0; label < counts.size(); ++label) {
    memory.labels_[label].norm = norms[label];
    memory.labels_[label].count = counts[label];
    memory.labels_[label].last = lasts[label];
    memory.n_known_ += counts[label] > 0 ? 1 : 0;
  }
  return memory;
}

void LabelMemory::load_cells(std::span<const std::uint32_t> sizes, Reader& in) {
  const auto features = in.get_array<FeatureId>();
  const auto sums = in.get_array<Real>();
  const auto shares = in.get_array<Real>();
  expect(sums.size() == features.size() && shares.size() == features.size() &&
             std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) == features.size(),
         "features and sums of labels differ in number");
  expect(all_within(sums, -kMostSum, kMostSum), "a sum is too large, or no number");
  std::size_t i = 0;
  for (LabelId label = 0; label < sizes.size(); ++label) {
    std::vector<Cell>& cells = labels_[label].cells;
    for (const std::size_t end = i + sizes[label]; i < end; ++i) {
      expect(features[i] < weights_.size() && (cells.empty() || features[i] > cells.back().feature),
             "features of a label are out of order");
      expect(std::isfinite(shares[i]) || shares[i] == kNoShare, "a share is not finite");
      std::vector<Posting>& postings = postings_[features[i]];
      const bool posted = shares[i] != kNoShare;
      cells.push_back({features[i], sums[i], posted ? static_cast<std::uint32_t>(postings.size()) : kNone});
      if (posted) {
        postings.push_back({label, shares[i]});
      }
    }
  }
  n_cells_ = features.size();
}

}  // namespace oplt

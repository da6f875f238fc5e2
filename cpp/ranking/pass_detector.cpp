// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "ranking/pass_detector.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace oplt {

namespace {

constexpr std::uint64_t kTwice = 1;  // the bit that marks a digest that occurred more than once

// Half the expected fraction of new examples is evidence neither for nor against a repetition.
constexpr double kExpectedShare = 0.5;

}  // namespace

void PassDetector::see(std::uint64_t digest) {
  if (digest > bound_) {
    return;
  }
  const std::uint64_t key = digest & ~kTwice;
  const auto place = std::lower_bound(digests_.begin(), digests_.end(), key);
  const bool is_new = place == digests_.end() || (*place & ~kTwice) != key;
  const double expected = n_seen_ > 0 ? static_cast<double>(n_once_) / static_cast<double>(n_seen_) : 1.0;
  evidence_ = std::clamp(evidence_ + kExpectedShare * expected - (is_new ? 1.0 : 0.0), 0.0, kMostEvidence);
  if (is_new) {
    digests_.insert(place, key);
    ++n_seen_;
    ++n_once_;
    if (digests_.size() > kMost) {
      halve_bound();
    }
  } else if (!is_repeating()) {
    ++n_seen_;
    n_once_ -= (*place & kTwice) == 0 ? 1 : 0;
    *place |= kTwice;
  }
}

bool PassDetector::recognise(std::span<const std::uint64_t> digests) {
  see(digests.front());
  const bool is_new = !is_repeating();
  for (const std::uint64_t digest : digests.subspan(1)) {
    see(digest);
  }
  return is_new;
}

void PassDetector::halve_bound() {
  const std::size_t n_before = digests_.size();
  bound_ /= 2;
  digests_.erase(std::upper_bound(digests_.begin(), digests_.end(), bound_), digests_.end());
  n_seen_ = std::max<std::uint64_t>(n_seen_ * digests_.size() / n_before, digests_.size());
  n_once_ = static_cast<std::uint64_t>(
      std::count_if(digests_.begin(), digests_.end(), [](std::uint64_t digest) { return (digest & kTwice) == 0; }));
}

void PassDetector::save(ArrayWriter& out, const std::string& prefix) const {
  out.begin<std::uint64_t>(prefix + "/digests");
  out.append<std::uint64_t>(digests_);
  out.put_one(prefix + "/n_digests", std::uint64_t{digests_.size()});
  out.put_one(prefix + "/bound", bound_);
  out.put_one(prefix + "/n_seen", n_seen_);
  out.put_one(prefix + "/evidence", evidence_);
}

PassDetector PassDetector::load(const ArrayReader& in, const std::string& prefix) {
  PassDetector detector;
  const Buffer<std::uint64_t> digests = in.get<std::uint64_t>(prefix + "/digests");
  expect_format(digests.size() <= kMost && digests.size() == in.get_one<std::uint64_t>(prefix + "/n_digests"),
                "the number of digests of examples is wrong");
  detector.digests_.assign(digests.begin(), digests.end());
  detector.bound_ = in.get_one<std::uint64_t>(prefix + "/bound");
  detector.n_seen_ = in.get_one<std::uint64_t>(prefix + "/n_seen");
  detector.evidence_ = in.get_one<double>(prefix + "/evidence");
  detector.n_once_ = static_cast<std::uint64_t>(
      std::count_if(digests.begin(), digests.end(), [](std::uint64_t digest) { return (digest & kTwice) == 0; }));
  return detector;
}

void PassDetector::check() const {
  bool in_order = true;
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    in_order = in_order && (i == 0 || (digests_[i - 1] | kTwice) < digests_[i]) && (digests_[i] & ~kTwice) <= bound_;
  }
  expect_format(in_order, "digests of examples are out of order");
  expect_format(n_seen_ >= digests_.size() && n_seen_ <= ~std::uint64_t{0} / (2 * kMost),
                "the number of examples does not match their digests");
  expect_format(evidence_ >= 0 && evidence_ <= kMostEvidence, "the evidence of a further pass is out of range");
}

}  // namespace oplt

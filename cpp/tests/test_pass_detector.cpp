// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "ranking/pass_detector.hpp"

using namespace oplt;

namespace {

std::vector<std::uint64_t> digests(std::uint64_t seed, std::size_t n) {
  Random random(seed);
  std::vector<std::uint64_t> result(n);
  std::generate(result.begin(), result.end(), [&] { return random.next(); });
  return result;
}

/// The number of examples until a repetition is detected; size + 1 if it is not.
std::size_t n_until_noticed(PassDetector& detector, const std::vector<std::uint64_t>& stream) {
  for (std::size_t i = 0; i < stream.size(); ++i) {
    detector.see(stream[i]);
    if (detector.is_repeating()) {
      return i + 1;
    }
  }
  return stream.size() + 1;
}

}  // namespace

TEST("each further pass is detected, in any order, and so are new examples after it") {
  for (const std::size_t n : {100U, 1'000U, 50'000U}) {
    PassDetector detector;
    std::vector<std::uint64_t> stream = digests(n, n);
    CHECK_EQ(n_until_noticed(detector, stream), n + 1);
    for (std::size_t pass = 0; pass < 4; ++pass) {
      std::reverse(stream.begin(), stream.end());
      CHECK(n_until_noticed(detector, stream) <= (n <= 1'000 ? 20 : n / 10));
      for (const std::uint64_t digest : stream) {
        detector.see(digest);
      }
      CHECK(detector.is_repeating());
    }
    for (const std::uint64_t digest : digests(n + 1, n)) {
      detector.see(digest);
    }
    CHECK(!detector.is_repeating());
  }
}

TEST("a stationary stream of few distinct examples is not taken for a repetition") {
  for (const std::uint32_t n_different : {1U, 4U, 100U, 3'000U, 30'000U}) {
    const std::vector<std::uint64_t> different = digests(3, n_different);
    PassDetector detector;
    Random random(n_different);
    for (std::size_t i = 0; i < 100'000; ++i) {
      detector.see(different[random.below(n_different)]);
      CHECK(!detector.is_repeating());
    }
  }
}

TEST("a loaded detector continues identically, and an impossible state is rejected") {
  PassDetector detector;
  for (const std::uint64_t digest : digests(1, 20'000)) {
    detector.see(digest);
  }
  detector.check();
  const std::vector<std::byte> file = test::saved_bytes(detector);
  CHECK(file.size() < 8 * PassDetector::kMost + 4'096);
  PassDetector loaded = PassDetector::load(test::read_arrays(file), "thing");
  loaded.check();
  for (const std::uint64_t digest : digests(1, 9'000)) {
    detector.see(digest);
    loaded.see(digest);
  }
  CHECK(test::saved_bytes(loaded) == test::saved_bytes(detector));
  const auto check_with = [&](const std::string& name, auto value) {
    PassDetector::load(test::read_arrays(test::with_value(file, name, 0, value)), "thing").check();
  };
  CHECK_THROWS_WITH(FormatError, "order", check_with("thing/digests", ~std::uint64_t{0}));
  CHECK_THROWS_WITH(FormatError, "match their digests", check_with("thing/n_seen", std::uint64_t{3}));
  CHECK_THROWS_WITH(FormatError, "evidence", check_with("thing/evidence", -1.0));
}

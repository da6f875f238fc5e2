// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Runs the targets of `make fuzz` on the inputs in tests/fuzz/corpus, and on changed copies of them. Needs no clang,
// and does the same on every machine.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "check.hpp"
#include "fuzz_targets.hpp"

using namespace oplt;
using oplt::test::FuzzTarget;

namespace {

constexpr int kChangedCopies = 20000;  // per target

using Input = std::vector<std::byte>;

std::vector<Input> kept_inputs(std::string_view target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(OPLT_FUZZ_CORPUS) / target)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const auto view = std::as_bytes(std::span(bytes));
    inputs.emplace_back(view.begin(), view.end());
  }
  return inputs;
}

/// A copy with some bytes changed, inserted, removed, or taken from another input.
Input changed(const Input& input, const Input& other, Random& random) {
  Input result = input;
  for (std::uint32_t n = 1 + random.below(4); n > 0; --n) {
    const std::uint32_t size = static_cast<std::uint32_t>(result.size());
    const auto at = result.begin() + (size == 0 ? 0 : random.below(size));
    const auto byte = static_cast<std::byte>(random.below(256));
    switch (size == 0 ? 1 : random.below(4)) {
      case 0:
        *at ^= std::byte{1} << random.below(8);
        break;
      case 1:
        result.insert(at, byte);
        break;
      case 2:
        result.erase(at, at + std::min<std::ptrdiff_t>(random.below(8), result.end() - at));
        break;
      default:
        for (std::size_t i = 0; i < 8 && at + static_cast<std::ptrdiff_t>(i) != result.end() && i < other.size(); ++i) {
          at[static_cast<std::ptrdiff_t>(i)] = other[other.size() - 1 - i];
        }
    }
  }
  return result;
}

void run(const FuzzTarget& target, const Input& input) {
  try {
    target.run(input);
  } catch (const std::exception& error) {
    std::string hex;
    for (const std::byte byte : input) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += {kDigits[std::to_integer<unsigned>(byte) >> 4], kDigits[std::to_integer<unsigned>(byte) & 15]};
    }
    check::fail(std::string(target.name).c_str(), error.what()) << ", input " << hex;
  }
}

}  // namespace

TEST("stored inputs of all fuzz targets, and changed copies of them, do no harm") {
  for (const FuzzTarget& target : oplt::test::kFuzzTargets) {
    const std::vector<Input> inputs = kept_inputs(target.name);
    CHECK(!inputs.empty());
    for (const Input& input : inputs) {
      run(target, input);
    }
    Random random(3);
    const auto any = [&]() -> const Input& { return inputs[random.below(static_cast<std::uint32_t>(inputs.size()))]; };
    for (int i = 0; i < kChangedCopies && !inputs.empty(); ++i) {
      run(target, changed(any(), any(), random));
    }
  }
}

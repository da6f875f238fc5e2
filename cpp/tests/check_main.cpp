// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Runs the tests of the files that the arguments name, such as `test_forest`; of all files if there are none.
#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <span>
#include <string_view>

#include "check.hpp"

namespace {

/// "test_forest" of "cpp/tests/test_forest.cpp".
std::string_view stem(std::string_view path) {
  path.remove_prefix(path.find_last_of("/\\") + 1);  // the whole path if there is no separator
  return path.substr(0, path.find('.'));
}

/// Whether the case passes.
bool passes(const check::Case& one) {
  check::n_failures = 0;
  try {
    one.run();
  } catch (const std::exception& error) {
    check::fail("unexpected exception", error.what());
  }
  if (check::n_failures > 0) {
    std::cerr << "\nFAILED: " << stem(one.file) << ": " << one.name << " (" << check::n_failures << " failures)\n";
  }
  return check::n_failures == 0;
}

}  // namespace

int main(int n_arguments, char** arguments) {
  const auto files = std::span(arguments, static_cast<std::size_t>(n_arguments)).subspan(1);
  std::size_t n_passed = 0;
  std::size_t n_failed = 0;
  for (const check::Case& one : check::cases) {
    if (files.empty() || std::ranges::find(files, stem(one.file)) != files.end()) {
      ++(passes(one) ? n_passed : n_failed);
    }
  }
  std::cout << n_passed << " passed, " << n_failed << " failed\n";
  return n_passed > 0 && n_failed == 0 ? 0 : 1;
}

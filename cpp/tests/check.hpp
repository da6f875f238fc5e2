// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A minimal test framework; check_main.cpp has main().
#pragma once

#include <iostream>
#include <string_view>
#include <vector>

namespace check {

struct Case {
  std::string_view file, name;
  void (*run)();
};

inline std::vector<Case> cases;
inline int n_failures = 0;  // of the running case

inline bool add(const Case& one) {
  cases.push_back(one);
  return true;
}

/// Begins a report. Prints only the first few failures of a case, because a loop may fail a million times.
inline std::ostream& fail(const char* place, const char* expression) {
  static std::ostream nowhere(nullptr);
  return (++n_failures <= 5 ? std::cerr : nowhere) << '\n' << place << ": " << expression;
}

template <class A, class B>
void equal(const A& a, const B& b, const char* place, const char* expression) {
  if (a == b) {
    return;
  }
  std::ostream& out = fail(place, expression);
  if constexpr (requires { out << a << b; }) {
    out << ": " << a << " and " << b;
  }
}

/// Exceptions other than Error propagate and fail the case.
template <class Error, class Run>
void throws(Run run, std::string_view text, const char* place, const char* expression) {
  try {
    run();
    fail(place, expression) << ": nothing was thrown";
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(text) == std::string_view::npos) {
      fail(place, expression) << ": lacks \"" << text << "\": " << error.what();
    }
  }
}

}  // namespace check

#define CHECK_TEXT_2(x) #x
#define CHECK_TEXT(x) CHECK_TEXT_2(x)
#define CHECK_PLACE __FILE__ ":" CHECK_TEXT(__LINE__)
#define CHECK_JOIN_2(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_2(a, b)
#define TEST(name)                                                                                            \
  static void CHECK_JOIN(test_, __LINE__)();                                                                  \
  static const bool CHECK_JOIN(added_, __LINE__) = check::add({__FILE__, name, CHECK_JOIN(test_, __LINE__)}); \
  static void CHECK_JOIN(test_, __LINE__)()
#define CHECK(...) static_cast<void>((__VA_ARGS__) || (check::fail(CHECK_PLACE, #__VA_ARGS__), false))
#define CHECK_EQ(a, b) check::equal(a, b, CHECK_PLACE, #a " == " #b)
#define CHECK_THROWS(Error, ...) CHECK_THROWS_WITH(Error, "", __VA_ARGS__)
#define CHECK_THROWS_WITH(Error, text, ...) \
  check::throws<Error>([&] { static_cast<void>(__VA_ARGS__); }, text, CHECK_PLACE, #__VA_ARGS__)

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// What the core throws. Each type has a Python class of the same meaning in src/oplt/errors.py.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace oplt {

/// A setting outside its range.
struct InvalidParameter : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// An example, label, feature or tree that cannot be used.
struct InvalidInput : std::invalid_argument {
  explicit InvalidInput(const std::string& what_is_wrong)
      : std::invalid_argument(what_is_wrong), problem(what_is_wrong) {}
  /// Found at some place, such as a line of a text.
  InvalidInput(const std::string& place, const std::string& what_is_wrong)
      : std::invalid_argument(place + ": " + what_is_wrong), problem(what_is_wrong), where(place) {}

  std::string problem;
  std::string where;  // empty if it has no place
};

/// A model that an earlier failure, such as a lack of memory, has left half changed.
struct BrokenModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A call on several threads goes on in a forked child, where its helper threads are not.
struct ForkedCall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Saved bytes that are not a model.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A model in a format that this version does not read.
struct UnknownFormatVersion : FormatError {
  using FormatError::FormatError;
};

/// Throws FormatError unless what a file must have holds.
inline void expect_format(bool holds, const char* message) {
  if (!holds) {
    throw FormatError(message);
  }
}

}  // namespace oplt

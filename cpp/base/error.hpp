// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Exceptions of the core. Each type corresponds to a Python class in src/oplt/errors.py.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace oplt {

/// A setting outside its range.
struct InvalidParameter : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A name of kernels that do not exist, or that this machine cannot run.
struct UnknownKernels : InvalidParameter {
  UnknownKernels(std::string name, std::string advice)
      : InvalidParameter("this machine cannot run kernels of this name"),
        got(std::move(name)),
        hint(std::move(advice)) {}

  std::string got;
  std::string hint;
};

/// An example, label, feature or tree that cannot be used.
struct InvalidInput : std::invalid_argument {
  explicit InvalidInput(const std::string& what_is_wrong)
      : std::invalid_argument(what_is_wrong), problem(what_is_wrong) {}
  /// With the place of the error, such as a line of a text.
  InvalidInput(const std::string& place, const std::string& what_is_wrong)
      : std::invalid_argument(place + ": " + what_is_wrong), problem(what_is_wrong), where(place) {}

  std::string problem;
  std::string where;  // empty if the place is unknown
};

/// An operation on labels that is impossible. `code` is that of the Python error.
struct LabelRefused : InvalidInput {
  LabelRefused(const char* kind, const std::string& what_is_wrong, std::string advice)
      : InvalidInput(what_is_wrong), code(kind), hint(std::move(advice)) {}

  const char* code;
  std::string hint;
};

/// Texts that a model cannot forget, because it could not learn the others again.
struct TextsNotForgettable : InvalidInput {
  TextsNotForgettable(const std::string& what_is_wrong, std::string advice)
      : InvalidInput(what_is_wrong), hint(std::move(advice)) {}

  std::string hint;
};

/// A model that an earlier failure, such as running out of memory, left partly updated.
struct BrokenModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A multi-threaded call continues in a forked child, where its helper threads do not exist.
struct ForkedCall : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Saved bytes that are not a model.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A model in a format version that this version of oplt cannot read.
struct UnknownFormatVersion : FormatError {
  using FormatError::FormatError;
};

/// Throws FormatError unless a condition on the content of a file holds.
inline void expect_format(bool holds, const char* message) {
  if (!holds) {
    throw FormatError(message);
  }
}

}  // namespace oplt

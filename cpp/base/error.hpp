// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// What the core throws. Each type has a Python class of the same meaning in src/oplt/errors.py.
#pragma once

#include <stdexcept>

namespace oplt {

/// A setting outside its range.
struct InvalidParameter : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// An example, label, feature or tree that cannot be used.
struct InvalidInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A model that an earlier failure, such as a lack of memory, has left half changed.
struct BrokenModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something to learn for a model that was trained at once.
struct FrozenModel : std::logic_error {
  using std::logic_error::logic_error;
};

/// Saved bytes that are not a model.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace oplt

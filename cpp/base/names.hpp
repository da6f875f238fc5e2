// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Settings whose value is one of a few names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace oplt {

template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

/// Throws InvalidParameter, listing the valid names, if `name` is not one of them.
template <class Value>
Value value_of(std::span<const NamedValue<Value>> values, std::string_view what, std::string_view name) {
  std::string known;
  for (const NamedValue<Value>& value : values) {
    if (value.name == name) {
      return value.value;
    }
    known += (known.empty() ? "'" : ", '") + std::string(value.name) + "'";
  }
  throw InvalidParameter(std::string(what) + " must be one of " + known + ", got '" + std::string(name) + "'");
}

}  // namespace oplt

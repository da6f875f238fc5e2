// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// One line of the text format: `l1,l2,… f:v f:v …`.
#pragma once

#include <string>
#include <string_view>

#include "io/text_format.hpp"

namespace oplt {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Appends one example. If it throws InvalidInput, `rows` may be left with a part of the example.
void parse_line(std::string_view line, const LineLimits& limits, LabelledRows& rows);

/// The text for an error message: in quotes, shortened, with all other bytes escaped to ASCII.
std::string quoted(std::string_view text);

}  // namespace oplt

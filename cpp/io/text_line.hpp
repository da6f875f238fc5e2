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

/// Appends one example. Throws InvalidInput, then leaving `rows` with part of it.
void parse_line(std::string_view line, const LineLimits& limits, LabelledRows& rows);

/// As an error message shows it: in quotes, shortened, and whatever its bytes are, in ASCII.
std::string quoted(std::string_view text);

}  // namespace oplt

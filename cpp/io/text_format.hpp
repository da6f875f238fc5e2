// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The text format of the extreme classification repository and of LIBSVM. `load_xmlc` in src/oplt/datasets.py
// describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace oplt {

/// Concatenated examples: the features of row i are [x_indptr[i], x_indptr[i + 1]), its labels likewise. Features are
/// in ascending order, duplicates in their order in the text; labels are in ascending order, without duplicates.
struct LabelledRows {
  std::vector<std::int64_t> x_indptr;
  std::vector<std::int32_t> features;
  std::vector<Real> values;
  std::vector<std::int64_t> y_indptr;
  std::vector<std::int32_t> labels;
  std::int64_t n_features = 0;  // from the header; without one, the largest index plus 1
  std::int64_t n_labels = 0;
};

inline constexpr std::int64_t kMostColumns = std::int64_t{1} << 31;  // indices are int32

/// Indices must be below these.
struct LineLimits {
  std::int64_t n_features = kMostColumns;
  std::int64_t n_labels = kMostColumns;
};

/// Large enough that scheduling costs nothing, small enough that all threads have work.
inline constexpr std::size_t kTextChunk = std::size_t{1} << 21;

/// Parses `text` in chunks of about chunk_bytes; the result depends neither on them nor on the threads. Throws
/// InvalidInput, beginning with "line <number>: ", for the first invalid line. Besides the text, needs memory for the
/// result and one chunk.
LabelledRows parse_text(std::string_view text, std::size_t threads, std::size_t chunk_bytes = kTextChunk);

/// An invalid line, counted from 0.
struct BadLine {
  std::size_t line = 0;
  std::string what;
};

/// The examples of some lines, and the invalid lines.
struct ParsedLines {
  LabelledRows rows;
  std::vector<BadLine> bad;
};

/// Parses lines from the middle of a text: each line is an example, even an empty one. Text after a '#' is ignored.
ParsedLines parse_lines(std::string_view text, const LineLimits& limits);

}  // namespace oplt

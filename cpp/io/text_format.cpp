// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "io/text_format.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "io/decimal.hpp"
#include "io/text_line.hpp"

namespace oplt {

namespace {

/// The header line `N d m`: numbers of examples, features and labels.
struct SizeHeader {
  std::size_t line = 0;  // its line number, from 1
  std::array<std::uint64_t, 3> sizes{};
};

/// Comments and the header, which precede the examples.
struct Preamble {
  std::size_t bytes = 0;
  std::size_t n_lines = 0;
  std::optional<SizeHeader> header;
  LineLimits limits;
};

/// A part of the text that consists of whole lines.
struct Chunk {
  std::string_view text;
  LabelledRows rows;
  std::size_t n_lines = 0;
  std::string error;  // what is wrong with the last line read; empty if nothing is
};

[[noreturn]] void fail(std::size_t line, const std::string& what) {
  throw InvalidInput("line " + std::to_string(line), what);
}

/// Removes the first line from the text and returns it without its line ending.
std::string_view take_line(std::string_view& text) {
  const std::size_t size = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

std::string_view without_blanks(std::string_view text) {
  return {std::find_if_not(text.begin(), text.end(), is_blank), text.end()};
}

bool is_comment(std::string_view line) { return without_blanks(line).starts_with('#'); }

std::string_view without_comment(std::string_view line) { return line.substr(0, line.find('#')); }

/// A header consists of exactly three integers; any other line is an example.
std::optional<SizeHeader> read_header(std::string_view line, std::size_t number) {
  SizeHeader header{.line = number};
  std::string_view rest = line;
  bool too_long = false;
  for (std::uint64_t& size : header.sizes) {
    rest = without_blanks(rest);
    const char* const end = read_digits(rest.data(), rest.data() + rest.size(), size);
    const auto n_digits = static_cast<std::size_t>(end - rest.data());
    if (n_digits == 0) {
      return std::nullopt;
    }
    too_long = too_long || n_digits > 18;
    rest.remove_prefix(n_digits);
  }
  if (!without_blanks(rest).empty()) {
    return std::nullopt;
  }
  if (too_long || std::max(header.sizes[1], header.sizes[2]) > kMostColumns) {
    fail(number, "the header " + quoted(line) + " is too large: there can be " + std::to_string(kMostColumns) +
                     " features and as many labels at most");
  }
  return header;
}

/// The header may come after comments.
Preamble read_preamble(std::string_view text) {
  std::string_view rest = text;
  std::string_view line = take_line(rest);
  std::size_t number = 1;
  while (is_comment(line) && !rest.empty()) {
    line = take_line(rest);
    ++number;
  }
  const auto header = read_header(without_comment(line), number);
  if (!header) {
    return {};
  }
  return {.bytes = text.size() - rest.size(),
          .n_lines = number,
          .header = header,
          .limits = {static_cast<std::int64_t>(header->sizes[1]), static_cast<std::int64_t>(header->sizes[2])}};
}

std::vector<Chunk> split(std::string_view text, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n', std::max<std::size_t>(chunk_bytes, 1) - 1);
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    chunks.emplace_back().text = text.substr(0, size);
    text.remove_prefix(size);
  }
  return chunks;
}

/// Stops at the first invalid line.
void parse(Chunk& chunk, const LineLimits& limits) {
  const std::size_t n_pairs = chunk.text.size() / 4 + 1;  // an upper bound; untouched memory costs nothing
  chunk.rows.features.reserve(n_pairs);
  chunk.rows.values.reserve(n_pairs);
  chunk.rows.x_indptr.push_back(0);
  chunk.rows.y_indptr.push_back(0);
  const bool has_comments = chunk.text.find('#') != std::string_view::npos;
  try {
    for (std::string_view text = chunk.text; !text.empty();) {
      ++chunk.n_lines;
      const std::string_view line = take_line(text);
      if (!has_comments) {
        parse_line(line, limits, chunk.rows);
      } else if (!is_comment(line)) {
        parse_line(without_comment(line), limits, chunk.rows);
      }
    }
  } catch (const InvalidInput& error) {
    chunk.error = error.what();
  }
}

/// Parses all chunks up to the first error; later chunks may be skipped.
void parse_all(std::vector<Chunk>& chunks, const LineLimits& limits, std::size_t threads) {
  std::atomic<std::size_t> first_bad{chunks.size()};
  parallel_for(chunks.size(), threads, [&](std::size_t i, std::size_t) {
    if (i > first_bad.load()) {
      return;
    }
    parse(chunks[i], limits);
    std::size_t known = first_bad.load();
    while (!chunks[i].error.empty() && i < known && !first_bad.compare_exchange_weak(known, i)) {
    }
  });
}

void throw_first_error(const std::vector<Chunk>& chunks, std::size_t line) {
  for (const Chunk& chunk : chunks) {
    line += chunk.n_lines;
    if (!chunk.error.empty()) {
      fail(line, chunk.error);
    }
  }
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

/// Appends the row pointers of a part, which begin with 0.
void append_shifted(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& part) {
  const std::int64_t shift = all.back();
  std::transform(part.begin() + 1, part.end(), std::back_inserter(all), [&](std::int64_t end) { return shift + end; });
}

/// Returns empty rows, with capacity for those of all chunks.
LabelledRows make_room(const std::vector<Chunk>& chunks) {
  std::size_t n_rows = 0;
  std::size_t n_pairs = 0;
  std::size_t n_labels = 0;
  for (const Chunk& chunk : chunks) {
    n_rows += chunk.rows.x_indptr.size() - 1;
    n_pairs += chunk.rows.features.size();
    n_labels += chunk.rows.labels.size();
  }
  LabelledRows rows;
  rows.x_indptr.reserve(n_rows + 1);
  rows.y_indptr.reserve(n_rows + 1);
  rows.features.reserve(n_pairs);
  rows.values.reserve(n_pairs);
  rows.labels.reserve(n_labels);
  rows.x_indptr.push_back(0);
  rows.y_indptr.push_back(0);
  return rows;
}

/// Concatenates the chunks. Frees each one as soon as it is copied, so that the data is never in memory twice.
LabelledRows join(std::vector<Chunk> chunks) {
  LabelledRows all = make_room(chunks);
  for (Chunk& chunk : chunks) {
    const LabelledRows part = std::exchange(chunk.rows, {});
    append_shifted(all.x_indptr, part.x_indptr);
    append_shifted(all.y_indptr, part.y_indptr);
    append(all.features, part.features);
    append(all.values, part.values);
    append(all.labels, part.labels);
    all.n_features = std::max(all.n_features, part.n_features);
    all.n_labels = std::max(all.n_labels, part.n_labels);
  }
  return all;
}

/// Drops empty lines at the end of the text, unless the header counts them as examples.
void settle_size(LabelledRows& rows, const std::optional<SizeHeader>& header) {
  std::size_t n_rows = rows.x_indptr.size() - 1;
  const auto is_empty = [&](std::size_t row) {
    return rows.x_indptr[row] == rows.x_indptr[row + 1] && rows.y_indptr[row] == rows.y_indptr[row + 1];
  };
  const std::size_t n_wanted = header ? header->sizes[0] : 0;
  while (n_rows > n_wanted && is_empty(n_rows - 1)) {
    --n_rows;
  }
  if (header && n_rows != n_wanted) {
    fail(header->line,
         "the header says " + std::to_string(n_wanted) + " examples, but " + std::to_string(n_rows) + " follow");
  }
  if (!header && n_rows == 0) {
    fail(1, "there is no example");
  }
  rows.x_indptr.resize(n_rows + 1);
  rows.y_indptr.resize(n_rows + 1);
  if (header) {
    rows.n_features = static_cast<std::int64_t>(header->sizes[1]);
    rows.n_labels = static_cast<std::int64_t>(header->sizes[2]);
  }
}

/// Removes the partial row of an invalid line.
void drop_unfinished_row(LabelledRows& rows) {
  rows.features.resize(static_cast<std::size_t>(rows.x_indptr.back()));
  rows.values.resize(rows.features.size());
  rows.labels.resize(static_cast<std::size_t>(rows.y_indptr.back()));
}

}  // namespace

LabelledRows parse_text(std::string_view text, std::size_t threads, std::size_t chunk_bytes) {
  const Preamble preamble = read_preamble(text);
  std::vector<Chunk> chunks = split(text.substr(preamble.bytes), chunk_bytes);
  parse_all(chunks, preamble.limits, threads);
  throw_first_error(chunks, preamble.n_lines);
  LabelledRows rows = join(std::move(chunks));
  settle_size(rows, preamble.header);
  return rows;
}

ParsedLines parse_lines(std::string_view text, const LineLimits& limits) {
  ParsedLines parsed;
  parsed.rows.x_indptr.push_back(0);
  parsed.rows.y_indptr.push_back(0);
  for (std::size_t number = 0; !text.empty(); ++number) {
    const std::string_view line = without_comment(take_line(text));
    try {
      parse_line(line, limits, parsed.rows);
    } catch (const InvalidInput& error) {
      drop_unfinished_row(parsed.rows);
      parsed.bad.push_back({number, error.what()});
    }
  }
  return parsed;
}

}  // namespace oplt

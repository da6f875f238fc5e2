// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "io/text_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "io/decimal.hpp"

namespace oplt {

namespace {

/// Reads an index at p and returns its end; nullptr unless there are digits and the index is below the limit.
const char* read_index(const char* p, const char* end, std::int64_t limit, std::int32_t& index) {
  std::uint64_t number = 0;
  const char* const digits_end = read_digits(p, end, number);
  const std::ptrdiff_t n_digits = digits_end - p;
  if (n_digits == 0 || n_digits > 19 || number >= static_cast<std::uint64_t>(limit)) {  // 19 digits cannot overflow
    return nullptr;
  }
  index = static_cast<std::int32_t>(number);
  return digits_end;
}

/// Reads a label in one of LIBSVM's forms, such as `+1` or `1.0`. Slow, used only for labels that are not plain digits.
bool read_decorated(std::string_view text, std::int64_t limit, std::int32_t& label) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  return fraction.find_first_not_of('0') == std::string_view::npos &&
         read_index(text.data(), text.data() + point, limit, label) == text.data() + point;
}

const char* find_blank(const char* p, const char* end) { return std::find_if(p, end, is_blank); }

/// Throws InvalidInput, saying why the text is not a valid index. `what` begins the message, such as "label '…'".
[[noreturn]] void fail_index(const std::string& what, std::string_view index, std::int64_t limit) {
  if (index.empty() || !std::all_of(index.begin(), index.end(), is_digit)) {
    throw InvalidInput(what + " is not a non-negative integer");
  }
  throw InvalidInput(what + " is too large: the largest allowed is " + std::to_string(limit - 1) +
                     (limit < kMostColumns ? ", as the header says" : ""));
}

[[noreturn]] void fail_label(std::string_view label, std::string_view field, std::int64_t limit) {
  if (label.empty()) {
    throw InvalidInput("the labels " + quoted(field) + " have a superfluous comma");
  }
  fail_index("label " + quoted(label), label, limit);
}

[[noreturn]] void fail_feature(std::string_view pair, std::int64_t limit) {
  const std::string what = "feature " + quoted(pair);
  const std::size_t colon = pair.find(':');
  if (colon == std::string_view::npos) {
    throw InvalidInput(what + " has no ':': a feature must be written as index:value");
  }
  if (colon + 1 == pair.size()) {
    throw InvalidInput(what + " has no value");
  }
  const std::string_view index = pair.substr(0, colon);
  std::int32_t ignored = 0;
  if (read_index(index.data(), index.data() + colon, limit, ignored) != index.data() + colon) {
    fail_index(what + ": its index", index, limit);
  }
  throw InvalidInput(what + ": its value is not a finite decimal number within the range of float32");
}

/// Appends the labels of the label field, ascending and distinct.
void parse_labels(std::string_view field, std::int64_t limit, std::vector<std::int32_t>& labels) {
  const auto n_before = static_cast<std::ptrdiff_t>(labels.size());
  const char* const end = field.data() + field.size();
  for (const char* p = field.data();; ++p) {
    std::int32_t label = 0;
    const char* const label_end = std::find(p, end, ',');
    if (read_index(p, label_end, limit, label) != label_end && !read_decorated({p, label_end}, limit, label)) {
      fail_label({p, label_end}, field, limit);
    }
    labels.push_back(label);
    if ((p = label_end) == end) {
      break;
    }
  }
  const auto begin = labels.begin() + n_before;
  if (std::adjacent_find(begin, labels.end(), std::greater_equal<>()) != labels.end()) {
    std::sort(begin, labels.end());
    labels.erase(std::unique(begin, labels.end()), labels.end());
  }
}

/// Sorts the features from position `begin` on; duplicates stay in order.
void sort_features(LabelledRows& rows, std::size_t begin) {
  std::vector<std::pair<std::int32_t, Real>> pairs;
  for (std::size_t i = begin; i < rows.features.size(); ++i) {
    pairs.emplace_back(rows.features[i], rows.values[i]);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::tie(rows.features[begin + i], rows.values[begin + i]) = pairs[i];
  }
}

/// Appends the features of a sequence of blanks and `f:v`, ascending.
void parse_features(const char* p, const char* end, std::int64_t limit, LabelledRows& rows) {
  const std::size_t begin = rows.features.size();
  std::int32_t last = 0;
  bool sorted = true;
  for (;;) {
    while (p != end && is_blank(*p)) {
      ++p;
    }
    if (p == end) {
      break;
    }
    std::int32_t feature = 0;
    Real value = 0;
    const char* q = read_index(p, end, limit, feature);
    q = q != nullptr && q != end && *q == ':' ? read_real(q + 1, end, value) : nullptr;
    if (q == nullptr || (q != end && !is_blank(*q)) || !std::isfinite(value)) {
      fail_feature({p, find_blank(p, end)}, limit);
    }
    rows.features.push_back(feature);
    rows.values.push_back(value);
    sorted = sorted && last <= feature;
    last = feature;
    p = q;
  }
  if (!sorted) {
    sort_features(rows, begin);
  }
}

/// Indices of a row are ascending, so its last one is its largest.
void end_row(const std::vector<std::int32_t>& indices, std::vector<std::int64_t>& indptr, std::int64_t& n_columns) {
  const auto n_now = static_cast<std::int64_t>(indices.size());
  if (n_now > indptr.back()) {
    n_columns = std::max<std::int64_t>(n_columns, std::int64_t{indices.back()} + 1);
  }
  indptr.push_back(n_now);
}

}  // namespace

void parse_line(std::string_view line, const LineLimits& limits, LabelledRows& rows) {
  const char* p = line.data();
  const char* const end = p + line.size();
  const char* const field_end = find_blank(p, end);
  if (field_end != p && std::find(p, field_end, ':') == field_end) {
    parse_labels({p, field_end}, limits.n_labels, rows.labels);
    p = field_end;
  }
  parse_features(p, end, limits.n_features, rows);
  end_row(rows.features, rows.x_indptr, rows.n_features);
  end_row(rows.labels, rows.y_indptr, rows.n_labels);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown = "'";
  for (const char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      shown += {'\\', 'x', kHex[byte / 16], kHex[byte % 16]};
    }
  }
  return shown + (text.size() > kMost ? "...'" : "'");
}

}  // namespace oplt

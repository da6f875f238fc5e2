// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "convert.hpp"
#include "io/text_format.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Features = std::tuple<NumpyArray<Real>, NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;
using Labels = std::tuple<NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;
using Shape = std::pair<std::int64_t, std::int64_t>;

using BadLines = std::vector<std::pair<std::size_t, std::string>>;

std::string_view as_text(const Array<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::tuple<Features, Labels, Shape> to_python(LabelledRows rows) {
  return {{to_numpy(std::move(rows.values)), to_numpy(std::move(rows.features)), to_numpy(std::move(rows.x_indptr))},
          {to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.y_indptr))},
          {rows.n_features, rows.n_labels}};
}

std::tuple<Features, Labels, Shape> parse_text(const Array<std::uint8_t>& text, std::size_t threads,
                                               std::size_t chunk_bytes) {
  return to_python([&] {
    const nb::gil_scoped_release release;
    return oplt::parse_text(as_text(text), threads, chunk_bytes);
  }());
}

std::tuple<Features, Labels, Shape, BadLines> parse_lines(const Array<std::uint8_t>& text, std::int64_t n_features,
                                                          std::int64_t n_labels) {
  ParsedLines parsed = [&] {
    const nb::gil_scoped_release release;
    return oplt::parse_lines(as_text(text), {.n_features = n_features, .n_labels = n_labels});
  }();
  BadLines bad;
  for (BadLine& line : parsed.bad) {
    bad.emplace_back(line.line, std::move(line.what));
  }
  return std::tuple_cat(to_python(std::move(parsed.rows)), std::make_tuple(std::move(bad)));
}

}  // namespace

void bind_datasets(nb::module_& m) {
  m.def("parse_text", &parse_text, "text"_a, "threads"_a, "chunk_bytes"_a = kTextChunk,
        "(values, features, indptr), (labels, indptr), (n_features, n_labels) of the text of `load_xmlc`.");
  m.def("parse_lines", &parse_lines, "text"_a, "n_features"_a = kMostColumns, "n_labels"_a = kMostColumns,
        "The same of lines without a header, and (line from 0, what is wrong) of those that are no example.");
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "convert.hpp"
#include "oplt/text_format.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Features = std::tuple<NumpyArray<Real>, NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;
using Labels = std::tuple<NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;
using Shape = std::pair<std::int64_t, std::int64_t>;

std::tuple<Features, Labels, Shape> parse_text(const Array<std::uint8_t>& text, std::size_t threads,
                                               std::size_t chunk_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(text.data()), text.size());
  LabelledRows rows = [&] {
    const nb::gil_scoped_release release;
    return oplt::parse_text(bytes, threads, chunk_bytes);
  }();
  return {{to_numpy(std::move(rows.values)), to_numpy(std::move(rows.features)), to_numpy(std::move(rows.x_indptr))},
          {to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.y_indptr))},
          {rows.n_features, rows.n_labels}};
}

}  // namespace

void bind_datasets(nb::module_& m) {
  m.def("parse_text", &parse_text, "text"_a, "threads"_a, "chunk_bytes"_a = kTextChunk,
        "(values, features, indptr), (labels, indptr), (n_features, n_labels) of the text of `load_xmlc`.");
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The trained state, and model files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "io/array_file.hpp"
#include "locked_text.hpp"
#include "mapped_file.hpp"
#include "model/model_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Ids = Array<std::uint32_t>;
using NameObjects = nb::typed<nb::list, nb::any>;
using PredictionArrays = std::tuple<NumpyArray<std::int64_t>, NumpyArray<LabelId>, NumpyArray<Real>>;
using CellArrays = std::tuple<NumpyArray<FeatureId>, NumpyArray<Real>, NumpyArray<Real>>;
using Write = nb::typed<nb::callable, nb::object(nb::bytes)>;

ArrayReader* map_file(int file) {
#ifdef OPLT_CAN_MAP
  errno = 0;
  const FileBytes mapped = without_gil([&] { return mapped_bytes(file); });
  if (mapped.owner != nullptr || errno == 0) {  // an empty file cannot be mapped; the reader reports it as truncated
    return new ArrayReader(mapped.bytes, mapped.owner);
  }
  PyErr_SetFromErrno(PyExc_OSError);
  throw nb::python_error();
#else
  throw InvalidInput("this system cannot map file " + std::to_string(file));
#endif
}

nb::bytes array_bytes(const ArrayReader& file, std::string_view name) {
  const auto bytes = file.get<std::byte>(name);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::typed<nb::dict, nb::str, nb::int_> array_sizes(const ArrayReader& file) {
  nb::typed<nb::dict, nb::str, nb::int_> sizes;
  for (const auto& [name, value_bytes, offset, n_bytes, checksum] : file.entries()) {
    const auto length = static_cast<Py_ssize_t>(name.size());
    sizes[nb::steal(PyUnicode_DecodeUTF8(name.data(), length, "replace"))] = n_bytes;  // may be crafted: any bytes
  }
  return sizes;
}

template <class Content>
ArrayReader* copy_file(const Content& content) {
  const FileBytes copied = copied_bytes({static_cast<const std::byte*>(content.data()), content.size()});
  return new ArrayReader(copied.bytes, copied.owner);
}

void bind_file(nb::module_& m) {
  m.attr("FORMAT_VERSION") = kFormatVersion;
#ifdef OPLT_CAN_MAP
  m.attr("CAN_MAP") = true;
#else
  m.attr("CAN_MAP") = false;
#endif
  nb::class_<ArrayReader>(m, "ModelFile")
      .def_static("map", &map_file, "file"_a, nb::rv_policy::take_ownership, "The file of this descriptor.")
      .def_static("copy", &copy_file<nb::bytes>, "content"_a, nb::rv_policy::take_ownership)
      .def_static("copy", &copy_file<nb::bytearray>, "content"_a, nb::rv_policy::take_ownership)
      .def("verify", [](const ArrayReader& file) { without_gil([&] { file.verify(); }); })
      .def("sizes", &array_sizes, "The bytes of each array, by name.")
      .def("array", &array_bytes, "name"_a, "An array of bytes.");
}

/// The ids `allowed` and `denied` are those of labels that the state knows.
PredictionArrays predict(const ModelState& state, nb::handle x, SearchParams params, std::size_t threads,
                         const std::optional<Ids>& allowed, const std::optional<Ids>& denied) {
  const PythonInputs inputs(x);
  const std::function<void()> poll = poll_of_this_thread();
  Predictions found = without_gil([&] {
    std::optional<LabelFilter> filter;
    if (allowed || denied) {
      filter.emplace(state.filter(allowed ? std::optional(view(*allowed)) : std::nullopt,
                                  denied ? view(*denied) : std::span<const LabelId>()));
      params.filter = &*filter;
    }
    return state.predict(inputs.view(), params, threads, poll);
  });
  return {to_numpy(std::move(found.indptr)), to_numpy(std::move(found.labels)),
          to_numpy(std::move(found.probabilities))};
}

/// Holds the GIL only during calls of `write`, so that other threads continue while a large model is saved.
/// Returns the checksum of the table of contents.
nb::bytes save(const ModelState& state, const nb::bytes& settings, const Write& write) {
  const std::span<const std::byte> encoded(static_cast<const std::byte*>(settings.data()), settings.size());
  const Checksum::Value checksum = without_gil([&] {
    ArrayWriter writer([&](std::span<const std::byte> bytes) {
      const nb::gil_scoped_acquire acquire;
      write(nb::bytes(bytes.data(), bytes.size()));
    });
    writer.put("settings", encoded);
    state.save(writer);
    return writer.finish();
  });
  return nb::bytes(checksum.data(), sizeof(checksum));
}

/// The same checksum, without writing anything.
nb::bytes checksum(const ModelState& state, const nb::bytes& settings) {
  const std::span<const std::byte> encoded(static_cast<const std::byte*>(settings.data()), settings.size());
  const Checksum::Value value = without_gil([&] {
    ArrayWriter writer([](std::span<const std::byte>) {});
    writer.put("settings", encoded);
    state.save(writer);
    return writer.finish();
  });
  return nb::bytes(value.data(), sizeof(value));
}

ModelState load(const ArrayReader& file, const StateParams& params, bool verify) {
  return without_gil([&] {
    ModelState state = ModelState::load(file, params);
    if (verify) {
      state.check();
    }
    return state;
  });
}

const Plt& tree_of(const ModelState& state, std::size_t number) {
  if (number >= state.forest.trees.size()) {
    throw InvalidInput("the model has no tree " + std::to_string(number));
  }
  return state.forest.trees[number];
}

std::pair<NumpyArray<NodeId>, NumpyArray<LabelId>> tree(const ModelState& state, std::size_t number) {
  const LabelTree& tree = tree_of(state, number).tree();
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  for (NodeId v = 0; v < tree.n_nodes(); ++v) {
    parents.push_back(tree.node(v).parent);
    labels.push_back(tree.node(v).label);
  }
  return {to_numpy(std::move(parents)), to_numpy(std::move(labels))};
}

CellArrays to_arrays(const std::vector<Cell>& cells) {
  std::vector<FeatureId> features;
  std::vector<Real> weights;
  std::vector<Real> accumulators;
  for (const Cell& cell : cells) {
    features.push_back(cell.feature);
    weights.push_back(cell.weight);
    accumulators.push_back(cell.accumulator);
  }
  return {to_numpy(std::move(features)), to_numpy(std::move(weights)), to_numpy(std::move(accumulators))};
}

/// The non-zero cells of a node's classifier as (feature ids, weights, accumulators); None if it has no such
/// classifier.
std::optional<CellArrays> classifier(const ModelState& state, NodeId node, bool auxiliary, std::size_t number) {
  const Plt& plt = tree_of(state, number);
  if (node >= plt.n_nodes()) {
    throw InvalidInput("the tree has no node " + std::to_string(node));
  }
  const auto cells =
      without_gil([&] { return auxiliary ? plt.auxiliary_classifier(node) : std::optional(plt.classifier(node)); });
  return cells ? std::optional(to_arrays(*cells)) : std::nullopt;
}

LockedTextFeatures* text_features(const ModelState& state) {
  const TextFeatures* text = state.encoder->text_features();
  return text == nullptr ? nullptr : new LockedTextFeatures(*text);
}

}  // namespace

void bind_state(nb::module_& m) {
  bind_file(m);
  nb::class_<ModelState> state(m, "ModelState");
  bind_labels(state);
  state.def_static("load", &load, "file"_a, "params"_a, "verify"_a)
      .def("predict", &predict, "x"_a, "params"_a, "threads"_a, "allowed"_a.none() = nb::none(),
           "denied"_a.none() = nb::none())
      .def("save", &save, "settings"_a, "write"_a)
      .def("checksum", &checksum, "settings"_a)
      .def(
          "for_prediction",
          [](const ModelState& state, Real prune, bool half) {
            return without_gil([&] { return state.for_prediction(prune, half); });
          },
          "prune"_a, "half"_a)
      .def("text_features", &text_features, nb::rv_policy::take_ownership, "A copy of them, or None.",
           nb::sig("def text_features(self) -> TextFeatures | None"))
      .def("tree", &tree, "number"_a = 0, "Parents and label ids of the nodes; NONE for none.")
      .def("classifier", &classifier, "node"_a, nb::kw_only(), "auxiliary"_a = false, "tree"_a = 0)
      .def(
          "known_features",
          [](const ModelState& state, nb::handle names) { return known_features(state, PythonNames(names)); },
          "names"_a, "Which of these names are features.")
      .def("feature_kinds", &feature_kinds, "begin"_a, "As of OnlineModel.")
      .def_prop_ro("n_examples", &ModelState::n_examples)
      .def_prop_ro("closed_at", [](const ModelState& state) { return state.closed_at; })
      .def_prop_ro("n_in_history", [](const ModelState& state) { return state.history->size(); })
      .def_prop_ro("n_updates", [](const ModelState& state) { return state.forest.n_updates(); })
      .def_prop_ro("n_cells",
                   [](const ModelState& state) { return without_gil([&] { return state.forest.n_cells(); }); })
      .def_prop_ro("n_labels", [](const ModelState& state) { return state.labels->n_present(); })
      .def_prop_ro("is_repeating", &ModelState::is_repeating)
      .def_prop_ro("depth", [](const ModelState& state) { return state.forest.depth(); })
      .def_prop_ro("n_features", [](const ModelState& state) { return state.encoder->n_features(); });
}

}  // namespace oplt::bindings

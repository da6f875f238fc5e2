// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "tree/label_clustering.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Indptr = Array<std::int64_t>;
using NameObjects = nb::typed<nb::list, nb::any>;

std::tuple<NumpyArray<NodeId>, NumpyArray<LabelId>, NameObjects> cluster_labels(
    const Indptr& x_indptr, nb::handle x_names, const Array<Real>& x_values, const Indptr& y_indptr, nb::handle y_names,
    std::uint32_t arity, std::uint32_t max_leaves, std::uint64_t seed, std::size_t threads) {
  const PythonNames features(x_names);
  const PythonNames labels(y_names);
  const NamedRows x{{view(x_indptr)}, features.list(), view(x_values)};
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  NamedTree tree =
      without_gil([&] { return oplt::cluster_labels(x, y, {arity, max_leaves}, seed, threads, raise_if_interrupted); });
  nb::list names;
  for (LabelId label = 0; label < tree.labels.size(); ++label) {
    names.append(from_name(tree.labels.name(label)));
  }
  return {to_numpy(std::move(tree.nodes.parents)), to_numpy(std::move(tree.nodes.labels)), NameObjects(names)};
}

std::tuple<NumpyArray<NodeId>, NumpyArray<LabelId>> shuffled_tree(std::uint32_t n_labels, std::uint32_t arity,
                                                                  std::uint32_t max_leaves, std::uint64_t seed) {
  TreeNodes nodes = oplt::shuffled_tree(n_labels, {arity, max_leaves}, seed);
  return {to_numpy(std::move(nodes.parents)), to_numpy(std::move(nodes.labels))};
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("cluster_labels", &cluster_labels, "x_indptr"_a, "x_names"_a, "x_values"_a, "y_indptr"_a, "y_names"_a,
        nb::kw_only(), "arity"_a, "max_leaves"_a, "seed"_a, "threads"_a,
        "Parents and label ids of the nodes, NONE for none, and the names of the labels.");
  m.def("shuffled_tree", &shuffled_tree, "n_labels"_a, nb::kw_only(), "arity"_a, "max_leaves"_a, "seed"_a,
        "Parents and label ids of the nodes, NONE for none.");
}

}  // namespace oplt::bindings

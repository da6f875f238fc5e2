// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Inspection of models.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "model/model_state.hpp"
#include "model/online_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using MemoryParts = nb::typed<nb::dict, nb::str, nb::int_>;
using TreeArrays = std::tuple<std::uint32_t, NumpyArray<std::uint32_t>, NumpyArray<std::uint64_t>, std::uint64_t>;

/// `Model` is ModelState or OnlineModel.
template <class Model>
MemoryParts memory_parts(const Model& model) {
  const MemoryUse use = without_gil([&] { return model.memory_use(); });
  MemoryParts parts;
  parts["trees"] = use.trees;
  parts["label_memory"] = use.label_memory;
  parts["history"] = use.history;
  parts["label_names"] = use.label_names;
  parts["features"] = use.features;
  parts["regrowth"] = use.regrowth;
  return parts;
}

/// The sizes of one tree, for tree_sizes().
struct TreeSizes {
  std::uint32_t depth;
  std::vector<std::uint32_t> n_labels;  // by node
  std::vector<std::uint64_t> n_cells;   // by node
  std::uint64_t n_cells_in_all;
};

TreeSizes sizes_of(const Plt& plt) {
  TreeSizes sizes{plt.depth(), {}, {}, plt.n_cells()};
  for (NodeId v = 0; v < plt.n_nodes(); ++v) {
    sizes.n_labels.push_back(plt.tree().node(v).n_leaves);
    sizes.n_cells.push_back(plt.n_cells_of(v));
  }
  return sizes;
}

std::vector<TreeArrays> tree_sizes(const ModelState& state) {
  std::vector<TreeSizes> trees;
  without_gil([&] { std::ranges::transform(state.forest.trees, std::back_inserter(trees), sizes_of); });
  std::vector<TreeArrays> arrays;
  for (TreeSizes& tree : trees) {
    arrays.emplace_back(tree.depth, to_numpy(std::move(tree.n_labels)), to_numpy(std::move(tree.n_cells)),
                        tree.n_cells_in_all);
  }
  return arrays;
}

}  // namespace

void bind_inspection(nb::module_& m) {
  m.def("memory_parts", &memory_parts<ModelState>, "state"_a, "Bytes by part.");
  m.def("memory_parts", &memory_parts<OnlineModel>, "model"_a, "The same, with a regrowth in progress.");
  m.def("tree_sizes", &tree_sizes, "state"_a,
        "Of each tree: depth; by node, the labels under it and the weights of its children; number of all weights.");
}

}  // namespace oplt::bindings

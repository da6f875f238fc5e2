// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "locked_text.hpp"
#include "model/model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Indptr = Array<std::int64_t>;
using Values = Array<Real>;
using Ids = Array<std::uint32_t>;
using NameObjects = nb::typed<nb::list, nb::any>;
using TextObjects = nb::typed<nb::list, nb::str>;
using PredictionArrays = std::tuple<NumpyArray<std::int64_t>, NumpyArray<LabelId>, NumpyArray<Real>, std::uint64_t>;
using CellArrays = std::tuple<NumpyArray<FeatureId>, NumpyArray<Real>, NumpyArray<Real>>;

std::span<const Real> view_or_empty(const std::optional<Values>& weights) {
  return weights ? view(*weights) : std::span<const Real>{};
}

void learn_many(Model& model, const Indptr& x_indptr, nb::handle x_names, const Values& x_values,
                const Indptr& y_indptr, nb::handle y_names, const std::optional<Values>& weights, std::size_t threads) {
  const PythonNames features(x_names);
  const PythonNames labels(y_names);
  const NamedRows x{{view(x_indptr)}, features.list(), view(x_values)};
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  without_gil([&] { model.learn_many(x, y, view_or_empty(weights), threads); });
}

void learn_texts(Model& model, const TextObjects& x, const Indptr& y_indptr, nb::handle y_names,
                 const std::optional<Values>& weights, std::size_t threads) {
  const PythonTexts texts(x);
  const PythonNames labels(y_names);
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  without_gil([&] { model.learn_texts(texts.view(), y, view_or_empty(weights), threads); });
}

void fit(Model& model, const Indptr& x_indptr, nb::handle x_names, const Values& x_values, const Indptr& y_indptr,
         nb::handle y_names, const std::optional<Values>& weights, const BatchParams& params, std::size_t threads) {
  const PythonNames features(x_names);
  const PythonNames labels(y_names);
  const NamedRows x{{view(x_indptr)}, features.list(), view(x_values)};
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  without_gil([&] { model.fit(x, y, view_or_empty(weights), params, threads, raise_if_interrupted); });
}

void fit_texts(Model& model, const TextObjects& x, const Indptr& y_indptr, nb::handle y_names,
               const std::optional<Values>& weights, const BatchParams& params, std::size_t threads) {
  const PythonTexts texts(x);
  const PythonNames labels(y_names);
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  without_gil([&] { model.fit_texts(texts.view(), y, view_or_empty(weights), params, threads, raise_if_interrupted); });
}

PredictionArrays to_arrays(Predictions found) {
  return {to_numpy(std::move(found.indptr)), to_numpy(std::move(found.labels)),
          to_numpy(std::move(found.probabilities)), found.n_examples};
}

PredictionArrays predict_many(const Model& model, const Indptr& indptr, nb::handle names, const Values& values,
                              const PredictParams& params) {
  const PythonNames features(names);
  return to_arrays(without_gil([&] {
    return model.predict_many({{view(indptr)}, features.list(), view(values)}, params, raise_if_interrupted);
  }));
}

PredictionArrays predict_texts(const Model& model, const TextObjects& x, const PredictParams& params) {
  const PythonTexts texts(x);
  return to_arrays(without_gil([&] { return model.predict_texts(texts.view(), params, raise_if_interrupted); }));
}

/// A copy: a model goes on by itself.
std::optional<TextFeatures> copied(const LockedTextFeatures* text) {
  return text == nullptr ? std::nullopt : std::optional(text->copy());
}

/// Runs without the GIL, but for the calls of `write`, so that other threads go on while a large model is saved.
void save(const Model& model, const nb::typed<nb::callable, nb::object(nb::bytes)>& write) {
  without_gil([&] {
    Writer writer([&](std::span<const std::byte> bytes) {
      const nb::gil_scoped_acquire acquire;
      write(nb::bytes(bytes.data(), bytes.size()));
    });
    model.save(writer);
  });
}

/// Calls read(forest, features, labels) without the GIL while nobody learns.
template <class Read>
auto inspect(const Model& model, Read read) {
  return without_gil([&] { return model.inspect(read); });
}

template <class Answer>
Answer ask(const Model& model, Answer (Forest::*question)() const) {
  return inspect(model,
                 [&](const Forest& forest, const Vocabulary&, const Vocabulary&) { return (forest.*question)(); });
}

/// Calls read(plt) for the tree of this number, from 0.
template <class Read>
auto inspect_tree(const Model& model, std::size_t number, Read read) {
  return inspect(model, [&](const Forest& forest, const Vocabulary&, const Vocabulary&) {
    if (number >= forest.trees().size()) {
      throw InvalidInput("the model has no tree " + std::to_string(number));
    }
    return read(forest.trees()[number]);
  });
}

std::pair<NumpyArray<NodeId>, NumpyArray<LabelId>> tree(const Model& model, std::size_t number) {
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  inspect_tree(model, number, [&](const OnlinePlt& plt) {
    for (NodeId v = 0; v < plt.tree().n_nodes(); ++v) {
      parents.push_back(plt.tree().node(v).parent);
      labels.push_back(plt.tree().node(v).label);
    }
  });
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

/// The touched cells of a node's classifier as (feature ids, weights, accumulators); None where there is none.
std::optional<CellArrays> classifier(const Model& model, NodeId node, bool auxiliary, std::size_t tree_number) {
  const auto cells = inspect_tree(model, tree_number, [&](const OnlinePlt& plt) {
    if (node >= plt.tree().n_nodes()) {
      throw InvalidInput("the tree has no node " + std::to_string(node));
    }
    return auxiliary ? plt.auxiliary_classifier(node) : std::optional(plt.classifier(node));
  });
  return cells ? std::optional(to_arrays(*cells)) : std::nullopt;
}

std::optional<std::pair<std::size_t, std::string>> first_bad_name(const NameObjects& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      to_name(names[i]);
    } catch (const InvalidInput& error) {
      return std::pair(i, error.what());
    }
  }
  return std::nullopt;
}

}  // namespace

void bind_model(nb::module_& m) {
  m.attr("NONE") = kNone;
  m.attr("LARGEST_VALUE") = kLargestValue;
  m.attr("LARGEST_WEIGHT") = kLargestWeight;
  m.def("first_bad_name", &first_bad_name, "names"_a,
        "The first element that cannot be a name, as (position, what it is), or None.");

  nb::class_<Model>(m, "Model")
      .def(
          "__init__",
          [](Model* self, const TrainParams& params, const LockedTextFeatures* text) {
            new (self) Model(params, copied(text));
          },
          "params"_a, "text"_a = nb::none())
      .def_static(
          "from_tree",
          [](const TrainParams& params, const Ids& parents, const Ids& labels, nb::handle names,
             const LockedTextFeatures* text) {
            return new Model(params, LabelTree(view(parents), view(labels)), PythonNames(names).list(), copied(text));
          },
          "params"_a, "parents"_a, "labels"_a, "names"_a, "text"_a = nb::none(), nb::rv_policy::take_ownership)
      .def_static(
          "load",
          [](const TrainParams& params, const Array<std::uint8_t>& saved, const std::optional<TextParams>& text) {
            return without_gil([&] { return new Model(params, std::as_bytes(view(saved)), text); });
          },
          "params"_a, "saved"_a, "text"_a = nb::none(), nb::rv_policy::take_ownership)
      .def("save", &save, "write"_a)
      .def("fit", &fit, "x_indptr"_a, "x_names"_a, "x_values"_a, "y_indptr"_a, "y_names"_a, "weights"_a.none(),
           "params"_a, "threads"_a)
      .def("learn_many", &learn_many, "x_indptr"_a, "x_names"_a, "x_values"_a, "y_indptr"_a, "y_names"_a,
           "weights"_a.none(), "threads"_a)
      .def("fit_texts", &fit_texts, "texts"_a, "y_indptr"_a, "y_names"_a, "weights"_a.none(), "params"_a, "threads"_a)
      .def("learn_texts", &learn_texts, "texts"_a, "y_indptr"_a, "y_names"_a, "weights"_a.none(), "threads"_a)
      .def("predict_texts", &predict_texts, "texts"_a, "params"_a)
      .def(
          "text_features",
          [](const Model& model) -> LockedTextFeatures* {
            auto text = without_gil([&] { return model.text_features(); });
            return text ? new LockedTextFeatures(*std::move(text)) : nullptr;
          },
          nb::rv_policy::take_ownership, "A copy of them, or None.",
          nb::sig("def text_features(self) -> TextFeatures | None"))
      .def("predict_many", &predict_many, "indptr"_a, "names"_a, "values"_a, "params"_a)
      .def("tree", &tree, "number"_a = 0, "Parents and label ids of the nodes; NONE for none.")
      .def("classifier", &classifier, "node"_a, nb::kw_only(), "auxiliary"_a = false, "tree"_a = 0)
      .def(
          "label_names", [](const Model& model, const Ids& ids) { return NameObjects(label_names(model, view(ids))); },
          "ids"_a)
      .def_prop_ro("n_examples", [](const Model& model) { return ask(model, &Forest::n_examples); })
      .def_prop_ro("n_updates", [](const Model& model) { return ask(model, &Forest::n_updates); })
      .def_prop_ro("n_cells", [](const Model& model) { return ask(model, &Forest::n_cells); })
      .def_prop_ro("n_labels", [](const Model& model) { return ask(model, &Forest::n_labels); })
      .def_prop_ro("depth", [](const Model& model) { return ask(model, &Forest::depth); })
      .def_prop_ro("n_features",
                   [](const Model& model) {
                     const nb::gil_scoped_release release;
                     return model.n_features();
                   })
      .def_prop_ro("memory_bytes", [](const Model& model) {
        const nb::gil_scoped_release release;
        return model.memory_use().total();
      });
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Online models, and batch training.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "locked_text.hpp"
#include "model/fit.hpp"
#include "model/online_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Indptr = Array<std::int64_t>;
using Values = Array<Real>;
using Ids = Array<std::uint32_t>;
using NameObjects = nb::typed<nb::list, nb::any>;

std::span<const Real> view_or_empty(const std::optional<Values>& weights) {
  return weights ? view(*weights) : std::span<const Real>{};
}

/// Copies the text features, so that the model is independent of the original.
Encoder encoder_for(const LockedTextFeatures* text) {
  return text == nullptr ? Encoder() : Encoder(TextFeatures(*text->snapshot()));
}

OnlineModel* start(const ModelParams& params, const LockedTextFeatures* text) {
  return new OnlineModel(params, Learner(params).start(encoder_for(text)));
}

OnlineModel* start_from_tree(const ModelParams& params, const Ids& parents, const Ids& labels, nb::handle names,
                             const LockedTextFeatures* text) {
  const PythonNames label_names(names);
  return new OnlineModel(
      params, Learner(params).start(encoder_for(text), LabelTree(view(parents), view(labels)), label_names.list()));
}

void learn(OnlineModel& model, nb::handle x, const Indptr& y_indptr, nb::handle y_names,
           const std::optional<Values>& weights, std::size_t threads) {
  const PythonInputs inputs(x);
  const PythonNames labels(y_names);
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  const std::function<void()> poll = poll_of_this_thread();
  without_gil([&] { model.learn(inputs.view(), y, view_or_empty(weights), threads, poll); });
}

ModelState fit(const BatchParams& params, bool normalize, const std::vector<std::pair<Ids, Ids>>& trees,
               nb::handle names, nb::handle x, const Indptr& y_indptr, nb::handle y_names,
               const std::optional<Values>& weights, const LockedTextFeatures* text, std::size_t threads) {
  const PythonInputs inputs(x);
  const PythonNames label_names(names);
  const PythonNames labels(y_names);
  const NamedLabels y{{view(y_indptr)}, labels.list()};
  const std::function<void()> poll = poll_of_this_thread();
  return without_gil([&] {
    FitStart start{.encoder = encoder_for(text), .trees = {}, .labels = label_names.list()};
    for (const auto& [parents, ids] : trees) {
      start.trees.emplace_back(view(parents), view(ids));
    }
    const RowParams rows{.bias = 1, .normalize = normalize};
    return oplt::fit(params, rows, std::move(start), inputs.view(), y, view_or_empty(weights), threads, poll);
  });
}

std::optional<std::pair<std::size_t, std::string>> first_bad_name(const NameObjects& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {  // to_name() may change the list
    const nb::object name = names[i];
    try {
      to_name(name);
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
  m.def("fit", &fit, "params"_a, "normalize"_a, "trees"_a, "names"_a, "x"_a, "y_indptr"_a, "y_names"_a,
        "weights"_a.none(), "text"_a.none(), "threads"_a, "Batch training on trees of (parents, label ids).");

  nb::class_<OnlineModel>(m, "OnlineModel", nb::is_weak_referenceable())
      .def(nb::init<const ModelParams&, ModelState>(), "params"_a, "state"_a)
      .def_static("start", &start, "params"_a, "text"_a.none(), nb::rv_policy::take_ownership)
      .def_static("start_from_tree", &start_from_tree, "params"_a, "parents"_a, "labels"_a, "names"_a, "text"_a.none(),
                  nb::rv_policy::take_ownership)
      .def("learn", &learn, "x"_a, "y_indptr"_a, "y_names"_a, "weights"_a.none(), "threads"_a)
      .def(
          "regrow",
          [](OnlineModel& model, std::size_t threads) {
            const std::function<void()> poll = poll_of_this_thread();
            without_gil([&] { model.regrow(threads, poll); });
          },
          "threads"_a)
      .def(
          "forget",
          [](OnlineModel& model, const Array<std::uint64_t>& numbers, std::size_t n_forgettings, std::size_t threads) {
            const std::function<void()> poll = poll_of_this_thread();
            without_gil([&] { model.forget(view(numbers), n_forgettings, threads, poll); });
          },
          "numbers"_a, "n_forgettings"_a, "threads"_a, "The numbers must ascend.")
      .def_prop_ro("n_forgettings", &OnlineModel::n_forgettings)
      .def(
          "close", [](OnlineModel& model) { without_gil([&] { model.close(); }); }, "Closes it. For tests.")
      .def("snapshot", [](const OnlineModel& model) { return without_gil([&] { return model.snapshot(); }); })
      .def(
          "known_labels",
          [](const OnlineModel& model, nb::handle names) {
            const PythonNames list(names);
            return without_gil(
                [&] { return model.read([&](const ModelState& state) { return known_labels(state, list); }); });
          },
          "names"_a, "For each name, whether it is a label.")
      .def(
          "labels_since",
          [](const OnlineModel& model, std::uint32_t begin, std::uint32_t most) {
            const auto [n_labels, names] = without_gil(
                [&] { return model.read([&](const ModelState& state) { return labels_since(state, begin, most); }); });
            nb::list found;
            for (const auto& [text, number] : names) {
              found.append(from_name({.text = text, .number = number}));
            }
            return std::pair(n_labels, NameObjects(found));
          },
          "begin"_a, "most"_a, "The number of labels, and the names from id `begin` on, at most `most` of them.")
      .def(
          "feature_kinds",
          [](const OnlineModel& model, std::uint32_t begin) {
            return without_gil(
                [&] { return model.read([&](const ModelState& state) { return feature_kinds(state, begin); }); });
          },
          "begin"_a,
          "The number of features; of those from an id on: are there strings, integers, the largest integer or -1.")
      .def("hold", [](OnlineModel& model) { without_gil([&] { model.hold(); }); })
      .def("release", &OnlineModel::release)
      .def("release_in_child", &OnlineModel::release_in_child);
}

}  // namespace oplt::bindings

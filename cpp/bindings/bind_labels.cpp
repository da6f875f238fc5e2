// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Labels: their names, counts and fates, and the operations on them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "model/model_state.hpp"
#include "model/online_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Kind = LabelOperation::Kind;
using Ids = Array<std::uint32_t>;
using NameObjects = nb::typed<nb::list, nb::any>;

/// By kind.
constexpr std::array kKinds{"add", "rename", "hide", "unhide", "remove", "merge"};

/// The id of a label; None if the model does not know it, or if the object cannot be the name of a label.
std::optional<LabelId> find_label(const ModelState& state, nb::handle label) {
  try {
    const LabelId id = state.labels->find(to_name(label));
    return id == kNone ? std::nullopt : std::optional(id);
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

std::vector<LabelId> find_labels(const ModelState& state, const NameList& names) {
  std::vector<LabelId> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const LabelId label = state.labels->find(names[i]); label != kNone) {
      found.push_back(label);
    }
  }
  return found;
}

NameObjects label_names(const ModelState& state, const Ids& ids) {
  nb::list names;
  for (const LabelId id : view(ids)) {
    names.append(from_name(state.labels->name(id)));
  }
  return NameObjects(names);
}

std::vector<LabelId> present_labels(const ModelState& state) {
  std::vector<LabelId> present;
  for (LabelId label = 0; label < state.labels->size(); ++label) {
    if (!state.labels->has_ended(label)) {
      present.push_back(label);
    }
  }
  return present;
}

using Counts = std::tuple<NumpyArray<std::uint64_t>, NumpyArray<std::uint64_t>, NumpyArray<std::uint64_t>>;

Counts label_counts(const ModelState& state, const Ids& ids) {
  std::array<std::vector<std::uint64_t>, 3> counts;
  for (const LabelId label : view(ids)) {
    const auto [n, first, last] = state.counts->of(label);
    counts[0].push_back(n);
    counts[1].push_back(first);
    counts[2].push_back(last);
  }
  return {to_numpy(std::move(counts[0])), to_numpy(std::move(counts[1])), to_numpy(std::move(counts[2]))};
}

std::vector<bool> hidden_labels(const ModelState& state, const Ids& ids) {
  std::vector<bool> hidden;
  for (const LabelId label : view(ids)) {
    hidden.push_back(state.labels->is_hidden(label));
  }
  return hidden;
}

std::vector<std::pair<LabelId, nb::any>> label_aliases(const ModelState& state) {
  std::vector<std::pair<LabelId, nb::any>> aliases;
  for (const auto& [label, name] : state.labels->aliases()) {
    aliases.emplace_back(label, nb::borrow<nb::any>(from_name(name)));
  }
  return aliases;
}

nb::object text_of(std::string_view text) {
  const auto size = static_cast<Py_ssize_t>(text.size());
  nb::object decoded = nb::steal(PyUnicode_DecodeUTF8(text.data(), size, "surrogatepass"));
  if (!decoded.is_valid()) {  // bytes of a crafted file
    PyErr_Clear();
    decoded = nb::steal(PyUnicode_DecodeUTF8(text.data(), size, "replace"));
  }
  return decoded;
}

/// As (kind, number of examples before it, label, other, text, features); None for what it does not have.
using OperationObject = nb::typed<nb::tuple, nb::str, nb::int_, nb::any, nb::any, nb::any, nb::any>;

OperationObject operation_object(const LabelOperation& operation) {
  nb::object text = nb::none();
  nb::object features = nb::none();
  if (operation.description && operation.description->text) {
    text = text_of(*operation.description->text);
  }
  if (operation.description && (!text.is_valid() || text.is_none() || !operation.description->names.empty())) {
    nb::dict values;
    for (std::size_t i = 0; i < operation.description->names.size(); ++i) {
      values[from_name(operation.description->names[i])] = operation.description->values[i];
    }
    features = values;
  }
  const bool has_other = operation.kind == Kind::kRename || operation.kind == Kind::kMerge;
  return OperationObject(nb::make_tuple(kKinds[static_cast<std::size_t>(operation.kind)], operation.n_examples,
                                        from_name(operation.label), has_other ? from_name(operation.other) : nb::none(),
                                        text, features));
}

nb::typed<nb::list, OperationObject> label_operations(const ModelState& state) {
  nb::list operations;
  const LabelLog& log = state.labels->log();
  for (std::size_t i = 0; i < log.size(); ++i) {
    operations.append(operation_object(log[i]));
  }
  return nb::typed<nb::list, OperationObject>(operations);
}

LabelDescription description_of(const Inputs& input) {
  LabelDescription description;
  if (input.texts) {
    description.text = input.texts->front();
  }
  const RowBounds& bounds = input.rows.bounds;
  if (bounds.n_rows() > 0) {
    for (std::size_t i = bounds.begin(0); i < bounds.end(0); ++i) {
      description.names.push_back(input.rows.names[i]);
      description.values.push_back(input.rows.values[i]);
    }
  }
  return description;
}

/// Each operation is a tuple (kind, label, other or None, description or None); a description has the form of an
/// example.
std::size_t change_labels(OnlineModel& model, const nb::typed<nb::list, nb::any>& operations) {
  std::vector<LabelOperation> parsed;
  std::deque<PythonInputs> descriptions;  // they own what the operations refer to, as the tuples do
  for (const nb::handle each : operations) {
    const auto parts = nb::cast<nb::tuple>(each);
    const auto kind = std::ranges::find(kKinds, nb::cast<std::string>(parts[0]));
    LabelOperation operation{.kind = Kind{static_cast<std::uint8_t>(kind - kKinds.begin())},
                             .label = to_name(parts[1])};
    if (!parts[2].is_none()) {
      operation.other = to_name(parts[2]);
    }
    if (!parts[3].is_none()) {
      operation.description = description_of(descriptions.emplace_back(nb::object(parts[3])).view());
    }
    parsed.push_back(std::move(operation));
  }
  return without_gil([&] { return model.change_labels(parsed); });
}

}  // namespace

void bind_labels(nb::class_<ModelState>& state) {
  state.def("find_label", &find_label, "label"_a.none())
      .def(
          "find_labels",
          [](const ModelState& of, nb::handle names) {
            const PythonNames list(names);
            return to_numpy(without_gil([&] { return find_labels(of, list.list()); }));
          },
          "names"_a, "The ids of those names that are labels.")
      .def("label_names", &label_names, "ids"_a)
      .def(
          "present_labels",
          [](const ModelState& of) { return to_numpy(without_gil([&] { return present_labels(of); })); },
          "The ids of all labels that have been neither removed nor merged, in order of arrival.")
      .def("label_counts", &label_counts, "ids"_a,
           "Of each label: number of its examples, and the numbers of the first and the last one.")
      .def("hidden_labels", &hidden_labels, "ids"_a, "Of each label, whether it is hidden.")
      .def("label_aliases", &label_aliases, "All further names, with the ids of their labels.")
      .def("label_operations", &label_operations);
}

void bind_label_operations(nb::module_& m) {
  m.def("change_labels", &change_labels, "model"_a, "operations"_a, "Returns how many have had an effect.");
}

}  // namespace oplt::bindings

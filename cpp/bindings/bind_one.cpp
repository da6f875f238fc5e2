// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The short way for one example in the most usual form: a dict of floats or ints, or a text, and a list of labels.
// Whatever is unusual or wrong is left to the long way through src/oplt/validation.py, which knows all forms and all
// errors.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "model/model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using LabelAndProbability = std::pair<nb::any, Real>;

/// The names and values of one example. The texts belong to the Python objects, which are held on to: while the call
/// waits for its turn, another thread may change the dict.
struct OneRow {
  nb::list keys;
  std::vector<Name> names;
  std::vector<Real> values;

  NamedRows view(const std::array<std::int64_t, 2>& bounds) const { return {{bounds}, {names, {}}, values}; }
  std::array<std::int64_t, 2> bounds() const { return {0, static_cast<std::int64_t>(names.size())}; }
};

std::optional<Name> usual_name(nb::handle object) {
  try {
    return to_name(object);
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

std::optional<Real> usual_value(nb::handle object) {
  double value = 0;
  if (PyFloat_Check(object.ptr())) {
    value = PyFloat_AsDouble(object.ptr());
  } else if (PyLong_Check(object.ptr())) {
    value = PyLong_AsDouble(object.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return std::nullopt;
    }
  } else {
    return std::nullopt;
  }
  const auto real = static_cast<Real>(value);
  return std::abs(real) <= kLargestValue ? std::optional(real) : std::nullopt;  // NaN is not
}

/// The text of an example of a model that takes texts. A lone surrogate is not usual.
std::optional<std::string_view> usual_text(nb::handle x) {
  if (!PyUnicode_Check(x.ptr())) {
    return std::nullopt;
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(x.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(text, static_cast<std::size_t>(size));
}

std::optional<OneRow> usual_row(nb::handle x) {
  if (!PyDict_Check(x.ptr())) {
    return std::nullopt;
  }
  const auto features = nb::borrow<nb::dict>(x);
  OneRow row{.keys = features.keys(), .names = {}, .values = {}};
  for (const auto [key, object] : features) {
    const std::optional<Name> name = usual_name(key);
    const std::optional<Real> value = usual_value(object);
    if (!name || !value) {
      return std::nullopt;
    }
    if (*value != 0) {
      row.names.push_back(*name);
      row.values.push_back(*value);
    }
  }
  return row;
}

/// Likewise the labels of one example.
struct OneLabelSet {
  nb::list labels;
  std::vector<Name> names;
};

std::optional<OneLabelSet> usual_labels(nb::handle labels) {
  OneLabelSet result;
  if (PyList_Check(labels.ptr())) {
    result.labels = nb::steal<nb::list>(PySequence_List(labels.ptr()));
  } else {
    result.labels.append(labels);
  }
  for (const nb::handle label : result.labels) {
    const std::optional<Name> name = usual_name(label);
    if (!name) {
      return std::nullopt;
    }
    result.names.push_back(*name);
  }
  return result;
}

/// False if the example has not the usual form; then nothing has happened.
bool learn_one(Model& model, nb::handle x, nb::handle labels, nb::handle weight) {
  const std::optional<std::string_view> text = model.takes_texts() ? usual_text(x) : std::nullopt;
  const std::optional<OneRow> row = model.takes_texts() ? std::nullopt : usual_row(x);
  const std::optional<OneLabelSet> label_set = usual_labels(labels);
  const std::optional<Real> checked_weight = usual_value(weight);
  if (!(row || text) || !label_set || !checked_weight || !(*checked_weight > 0 && *checked_weight <= kLargestWeight)) {
    return false;
  }
  const std::array<std::int64_t, 2> label_bounds{0, static_cast<std::int64_t>(label_set->names.size())};
  const NamedLabels y{{label_bounds}, {label_set->names, {}}};
  const nb::gil_scoped_release release;
  if (text) {
    model.learn_texts({&*text, 1}, y, {&*checked_weight, 1}, 1);
  } else {
    const auto bounds = row->bounds();
    model.learn_many(row->view(bounds), y, {&*checked_weight, 1}, 1);
  }
  return true;
}

/// Labels and probabilities, or None if the example has not the usual form.
std::optional<std::vector<LabelAndProbability>> predict_one(const Model& model, nb::handle x,
                                                            const PredictParams& params) {
  const std::optional<std::string_view> text = model.takes_texts() ? usual_text(x) : std::nullopt;
  const std::optional<OneRow> row = model.takes_texts() ? std::nullopt : usual_row(x);
  if (!(row || text)) {
    return std::nullopt;
  }
  Predictions found;
  if (text) {
    const nb::gil_scoped_release release;
    found = model.predict_texts({&*text, 1}, params);
  } else {
    const auto bounds = row->bounds();
    const nb::gil_scoped_release release;
    found = model.predict_many(row->view(bounds), params);
  }
  const nb::list names = label_names(model, found.labels);
  std::vector<LabelAndProbability> result;
  for (std::size_t i = 0; i < found.labels.size(); ++i) {
    result.emplace_back(nb::borrow<nb::any>(names[i]), found.probabilities[i]);
  }
  return result;
}

}  // namespace

void bind_one(nb::module_& m) {
  m.def("learn_one", &learn_one, "model"_a, "x"_a.none(), "labels"_a.none(), "weight"_a.none());
  m.def("predict_one", &predict_one, "model"_a, "x"_a.none(), "params"_a);
}

}  // namespace oplt::bindings

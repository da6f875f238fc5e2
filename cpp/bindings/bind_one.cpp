// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The fast path for one example in the usual form: a dict of floats or ints, or a text, and a list of labels.
// Everything else, and all errors, take the slow path through src/oplt/validation.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "model/online_model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using LabelAndProbability = std::pair<nb::any, Real>;

/// The names and values of one example. The strings belong to Python objects, which a copy of the dict keeps alive: a
/// key's __index__ may change the original dict, and so may another thread while the call waits.
struct OneRow {
  nb::dict owner;
  std::vector<Name> names;
  std::vector<Real> values;
};

/// One example of the usual form, as a model takes it.
class OneInput {
 public:
  /// If the example has another form, holds() is false.
  OneInput(nb::handle x, bool takes_texts);

  bool holds() const { return text_ || row_; }

  /// Whether the example is so long that encoding it takes milliseconds.
  bool is_long() const { return text_ ? text_->size() > 16'384 : row_->names.size() > 2'048; }

  Inputs view() const {
    if (text_) {
      return {.rows = {}, .texts = Texts(&*text_, 1)};
    }
    return {.rows = {{bounds_}, {row_->names, {}}, row_->values}, .texts = {}};
  }

 private:
  std::optional<std::string_view> text_;
  std::optional<OneRow> row_;
  std::array<std::int64_t, 2> bounds_{};
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
  return std::abs(real) <= kLargestValue ? std::optional(real) : std::nullopt;  // false for NaN
}

/// The text of an example of a model that takes texts; nullopt if it has a lone surrogate.
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
  OneRow row{.owner = nb::steal<nb::dict>(PyDict_Copy(x.ptr())), .names = {}, .values = {}};
  if (!row.owner.is_valid()) {
    throw nb::python_error();
  }
  for (const auto [key, object] : row.owner) {
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

/// The labels of one example, kept alive in the same way.
struct OneLabelSet {
  nb::list labels;
  std::vector<Name> names;
};

/// Whether there are more than two names, all 0 or 1: a row of an indicator matrix, which the slow path rejects.
bool is_indicator(const std::vector<Name>& names) {
  const auto is_zero_or_one = [](const Name& name) {
    return !name.is_text() && (name.number == 0 || name.number == 1);
  };
  return names.size() > 2 && std::all_of(names.begin(), names.end(), is_zero_or_one);
}

std::optional<OneLabelSet> usual_labels(nb::handle labels) {
  OneLabelSet result;
  if (PyList_Check(labels.ptr())) {
    result.labels = nb::steal<nb::list>(PyList_GetSlice(labels.ptr(), 0, PY_SSIZE_T_MAX));
    if (!result.labels.is_valid()) {
      throw nb::python_error();
    }
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
  return is_indicator(result.names) ? std::nullopt : std::optional(std::move(result));
}

OneInput::OneInput(nb::handle x, bool takes_texts) {
  if (takes_texts) {
    text_ = usual_text(x);
  } else {
    row_ = usual_row(x);
    bounds_[1] = row_ ? static_cast<std::int64_t>(row_->names.size()) : 0;
  }
}

bool is_usual_weight(std::optional<Real> weight) { return weight && *weight > 0 && *weight <= kLargestWeight; }

/// Whether an example has the usual form, in which every model that takes such inputs can learn it.
bool is_usual(nb::handle x, nb::handle labels, nb::handle weight, bool takes_texts) {
  return OneInput(x, takes_texts).holds() && usual_labels(labels) && is_usual_weight(usual_value(weight));
}

/// Returns false, without any effect, if the example does not have the usual form.
bool learn_one(OnlineModel& model, nb::handle x, nb::handle labels, nb::handle weight) {
  const OneInput input(x, model.takes_texts());
  const std::optional<OneLabelSet> label_set = usual_labels(labels);
  const std::optional<Real> checked_weight = usual_value(weight);
  if (!input.holds() || !label_set || !is_usual_weight(checked_weight)) {
    return false;
  }
  const std::array<std::int64_t, 2> label_bounds{0, static_cast<std::int64_t>(label_set->names.size())};
  const NamedLabels y{{label_bounds}, {label_set->names, {}}};
  without_gil([&] { model.learn(input.view(), y, {&*checked_weight, 1}, 1); });
  return true;
}

/// A label by name. The text is copied, because the state that owns it may change before Python reads it.
struct NamedLabel {
  std::string text;
  std::int64_t number;
  Real probability;
};

std::vector<NamedLabel> predict_named(const ModelState& state, const Inputs& x, const SearchParams& params) {
  const Predictions found = state.predict(x, params, 1);
  std::vector<NamedLabel> named;
  for (std::size_t i = 0; i < found.labels.size(); ++i) {
    const Name name = state.labels->name(found.labels[i]);
    named.push_back({std::string(name.text), name.number, found.probabilities[i]});
  }
  return named;
}

using Answer = std::optional<std::vector<LabelAndProbability>>;

Answer to_python(const std::vector<NamedLabel>& named) {
  std::vector<LabelAndProbability> result;
  for (const NamedLabel& label : named) {
    result.emplace_back(nb::borrow<nb::any>(from_name({.text = label.text, .number = label.number})),
                        label.probability);
  }
  return result;
}

/// Labels and probabilities, or None if the example does not have the usual form.
Answer predict_one_of_state(const ModelState& state, nb::handle x, const SearchParams& params) {
  const OneInput input(x, state.encoder->takes_texts());
  if (!input.holds()) {
    return std::nullopt;
  }
  return to_python(without_gil([&] { return predict_named(state, input.view(), params); }));
}

/// Slow predictions use a snapshot; otherwise the training thread would wait for them, and other readers for it.
Answer predict_one(const OnlineModel& model, nb::handle x, const SearchParams& params) {
  constexpr std::size_t kMany = 200;
  const OneInput input(x, model.takes_texts());
  if (!input.holds()) {
    return std::nullopt;
  }
  const bool takes_long = input.is_long() || params.top_k == 0 || params.top_k > kMany || params.beam > kMany;
  const auto answer = [&](const ModelState& state) { return predict_named(state, input.view(), params); };
  return to_python(without_gil([&] { return takes_long ? answer(model.snapshot()) : model.read(answer); }));
}

}  // namespace

void bind_one(nb::module_& m) {
  m.def("is_usual", &is_usual, "x"_a.none(), "labels"_a.none(), "weight"_a.none(), "takes_texts"_a,
        "Whether an example can be learned. False does not mean that it cannot.");
  m.def("learn_one", &learn_one, "model"_a, "x"_a.none(), "labels"_a.none(), "weight"_a.none());
  m.def("predict_one", &predict_one, "model"_a, "x"_a.none(), "params"_a);
  m.def("predict_one", &predict_one_of_state, "state"_a, "x"_a.none(), "params"_a);
}

}  // namespace oplt::bindings

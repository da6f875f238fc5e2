// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "convert.hpp"

#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace oplt::bindings {

namespace {

/// repr(object), even if that is not valid Unicode.
std::string shown(nb::handle object) {
  const nb::str text = nb::repr(object);
  const auto encoded = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!encoded.is_valid()) {
    throw nb::python_error();
  }
  return {encoded.c_str(), encoded.size()};
}

}  // namespace

Name to_name(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      throw InvalidInput("a string that is not valid Unicode (a lone surrogate)");
    }
    if (size == 0 || size > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidInput(size == 0 ? "an empty string" : "a string of more than 2 GiB");
    }
    return {.text = {text, static_cast<std::size_t>(size)}, .number = 0};
  }
  if (PyIndex_Check(object.ptr()) && !PyBool_Check(object.ptr())) {
    const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
    const long long value = number.is_valid() ? PyLong_AsLongLong(number.ptr()) : -1;
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw InvalidInput(shown(object) + ", an integer of more than 64 bits");
    }
    return {.text = {}, .number = value};
  }
  throw InvalidInput(shown(object));
}

nb::object from_name(const Name& name) {
  return name.is_text() ? nb::object(nb::str(name.text.data(), name.text.size())) : nb::object(nb::int_(name.number));
}

nb::object term_name(const TextFeatures& features, FeatureId id) {
  const Term term = features.terms().term(id);
  if (features.params().hash_bits > 0) {
    return nb::int_(term.hash);
  }
  const bool is_further = term.text.starts_with(TextFeatures::kFurther);
  const bool is_number = is_further && term.text.substr(1).starts_with(TextFeatures::kFurther);
  const std::size_t n_marks = is_number ? 2 : is_further ? 1 : 0;
  const std::string name = (term.is_chars ? "~" : is_further ? ":" : "") + std::string(term.text.substr(n_marks));
  return nb::str(name.data(), name.size());
}

PythonNames::PythonNames(nb::handle names) {
  if (nb::isinstance<nb::list>(names)) {
    owners_ = nb::steal<nb::list>(PyList_GetSlice(names.ptr(), 0, PY_SSIZE_T_MAX));
    if (!owners_.is_valid()) {
      throw nb::python_error();
    }
    names_.reserve(owners_.size());
    for (const nb::handle name : owners_) {
      names_.push_back(to_name(name));
    }
  } else {
    // No implicit conversion: the view must refer to the array that `names` keeps alive.
    numbers_ = view(nb::cast<Array<std::int32_t>>(names, false));
  }
}

PythonTexts::PythonTexts(nb::handle texts) : owners_(nb::list(texts)) {
  views_.reserve(owners_.size());
  const std::size_t n_texts = owners_.size();
  for (std::size_t i = 0; i < n_texts; ++i) {
    const nb::object text = owners_[i];
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) {
      PyErr_Clear();
      const auto replaced = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
      if (!replaced.is_valid()) {
        throw nb::python_error();
      }
      owners_.append(replaced);
      bytes = replaced.c_str();
      size = static_cast<Py_ssize_t>(replaced.size());
    }
    views_.emplace_back(bytes, static_cast<std::size_t>(size));
  }
}

PythonInputs::PythonInputs(nb::handle x) {
  if (nb::isinstance<nb::list>(x)) {
    texts_.emplace(x);
    inputs_.texts = texts_->view();
    return;
  }
  auto parts = nb::cast<nb::tuple>(x);
  if (parts.size() == 2) {
    texts_.emplace(nb::object(parts[0]));
    inputs_.texts = texts_->view();
    inputs_.has_further = true;
    parts = nb::cast<nb::tuple>(nb::object(parts[1]));
  }
  names_.emplace(nb::object(parts[1]));
  inputs_.rows = {{bindings::view(nb::cast<Array<std::int64_t>>(parts[0], false))},
                  names_->list(),
                  bindings::view(nb::cast<Array<Real>>(parts[2], false))};
}

namespace {

/// `Known` is a Vocabulary or a LabelBook.
template <class Known>
std::vector<bool> known(const Known& vocabulary, const NameList& names) {
  std::vector<bool> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    found.push_back(vocabulary.find(names[i]) != kNone);
  }
  return found;
}

}  // namespace

std::vector<bool> known_labels(const ModelState& state, const PythonNames& names) {
  return known(*state.labels, names.list());
}

std::vector<bool> known_features(const ModelState& state, const PythonNames& names) {
  const Vocabulary* vocabulary = state.encoder->vocabulary();
  return vocabulary == nullptr ? std::vector<bool>(names.list().size()) : known(*vocabulary, names.list());
}

NewLabels labels_since(const ModelState& state, std::uint32_t begin, std::uint32_t most) {
  const Vocabulary& names = state.labels->names();
  NewLabels found{names.size(), {}};
  for (NameId id = begin; id < found.first && id - begin < most; ++id) {
    const Name name = names.name(id);
    found.second.emplace_back(name.text, name.number);
  }
  return found;
}

FeatureKinds feature_kinds(const ModelState& state, std::uint32_t begin) {
  const Vocabulary* vocabulary = state.encoder->vocabulary();
  const Vocabulary::Kinds found = vocabulary == nullptr ? Vocabulary::Kinds{} : vocabulary->kinds(begin);
  return {state.encoder->n_features(), found.strings, found.integers, found.largest};
}

}  // namespace oplt::bindings

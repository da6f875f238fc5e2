// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "convert.hpp"

#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace oplt::bindings {

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
      throw InvalidInput(std::string(nb::repr(object).c_str()) + ", an integer of more than 64 bits");
    }
    return {.text = {}, .number = value};
  }
  throw InvalidInput(nb::repr(object).c_str());
}

nb::object from_name(const Name& name) {
  return name.is_text() ? nb::object(nb::str(name.text.data(), name.text.size())) : nb::object(nb::int_(name.number));
}

PythonNames::PythonNames(nb::handle names) {
  if (nb::isinstance<nb::list>(names)) {
    const nb::list list = nb::borrow<nb::list>(names);
    names_.reserve(list.size());
    for (const nb::handle name : list) {
      names_.push_back(to_name(name));
    }
  } else {
    // No conversion: the view must be of the array that `names` keeps alive.
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
      const auto replaced = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
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

nb::list label_names(const Model& model, std::span<const LabelId> ids) {
  std::string text;
  std::vector<std::pair<std::size_t, std::int64_t>> ends;  // where each text ends in `text`; the integer
  const auto copy = [&](const Forest&, const Vocabulary&, const Vocabulary& labels) {
    for (const LabelId id : ids) {
      const Name name = labels.name(id);
      text += name.text;
      ends.emplace_back(text.size(), name.number);
    }
  };
  {
    const nb::gil_scoped_release release;
    model.inspect(copy);
  }
  nb::list names;
  std::size_t begin = 0;
  for (const auto& [end, number] : ends) {
    names.append(from_name({.text = std::string_view(text).substr(begin, end - begin), .number = number}));
    begin = end;
  }
  return names;
}

}  // namespace oplt::bindings

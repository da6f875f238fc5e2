// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Conversion of Python objects to views for the core, and of vectors of the core to arrays that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/text_features.hpp"
#include "encode/vocabulary.hpp"
#include "model/model_state.hpp"

namespace oplt::bindings {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.size()};
}

template <class T>
using NumpyArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

/// Hands a vector to Python without a copy.
template <class T>
NumpyArray<T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyArray<T>(owned->data(), {owned->size()}, owner);
}

/// One Python name. Throws InvalidInput unless it is a non-empty str or an int (not a bool) of 64 bits. The text of a
/// str belongs to the str.
Name to_name(nb::handle object);

nb::object from_name(const Name& name);

/// The name of a feature of texts. Names of character n-grams begin with '~', those of further features with ':', which
/// no word contains. With hash_bits, names are numbers.
nb::object term_name(const TextFeatures& features, FeatureId id);

/// Names from a list of str and int, or from an array of int32, which must outlive this object. The list is copied to
/// keep its elements alive: an element's __index__ may change the original, and so may other threads.
class PythonNames {
 public:
  explicit PythonNames(nb::handle names);

  NameList list() const { return {names_, numbers_}; }

 private:
  nb::list owners_;
  std::vector<Name> names_;
  std::span<const std::int32_t> numbers_;
};

/// For each name, whether it is a label, or a feature, of a model.
std::vector<bool> known_labels(const ModelState& state, const PythonNames& names);
std::vector<bool> known_features(const ModelState& state, const PythonNames& names);

/// The number of names of labels, and copies of them from id `begin` on, at most `most`. A text is empty if the name is
/// a number.
using NewLabels = std::pair<std::uint32_t, std::vector<std::pair<std::string, std::int64_t>>>;
NewLabels labels_since(const ModelState& state, std::uint32_t begin, std::uint32_t most);

/// The number of features; and for those from id `begin` on: whether there are strings, whether there are integers, and
/// the largest integer, or -1.
using FeatureKinds = std::tuple<std::uint32_t, bool, bool, std::int64_t>;
FeatureKinds feature_kinds(const ModelState& state, std::uint32_t begin);

/// Texts from a list of str, which are kept alive, because other threads may change the list. Lone surrogates become
/// bytes that are not valid UTF-8, which end a word.
class PythonTexts {
 public:
  explicit PythonTexts(nb::handle texts);

  Texts view() const { return views_; }

 private:
  nb::list owners_;
  std::vector<std::string_view> views_;
};

/// Examples from a list of str, from a tuple of bounds, names and values, or from a pair of both. The arrays must
/// outlive this object.
class PythonInputs {
 public:
  explicit PythonInputs(nb::handle x);

  const Inputs& view() const { return inputs_; }

 private:
  std::optional<PythonTexts> texts_;
  std::optional<PythonNames> names_;
  Inputs inputs_;
};

}  // namespace oplt::bindings

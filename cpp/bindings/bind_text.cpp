// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "io/array_file.hpp"
#include "locked_text.hpp"
#include "mapped_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using TextObjects = nb::typed<nb::list, nb::str>;
using NameObjects = nb::typed<nb::list, nb::any>;
using Matrix = std::tuple<NumpyArray<Real>, NumpyArray<std::int32_t>, NumpyArray<std::int64_t>>;

Matrix to_matrix(TextMatrix rows) {
  return {to_numpy(std::move(rows.values)), to_numpy(std::move(rows.ids)), to_numpy(std::move(rows.indptr))};
}

/// Computes the rows of all texts piece by piece. Ctrl-C and other signals are handled between two pieces.
template <class RowsOf>
TextMatrix piece_by_piece(Texts texts, RowsOf rows_of) {
  constexpr std::size_t kPiece = 1024;
  TextMatrix result;
  result.indptr.reserve(texts.size() + 1);
  for (std::size_t begin = 0; begin < texts.size(); begin += kPiece) {
    raise_if_interrupted();
    result.append(rows_of(texts.subspan(begin, std::min(kPiece, texts.size() - begin))));
  }
  return result;
}

Matrix learn(LockedTextFeatures& text, const TextObjects& objects) {
  const PythonTexts texts(objects);
  return to_matrix(without_gil([&] {
    return piece_by_piece(texts.view(), [&](Texts piece) {
      return text.change([&](TextFeatures& features) { return features.learn_many(piece); });
    });
  }));
}

Matrix transform(const LockedTextFeatures& text, const TextObjects& objects) {
  const PythonTexts texts(objects);
  return to_matrix(without_gil([&] {
    const Shared<TextFeatures> features = text.snapshot();
    return piece_by_piece(texts.view(), [&](Texts piece) { return features->find_many(piece); });
  }));
}

NameObjects names(const LockedTextFeatures& text) {
  const Shared<TextFeatures> features = without_gil([&] { return text.snapshot(); });
  nb::list result;
  for (std::uint32_t id = 0; id < features->terms().size(); ++id) {
    result.append(term_name(*features, id));
  }
  return NameObjects(result);
}

NumpyArray<std::uint32_t> counts(const LockedTextFeatures& text) {
  std::vector<std::uint32_t> result = without_gil([&] {
    const Shared<TextFeatures> features = text.snapshot();
    std::vector<std::uint32_t> found;
    for (std::uint32_t id = 0; id < features->terms().size(); ++id) {
      found.push_back(features->terms().n_texts_with(id));
    }
    return found;
  });
  return to_numpy(std::move(result));
}

constexpr const char* kPrefix = "features";

nb::bytes save(const LockedTextFeatures& text) {
  std::vector<std::byte> bytes;
  without_gil([&] {
    ArrayWriter out([&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    text.snapshot()->save(out, kPrefix);
    out.finish();
  });
  return nb::bytes(bytes.data(), bytes.size());
}

LockedTextFeatures* load(const TextParams& params, const Array<std::uint8_t>& saved) {
  const FileBytes copied = copied_bytes(std::as_bytes(view(saved)));
  const ArrayReader in(copied.bytes, copied.owner);
  in.verify();
  TextFeatures features = TextFeatures::load(in, kPrefix, params);
  features.check();
  return new LockedTextFeatures(std::move(features));
}

/// Reads the terms without the GIL, which must not be held while waiting for a turn.
template <class Answer>
Answer ask(const LockedTextFeatures& text, Answer (TermTable::*question)() const) {
  return without_gil([&] { return text.read([&](const auto& features) { return (features->terms().*question)(); }); });
}

void bind_text_params(nb::module_& m) {
  nb::enum_<WordRule>(m, "WordRule")
      .value("LETTERS", WordRule::kLetters)
      .value("SYMBOLS", WordRule::kSymbols)
      .value("TOKENS", WordRule::kTokens);
  m.attr("TOKEN_END") = nb::str(&kTokenEnd, 1);
  nb::class_<TextParams>(m, "TextParams")
      .def(
          "__init__",
          [](TextParams* self, std::uint32_t min_words, std::uint32_t max_words, std::uint32_t min_chars,
             std::uint32_t max_chars, bool idf, bool sublinear, std::uint32_t hash_bits, std::uint32_t max_features,
             WordRule words) {
            const TextParams params{min_words, max_words, min_chars,    max_chars, idf,
                                    sublinear, hash_bits, max_features, words};
            params.validate();
            new (self) TextParams(params);
          },
          nb::kw_only(), "min_words"_a, "max_words"_a, "min_chars"_a, "max_chars"_a, "idf"_a, "sublinear"_a,
          "hash_bits"_a, "max_features"_a, "words"_a);
}

}  // namespace

void bind_text(nb::module_& m) {
  bind_text_params(m);
  nb::class_<LockedTextFeatures>(m, "TextFeatures", nb::is_weak_referenceable())
      .def(
          "__init__",
          [](LockedTextFeatures* self, const TextParams& params) {
            new (self) LockedTextFeatures(TextFeatures(params));
          },
          "params"_a)
      .def_static("load", &load, "params"_a, "saved"_a, nb::rv_policy::take_ownership)
      .def("save", &save)
      .def("learn", &learn, "texts"_a, "(values, ids, indptr) of the rows, each computed when its text was learnt.")
      .def("transform", &transform, "texts"_a, "(values, ids, indptr) of the rows.")
      .def("hold", [](LockedTextFeatures& text) { without_gil([&] { text.hold(); }); })
      .def("release", &LockedTextFeatures::release)
      .def("release_in_child", &LockedTextFeatures::release_in_child)
      .def("names", &names, "By id.")
      .def("counts", &counts, "By id, the number of texts that contain the term.")
      .def_prop_ro("n_texts", [](const LockedTextFeatures& text) { return ask(text, &TermTable::n_texts); })
      .def_prop_ro("n_features", [](const LockedTextFeatures& text) { return ask(text, &TermTable::size); })
      .def_prop_ro("memory_bytes", [](const LockedTextFeatures& text) { return ask(text, &TermTable::memory_bytes); });
}

}  // namespace oplt::bindings

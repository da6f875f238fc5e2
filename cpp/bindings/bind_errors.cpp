// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <exception>
#include <string_view>

#include "base/error.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace oplt::bindings {

namespace {

/// A message may quote bytes of a crafted file that are not valid UTF-8.
nb::object decoded(std::string_view text) {
  nb::object result =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!result.is_valid()) {
    throw nb::python_error();
  }
  return result;
}

/// Raises the class of this name from oplt.errors. Looked up only here, so that the module loads without the package.
void raise(const char* name, const char* code, const char* what, nb::object where = nb::none(),
           nb::object hint = nb::none(), nb::object got = nb::none()) {
  const nb::object type = nb::module_::import_("oplt.errors").attr(name);
  const nb::object error =
      type(code, decoded(what), nb::arg("where") = where, nb::arg("hint") = hint, nb::arg("got") = got);
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const UnknownKernels& error) {
      raise("InvalidParameterError", "unknown-kernels", error.what(), nb::str("environment variable OPLT_KERNELS"),
            decoded(error.hint), nb::repr(decoded(error.got)));
    } catch (const InvalidParameter& error) {
      raise("InvalidParameterError", "parameter-refused", error.what());
    } catch (const TextsNotForgettable& error) {
      raise("InvalidInputError", "texts-not-forgettable", error.what(), nb::none(), decoded(error.hint));
    } catch (const LabelRefused& error) {
      raise("InvalidInputError", error.code, error.what(), nb::none(), decoded(error.hint));
    } catch (const InvalidInput& error) {
      const bool has_place = !error.where.empty();
      raise("InvalidInputError", "input-refused", error.problem.c_str(), has_place ? decoded(error.where) : nb::none());
    } catch (const BrokenModel& error) {
      raise("BrokenModelError", "model-broken", error.what());
    } catch (const ForkedCall& error) {
      raise("ForkedCallError", "call-forked", error.what());
    } catch (const UnknownFormatVersion& error) {
      raise("ModelFormatError", "format-version-unknown", error.what(), nb::none(),
            nb::str("Install the version of oplt that wrote it, or a newer one."));
    } catch (const FormatError& error) {
      raise("ModelFormatError", "model-damaged", error.what());
    }
  });
}

}  // namespace oplt::bindings

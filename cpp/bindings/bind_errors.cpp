// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <exception>

#include "base/error.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace oplt::bindings {

namespace {

/// Raises the class of this name from oplt.errors. It is looked up only now: the module loads without the package.
void raise(const char* name, const std::exception& error) {
  const nb::object type = nb::module_::import_("oplt.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const InvalidParameter& error) {
      raise("InvalidParameterError", error);
    } catch (const InvalidInput& error) {
      raise("InvalidInputError", error);
    } catch (const BrokenModel& error) {
      raise("BrokenModelError", error);
    } catch (const FrozenModel& error) {
      raise("FrozenModelError", error);
    } catch (const FormatError& error) {
      raise("ModelFormatError", error);
    }
  });
}

}  // namespace oplt::bindings

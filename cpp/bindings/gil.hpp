// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

namespace oplt::bindings {

/// What does not need Python runs without the GIL; the lock of a model is only ever waited for without it.
template <class Work>
auto without_gil(Work work) {
  const nanobind::gil_scoped_release release;
  return work();
}

/// Ends a long call when the user presses Ctrl-C.
inline void raise_if_interrupted() {
  const nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) {
    throw nanobind::python_error();
  }
}

}  // namespace oplt::bindings

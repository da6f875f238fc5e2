// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace oplt::bindings {

/// Releases the GIL during `work`. Used for code that does not need Python, and while waiting for a turn with a model.
template <class Work>
auto without_gil(Work work) {
  const nanobind::gil_scoped_release release;
  return work();
}

/// Ends a long call, by an exception, when the user has pressed Ctrl-C.
inline void raise_if_interrupted() {
  const nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) {
    throw nanobind::python_error();
  }
}

/// The function that polls for Ctrl-C. Empty unless called in the main thread, the only one in which Python handles
/// signals.
inline std::function<void()> poll_of_this_thread() {
  const auto threading = nanobind::module_::import_("threading");
  const bool is_main = threading.attr("current_thread")().is(threading.attr("main_thread")());
  return is_main ? std::function<void()>(raise_if_interrupted) : std::function<void()>();
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

namespace oplt::bindings {

/// Code that does not need Python runs without the GIL, and so does waiting for a turn with a model.
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

/// The function that polls for Ctrl-C in this thread; empty unless it is the main thread, the only one that receives
/// signals.
inline std::function<void()> poll_of_this_thread() {
  const auto threading = nanobind::module_::import_("threading");
  const bool is_main = threading.attr("current_thread")().is(threading.attr("main_thread")());
  return is_main ? std::function<void()>(raise_if_interrupted) : std::function<void()>();
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "bindings.hpp"

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(false);  // a library should not print, not even at exit
  m.doc() = "The compiled core of oplt. Private: use the classes of the package instead.";
  oplt::bindings::bind_errors(m);
  oplt::bindings::bind_params(m);
  oplt::bindings::bind_text(m);
  oplt::bindings::bind_state(m);
  oplt::bindings::bind_model(m);
  oplt::bindings::bind_label_operations(m);
  oplt::bindings::bind_inspection(m);
  oplt::bindings::bind_kernels(m);
  oplt::bindings::bind_explanation(m);
  oplt::bindings::bind_one(m);
  oplt::bindings::bind_datasets(m);
  oplt::bindings::bind_trees(m);
  oplt::bindings::bind_shards(m);
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

namespace oplt::bindings {

void bind_errors(nanobind::module_& m);
void bind_params(nanobind::module_& m);
void bind_state(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_inspection(nanobind::module_& m);
void bind_explanation(nanobind::module_& m);
void bind_one(nanobind::module_& m);
void bind_datasets(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_text(nanobind::module_& m);

}  // namespace oplt::bindings

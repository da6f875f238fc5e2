// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

namespace oplt {

struct ModelState;

namespace bindings {

void bind_errors(nanobind::module_& m);
void bind_params(nanobind::module_& m);
void bind_state(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_inspection(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_explanation(nanobind::module_& m);
void bind_one(nanobind::module_& m);
void bind_datasets(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_shards(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_labels(nanobind::class_<ModelState>& state);
void bind_label_operations(nanobind::module_& m);

}  // namespace bindings
}  // namespace oplt

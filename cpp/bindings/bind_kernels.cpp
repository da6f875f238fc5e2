// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"
#include "blocks/kernels.hpp"

namespace nb = nanobind;

namespace oplt::bindings {

void bind_kernels(nb::module_& m) {
  m.def(
      "kernels_in_use", [] { return std::string(kernels().name); },
      "The name of the kernels. Raises an error if OPLT_KERNELS names others than this machine can run.");
  m.def(
      "available_kernels",
      [] {
        std::vector<std::string> names;
        for (const Kernels* some : all_kernels()) {
          names.emplace_back(some->name);
        }
        return names;
      },
      "The names of all kernels that this machine can run, the fastest first.");
}

}  // namespace oplt::bindings

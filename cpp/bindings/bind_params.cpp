// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bindings.hpp"
#include "oplt/params.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

void bind_params(nb::module_& m) {
  nb::class_<TrainParams>(m, "TrainParams")
      .def(
          "__init__",
          [](TrainParams* self, std::string_view policy, double alpha, std::uint32_t arity, std::uint32_t max_leaves,
             Real learning_rate, Real adagrad_eps, Real gate, bool bias, bool normalize, std::uint64_t seed) {
            const TrainParams params{policy_from_name(policy),
                                     alpha,
                                     arity,
                                     max_leaves,
                                     learning_rate,
                                     adagrad_eps,
                                     gate,
                                     bias,
                                     normalize,
                                     seed};
            params.validate();
            new (self) TrainParams(params);
          },
          nb::kw_only(), "policy"_a, "alpha"_a, "arity"_a, "max_leaves"_a, "learning_rate"_a, "adagrad_eps"_a, "gate"_a,
          "bias"_a, "normalize"_a, "seed"_a);

  nb::class_<PredictParams>(m, "PredictParams")
      .def(
          "__init__",
          [](PredictParams* self, std::size_t top_k, Real threshold, std::size_t beam, std::size_t threads) {
            const PredictParams params{top_k, threshold, beam, threads};
            params.validate();
            new (self) PredictParams(params);
          },
          nb::kw_only(), "top_k"_a, "threshold"_a, "beam"_a, "threads"_a);
}

}  // namespace oplt::bindings

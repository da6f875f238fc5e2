// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "base/params.hpp"
#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

void bind_params(nb::module_& m) {
  nb::class_<TrainParams>(m, "TrainParams")
      .def(
          "__init__",
          [](TrainParams* self, std::string_view policy, double alpha, std::uint32_t arity, std::uint32_t max_leaves,
             Real learning_rate, Real adagrad_eps, Real gate, bool bias, bool normalize, std::uint64_t seed,
             std::uint32_t label_memory, std::uint32_t trees, std::uint32_t warm_up, std::uint32_t replay) {
            const TrainParams params{policy_from_name(policy),
                                     alpha,
                                     arity,
                                     max_leaves,
                                     learning_rate,
                                     adagrad_eps,
                                     gate,
                                     bias,
                                     normalize,
                                     seed,
                                     label_memory,
                                     trees,
                                     warm_up,
                                     replay};
            params.validate();
            new (self) TrainParams(params);
          },
          nb::kw_only(), "policy"_a, "alpha"_a, "arity"_a, "max_leaves"_a, "learning_rate"_a, "adagrad_eps"_a, "gate"_a,
          "bias"_a, "normalize"_a, "seed"_a, "label_memory"_a, "trees"_a, "warm_up"_a, "replay"_a);

  nb::class_<BatchParams>(m, "BatchParams")
      .def(
          "__init__",
          [](BatchParams* self, std::string_view loss, double cost, double tolerance, std::uint32_t max_iterations,
             Real prune, bool normalize, std::uint64_t seed) {
            const BatchParams params{loss_from_name(loss), cost, tolerance, max_iterations, prune, normalize, seed};
            params.validate();
            new (self) BatchParams(params);
          },
          nb::kw_only(), "loss"_a, "cost"_a, "tolerance"_a, "max_iterations"_a, "prune"_a, "normalize"_a, "seed"_a)
      .def("of_model", &BatchParams::of_model);

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

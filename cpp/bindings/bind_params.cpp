// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "bindings.hpp"
#include "model/model_state.hpp"
#include "model/params.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

// AROW takes each step mostly along the features with little confidence. A small bias makes it rely on the others.
constexpr Real kArowBias = 0.5F;

LearningParams learning_params(std::string_view learner, Real arow_r, Real sparsity, Real learning_rate,
                               Real adagrad_eps, Real gate) {
  if (learner == "arow") {
    return ArowParams{.r = arow_r, .sparsity = sparsity};
  }
  if (learner != "adagrad") {
    throw InvalidParameter("learner must be 'arow' or 'adagrad', got '" + std::string(learner) + "'");
  }
  return AdaGradParams{.learning_rate = learning_rate, .eps = adagrad_eps, .gate = gate};
}

ModelParams model_params(std::string_view policy, double alpha, std::uint32_t arity, std::uint32_t max_leaves,
                         bool spread_new_labels, const LearningParams& learning, bool bias, bool normalize,
                         std::uint64_t seed, std::uint32_t label_memory, std::uint32_t trees, std::uint64_t history,
                         std::uint64_t max_memory) {
  const Real bias_value = std::holds_alternative<ArowParams>(learning) ? kArowBias : 1;
  const ModelParams params{
      .forest = {.tree = {policy_from_name(policy), alpha, arity, max_leaves, spread_new_labels, seed},
                 .learning = learning,
                 .trees = trees,
                 .history = history,
                 .rows = {.bias = bias ? bias_value : 0, .normalize = normalize}},
      .label_memory = label_memory,
      .max_memory = max_memory,
      .calibrated = std::holds_alternative<ArowParams>(learning)};  // as in the paper otherwise
  validate(params);
  return params;
}

}  // namespace

void bind_params(nb::module_& m) {
  nb::class_<ModelParams>(m, "ModelParams")
      .def(
          "__init__",
          [](ModelParams* self, std::string_view policy, double alpha, std::uint32_t arity, std::uint32_t max_leaves,
             bool spread_new_labels, std::string_view learner, Real arow_r, Real sparsity, Real learning_rate,
             Real adagrad_eps, Real gate, bool bias, bool normalize, std::uint64_t seed, std::uint32_t label_memory,
             std::uint32_t trees, std::uint64_t history, std::optional<std::uint64_t> max_memory) {
            new (self)
                ModelParams(model_params(policy, alpha, arity, max_leaves, spread_new_labels,
                                         learning_params(learner, arow_r, sparsity, learning_rate, adagrad_eps, gate),
                                         bias, normalize, seed, label_memory, trees, history, max_memory.value_or(0)));
          },
          nb::kw_only(), "policy"_a, "alpha"_a, "arity"_a, "max_leaves"_a, "spread_new_labels"_a, "learner"_a,
          "arow_r"_a, "sparsity"_a, "learning_rate"_a, "adagrad_eps"_a, "gate"_a, "bias"_a, "normalize"_a, "seed"_a,
          "label_memory"_a, "trees"_a, "history"_a, "max_memory"_a.none())
      .def(
          "to_load",
          [](const ModelParams& params, std::optional<TextParams> text) {
            return StateParams{.rows = params.forest.rows,
                               .link = link_of(params.forest.learning),
                               .trees = params.forest.trees,
                               .label_memory = params.label_memory,
                               .calibrated = params.calibrated,
                               .text = text};
          },
          "text"_a.none());

  nb::class_<BatchParams>(m, "BatchParams")
      .def(
          "__init__",
          [](BatchParams* self, std::string_view loss, double cost, double tolerance, std::uint32_t max_iterations,
             Real prune, std::uint64_t seed) {
            const BatchParams params{loss_from_name(loss), cost, tolerance, max_iterations, prune, seed};
            validate(params);
            new (self) BatchParams(params);
          },
          nb::kw_only(), "loss"_a, "cost"_a, "tolerance"_a, "max_iterations"_a, "prune"_a, "seed"_a)
      .def(
          "to_load",
          [](const BatchParams& params, bool normalize, std::size_t trees, std::optional<TextParams> text) {
            return StateParams{.rows = {.bias = 1, .normalize = normalize},
                               .link = link_of(params.loss),
                               .trees = trees,
                               .label_memory = 0,
                               .calibrated = false,
                               .text = text};
          },
          "normalize"_a, "trees"_a, "text"_a.none());

  nb::class_<StateParams>(m, "StateParams");

  nb::class_<SearchParams>(m, "SearchParams")
      .def(
          "__init__",
          [](SearchParams* self, std::size_t top_k, Real threshold, std::size_t beam) {
            const SearchParams params{top_k, threshold, beam};
            validate(params);
            new (self) SearchParams(params);
          },
          nb::kw_only(), "top_k"_a, "threshold"_a, "beam"_a);
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Explanations of predictions, as plain containers. src/oplt/explanation makes objects of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "model/explanation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Parts = nb::typed<nb::dict, nb::str, nb::any>;
using Occurrence = std::tuple<FeatureId, std::size_t, std::size_t, std::string>;
using NameObjects = nb::typed<nb::list, nb::any>;

nb::object id_or_none(std::uint32_t id) { return id == kNone ? nb::none() : nb::object(nb::int_(id)); }

nb::dict node_parts(const PathNode& node) {
  nb::list features;
  for (const FeatureWeight& each : node.features) {
    features.append(nb::make_tuple(each.feature, each.value, each.weight));
  }
  nb::dict parts;
  parts["node"] = node.node;
  parts["label"] = id_or_none(node.label);
  parts["n_labels"] = node.n_labels;
  parts["score"] = node.score;
  parts["conditional"] = node.conditional;
  parts["cumulative"] = node.cumulative;
  parts["features"] = features;
  return parts;
}

nb::list tree_parts(const std::vector<ExplainedTree>& trees) {
  nb::list result;
  for (const ExplainedTree& tree : trees) {
    nb::list nodes;
    for (const PathNode& node : tree.path) {
      nodes.append(node_parts(node));
    }
    result.append(nb::make_tuple(tree.counts, nodes));
  }
  return result;
}

nb::dict memory_parts(const ExplainedMemory& memory) {
  nb::list features;
  for (const SimilarityPart& part : memory.parts) {
    features.append(nb::make_tuple(part.feature, part.value, part.weight, part.mean, part.share, part.cosine));
  }
  const auto& [label, probability, similarity, count, n_since, votes] = memory.candidate;
  nb::dict parts;
  parts["tree_probability"] = probability;
  parts["cosine"] = similarity.cosine;
  parts["coverage"] = similarity.coverage;
  parts["mean_share"] = similarity.mean_share;
  parts["largest_share"] = similarity.largest_share;
  parts["n_examples"] = count;
  parts["n_since"] = n_since;
  parts["is_nearest"] = memory.is_nearest;
  parts["votes"] = nb::make_tuple(memory.n_voters, votes.share, votes.nearness);
  parts["features"] = features;
  return parts;
}

nb::list step_parts(const ExplainedSteps& steps) {
  nb::list result;
  for (const ExplainedStep& step : steps) {
    nb::list terms;
    for (const ExplainedTerm& term : step.terms) {
      terms.append(nb::make_tuple(term.name, term.value, term.weight, term.contribution));
    }
    result.append(nb::make_tuple(step.name, terms, step.result));
  }
  return result;
}

/// Explains the probability of a label, by id, or of the best one, in the first example of `x`.
std::optional<Parts> explain_one(const ModelState& state, nb::handle x, std::optional<LabelId> label) {
  const PythonInputs inputs(x);
  const std::optional<Explanation> found =
      without_gil([&] { return explain(state, inputs.view(), label.value_or(kNone)); });
  if (!found) {
    return std::nullopt;
  }
  nb::list ranked;
  for (const ScoredLabel& each : found->ranked) {
    ranked.append(nb::make_tuple(each.label, each.probability));
  }
  const std::optional<Real> slope = slope_of(found->link);
  Parts parts;
  parts["label"] = found->label;
  parts["probability"] = found->probability;
  parts["ranked"] = ranked;
  parts["slope"] = slope ? nb::object(nb::float_(*slope)) : nb::none();
  parts["trees"] = tree_parts(found->trees);
  parts["memory"] = found->memory ? nb::object(memory_parts(*found->memory)) : nb::none();
  parts["steps"] = step_parts(found->steps);
  return parts;
}

std::vector<Occurrence> occurrences_in(const ModelState& state, nb::handle x) {
  const PythonInputs inputs(x);
  return without_gil([&] {
    std::vector<Occurrence> found;
    for (const auto& [feature, begin, end, term, is_chars] : occurrences(state, inputs.view())) {
      found.emplace_back(feature, begin, end, (is_chars ? "~" : "") + term);
    }
    return found;
  });
}

/// The ids of the further features of a text, in the order in which they were given; NONE for those unknown.
std::vector<FeatureId> further_ids(const ModelState& state, nb::handle x) {
  const PythonInputs inputs(x);
  const TextFeatures* text = state.encoder->text_features();
  return text == nullptr || !inputs.view().has_further ? std::vector<FeatureId>()
                                                       : text->further_ids(inputs.view().rows, 0);
}

NameObjects feature_names(const ModelState& state, const std::vector<FeatureId>& ids) {
  const TextFeatures* text = state.encoder->text_features();
  nb::list names;
  for (const FeatureId id : ids) {
    if (id >= state.encoder->n_features()) {
      names.append(nb::none());  // the bias
    } else {
      names.append(text != nullptr ? term_name(*text, id) : from_name(state.encoder->vocabulary()->name(id)));
    }
  }
  return NameObjects(names);
}

}  // namespace

void bind_explanation(nb::module_& m) {
  m.def("explain", &explain_one, "state"_a, "x"_a, "label"_a.none(),
        "Why a label, or the best one, has its probability in the first example; None if there is no label.");
  m.def("occurrences", &occurrences_in, "state"_a, "x"_a,
        "(feature, begin, end, term) of all known terms in the first text; positions are in bytes of UTF-8.");
  m.def("further_ids", &further_ids, "state"_a, "x"_a);
  m.def("feature_names", &feature_names, "state"_a, "ids"_a, "None for the bias.");
}

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "model/fit.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::saved_bytes;

namespace {

constexpr BatchParams kParams{
    .loss = Loss::kSquaredHinge, .cost = 1, .tolerance = 0.1, .max_iterations = 20, .prune = 0.05F, .seed = 3};
constexpr RowParams kRows{.bias = 1, .normalize = true};

/// Texts with some of their labels, and a flat tree over all of these.
struct Sample {
  test::LabelledTexts texts{80};
  std::vector<std::int32_t> names;

  Sample() : names(texts.labels) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  NamedLabels labels() const { return {{texts.indptr}, {.names = {}, .numbers = texts.labels}}; }

  FitStart start(std::size_t n_trees = 1) const {
    std::vector<NodeId> parents{kNone};
    std::vector<LabelId> labels{kNone};
    for (LabelId label = 0; label < names.size(); ++label) {
      parents.push_back(LabelTree::kRoot);
      labels.push_back(label);
    }
    return {Encoder(TextFeatures(test::crowded_text())),
            std::vector<LabelTree>(n_trees, LabelTree(parents, labels)),
            {.names = {}, .numbers = names}};
  }
};

}  // namespace

TEST("a batch-trained model finds labels of its sample, is saved and loaded, and does not depend on threads") {
  const Sample sample;
  const ModelState model = fit(kParams, kRows, sample.start(), sample.texts.inputs(), sample.labels(), {}, 1);
  CHECK_EQ(model.n_examples(), 80U);
  const Predictions found = model.predict(sample.texts.inputs(), {.top_k = 1}, 1);
  std::size_t n_right = 0;
  for (std::size_t i = 0; i < 80; ++i) {
    n_right += model.labels->name(found.labels[i]).number == sample.texts.labels[i] ? 1 : 0;
  }
  CHECK(n_right > 20);  // by chance about 5
  const auto file = saved_bytes(model);
  CHECK(saved_bytes(fit(kParams, kRows, sample.start(), sample.texts.inputs(), sample.labels(), {}, 3)) == file);
  const StateParams params{.rows = kRows, .link = link_of(kParams.loss), .text = test::crowded_text()};
  const ModelState loaded = ModelState::load(test::read_arrays(file), params);
  loaded.check();
  CHECK(saved_bytes(loaded) == file);
  CHECK(test::ask(loaded, sample.texts.inputs()) == test::ask(model, sample.texts.inputs()));
}

TEST("texts are encoded with the final counts") {
  const Sample sample;
  const ModelState model = fit(kParams, kRows, sample.start(), sample.texts.inputs(), sample.labels(), {}, 1);
  FitStart known = sample.start();
  Encoder::Scratch scratch;
  for (std::size_t i = 0; i < 80; ++i) {
    known.encoder.learn(sample.texts.inputs(), i, scratch);
  }
  CHECK(saved_bytes(*model.encoder) == saved_bytes(known.encoder));
}

TEST("the trees of a batch-trained forest have seeds of their own, and weights of examples count") {
  const Sample sample;
  const auto fitted = [&](const std::vector<Real>& weights, std::size_t n_trees) {
    return fit(kParams, kRows, sample.start(n_trees), sample.texts.inputs(), sample.labels(), weights, 1);
  };
  const ModelState forest = fitted({}, 2);
  CHECK(saved_bytes(forest.forest.trees[0]) == saved_bytes(fitted({}, 1).forest.trees[0]));
  CHECK(saved_bytes(forest.forest.trees[0]) != saved_bytes(forest.forest.trees[1]));
  CHECK(saved_bytes(fitted(std::vector<Real>(80, 1), 1)) == saved_bytes(fitted({}, 1)));
  CHECK(saved_bytes(fitted(std::vector<Real>(80, 2), 1)) != saved_bytes(fitted({}, 1)));
}

TEST("errors name a label that is not in the tree, and a label that is in it twice") {
  const Sample sample;
  std::vector<std::int32_t> other = sample.texts.labels;
  other[7] = 4711;
  CHECK_THROWS_WITH(InvalidInput, "row 7 has the label 4711",
                    fit(kParams, kRows, sample.start(), sample.texts.inputs(),
                        {{sample.texts.indptr}, {.names = {}, .numbers = other}}, {}, 1));
  FitStart start = sample.start();
  std::vector<std::int32_t> twice = sample.names;
  twice[1] = twice[0];
  start.labels.numbers = twice;
  CHECK_THROWS_WITH(InvalidInput, "twice",
                    fit(kParams, kRows, std::move(start), sample.texts.inputs(), sample.labels(), {}, 1));
}

TEST("an exception from poll ends the training") {
  const Sample sample;
  const auto stop = [] { throw InvalidInput("Ctrl-C"); };
  CHECK_THROWS_WITH(InvalidInput, "Ctrl-C",
                    fit(kParams, kRows, sample.start(), sample.texts.inputs(), sample.labels(), {}, 1, stop));
}

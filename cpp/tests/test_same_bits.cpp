// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Models are the same to the bit on every machine, with every compiler and all kernels: the digests of a few models are
// constants. If a change of the algorithm or of the file format is intended, replace them by those that the test
// prints.
#include <array>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "check.hpp"
#include "helpers.hpp"
#include "io/checksum.hpp"
#include "labelled_texts.hpp"
#include "model/online_model.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

/// A digest of a model and of its predictions, also in half precision.
std::string digest(const ModelState& state, const Inputs& x) {
  Checksum sum;
  sum.add(saved_bytes(state));
  for (const ModelState& some : {state, state.for_prediction(0, true)}) {
    const Predictions found = some.predict(x, {.top_k = 3}, 1);
    sum.add(std::as_bytes(std::span(found.labels)));
    sum.add(std::as_bytes(std::span(found.probabilities)));
  }
  std::ostringstream text;
  text << std::hex << sum.value()[0] << ' ' << sum.value()[1];
  return text.str();
}

std::string digest_of_features(const ModelParams& params) {
  const test::NamedExamples examples(1, 600);
  OnlineModel model(params, started(params));
  examples.update(model);
  return digest(model.snapshot(), examples.rows(0, 100));
}

}  // namespace

TEST("a tree alone, by AdaGrad") {
  CHECK_EQ(digest_of_features(make_params(Policy::kBestGreedy, 3, 8)), "1ae939e5c2088e32 c4632d49b5b48a61");
}

TEST("a tree alone, by AROW, calibrated") {
  ModelParams params = make_params(Policy::kRandom, 2, 30, test::arow(0.4F));
  params.calibrated = true;
  CHECK_EQ(digest_of_features(params), "8b2dd298befc9634 3814b64fb5d2d1c2");
}

TEST("blocks of several mask words") {
  CHECK_EQ(digest_of_features(make_params(Policy::kFlat, 2, 2, test::arow(0.4F))), "92dfcee2176f7bfc 345d08ce23884c5a");
}

TEST("two regrown trees with a label memory") {
  ModelParams params = make_params(Policy::kBestGreedy, 16, 64, test::arow(0.4F));
  params.label_memory = 64;
  params.forest.trees = 2;
  params.forest.history = 10'000;
  CHECK_EQ(digest_of_features(params), "251745f1612904c 4ee2790a13a1a686");
}

TEST("a model of texts") {
  const test::LabelledTexts texts(600);
  ModelParams params = make_params(Policy::kBestGreedy, 16, 64, test::arow(0.4F));
  params.label_memory = 64;
  OnlineModel model(params, started(params, test::crowded_text()));
  texts.update(model, 0, texts.size(), 2);
  CHECK_EQ(digest(model.snapshot(), texts.inputs(0, 100)), "523cfdf5f73b751e e25c2e6263b6d648");
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "model/model.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;

namespace {

/// Examples by name, and the views that a model takes. The names are a mix of integers and strings.
class NamedExamples {
 public:
  NamedExamples(std::uint64_t seed, std::size_t n) {
    for (const test::StreamExample& example : test::random_stream(seed, n)) {
      for (std::size_t i = 0; i < example.features.size(); ++i) {
        features_.push_back(name_of(example.features[i]));
        values_.push_back(example.values[i]);
      }
      for (const LabelId label : example.labels) {
        labels_.push_back(name_of(label));
      }
      x_indptr_.push_back(static_cast<std::int64_t>(features_.size()));
      y_indptr_.push_back(static_cast<std::int64_t>(labels_.size()));
      weights_.push_back(example.weight);
    }
  }

  std::size_t size() const { return weights_.size(); }

  NamedRows rows(std::size_t begin, std::size_t n) const {
    const auto first = static_cast<std::size_t>(x_indptr_[begin]);
    return {{std::span(x_indptr_).subspan(begin, n + 1)},
            {.names = std::span(features_).subspan(first), .numbers = {}},
            std::span(values_).subspan(first)};
  }
  NamedRows rows() const { return rows(0, size()); }

  NamedLabels labels(std::size_t begin, std::size_t n) const {
    return {{std::span(y_indptr_).subspan(begin, n + 1)},
            {.names = std::span(labels_).subspan(static_cast<std::size_t>(y_indptr_[begin])), .numbers = {}}};
  }

  void teach(Model& model, std::size_t begin, std::size_t n) const {
    model.learn_many(rows(begin, n), labels(begin, n), std::span(weights_).subspan(begin, n), 2);
  }
  void teach(Model& model) const { teach(model, 0, size()); }

 private:
  /// Even ids become integers, odd ones strings, for which a fixed list keeps the text.
  static Name name_of(std::uint32_t id) {
    static const std::vector<std::string> texts = [] {
      std::vector<std::string> made;
      for (int i = 0; i < 1000; ++i) {
        made.push_back("name " + std::to_string(i));
      }
      return made;
    }();
    return id % 2 == 0 ? Name{.text = {}, .number = static_cast<std::int64_t>(id) - 10}
                       : Name{.text = texts[id % 1000], .number = 0};
  }

  std::vector<std::int64_t> x_indptr_{0};
  std::vector<Name> features_;
  std::vector<Real> values_;
  std::vector<std::int64_t> y_indptr_{0};
  std::vector<Name> labels_;
  std::vector<Real> weights_;
};

bool same_answers(const Predictions& a, const Predictions& b) {
  return a.indptr == b.indptr && a.labels == b.labels && a.probabilities == b.probabilities &&
         a.n_examples == b.n_examples;
}

Name text(std::string_view s) { return {.text = s, .number = 0}; }

LabelTree three_leaves() {
  const std::vector<NodeId> parents{kNone, 0, 0, 0};
  const std::vector<LabelId> labels{kNone, 2, 0, 1};
  return {parents, labels};
}

/// A saved model of these three parts.
std::vector<std::byte> forged(const Vocabulary& features, const Vocabulary& labels, const OnlinePlt& plt) {
  std::vector<std::byte> bytes;
  for (const auto& part : {saved_bytes(features), saved_bytes(labels), saved_bytes(plt)}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

}  // namespace

TEST("answers do not depend on the number of threads") {
  const NamedExamples examples(1, 300);
  Model model(make_params(Policy::kBestGreedy, 3, 6));
  examples.teach(model);
  const Predictions expected = model.predict_many(examples.rows(), {.top_k = 5});
  CHECK_EQ(expected.indptr.size(), 301U);
  CHECK_EQ(expected.labels.size(), 5 * 300U);
  CHECK_EQ(expected.n_examples, 300U);
  for (const std::size_t threads : {2U, 8U}) {
    CHECK(same_answers(model.predict_many(examples.rows(), {.top_k = 5, .threads = threads}), expected));
  }
}

TEST("learning row by row, in batches and after loading is the same") {
  const NamedExamples examples(2, 60);
  const TrainParams params = make_params(Policy::kRandom, 2, 3, 0.1F);
  Model at_once(params);
  examples.teach(at_once);
  Model singly(params);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.teach(singly, i, 1);
  }
  CHECK(saved_bytes(singly) == saved_bytes(at_once));
  Model first_part(params);
  examples.teach(first_part, 0, 25);
  Model loaded(params, saved_bytes(first_part));
  examples.teach(loaded, 25, 35);
  CHECK(saved_bytes(loaded) == saved_bytes(at_once));
  CHECK(same_answers(loaded.predict_many(examples.rows(), {}), at_once.predict_many(examples.rows(), {})));
}

TEST("readers beside a writer get the answers of the model after some whole number of examples") {
  const NamedExamples examples(3, 150);
  const NamedRows questions = examples.rows(100, 20);
  const PredictParams params{.top_k = 3, .threads = 2};
  std::vector<Predictions> expected;  // by the number of examples learnt
  Model alone(make_params());
  expected.push_back(alone.predict_many(questions, params));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.teach(alone, i, 1);
    expected.push_back(alone.predict_many(questions, params));
  }

  Model shared(make_params());
  std::atomic<bool> done = false;
  std::vector<std::vector<Predictions>> answers(3);
  std::vector<std::thread> readers;
  for (std::vector<Predictions>& mine : answers) {
    readers.emplace_back([&] {
      while (!done) {
        mine.push_back(shared.predict_many(questions, params));
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // takes turns: busy readers are another test
      }
      mine.push_back(shared.predict_many(questions, params));
    });
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    examples.teach(shared, i, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (const std::vector<Predictions>& mine : answers) {
    std::uint64_t previous = 0;
    for (const Predictions& answer : mine) {
      CHECK(answer.n_examples >= previous && answer.n_examples <= examples.size());
      CHECK(same_answers(answer, expected.at(answer.n_examples)));
      previous = answer.n_examples;
    }
    CHECK_EQ(previous, examples.size());
  }
}

TEST("busy readers do not keep the writer from its turn") {
  const NamedExamples examples(7, 130);
  Model model(make_params());
  examples.teach(model, 0, 100);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);  // the work takes milliseconds
  std::atomic<bool> done = false;
  std::latch all_started(4);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      all_started.count_down();
      while (!done && std::chrono::steady_clock::now() < deadline) {
        model.predict_many(examples.rows(0, 50), {.top_k = 5});
      }
    });
  }
  all_started.wait();
  for (std::size_t i = 100; i < examples.size(); ++i) {
    examples.teach(model, i, 1);
  }
  CHECK(std::chrono::steady_clock::now() < deadline);
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

TEST("a model from a tree knows its labels by name") {
  const std::vector<Name> names{text("zebra"), text("ant"), text("cow")};
  Model model(make_params(), three_leaves(), {.names = names, .numbers = {}});
  const std::vector<std::int64_t> bounds{0, 1};
  const std::vector<Real> values{1};
  const std::vector<Name> feature{text("stripes")};
  const NamedRows row{{bounds}, {.names = feature, .numbers = {}}, values};
  const NamedLabels label{{bounds}, {.names = std::span(names).first(1), .numbers = {}}};
  for (int i = 0; i < 20; ++i) {
    model.learn_many(row, label, {}, 1);
  }
  CHECK_EQ(model.predict_many(row, {.top_k = 1}).labels, std::vector<LabelId>{0});
  model.inspect([&](const Forest& forest, const Vocabulary& features, const Vocabulary& labels) {
    CHECK_EQ(forest.first().n_nodes(), 4U);
    CHECK_EQ(forest.n_examples(), 20U);
    CHECK_EQ(features.size(), 1U);
    for (LabelId id = 0; id < 3; ++id) {
      CHECK(labels.name(id) == names[id]);
    }
  });
}

TEST("a fixed tree ignores labels that it lacks, and forgets their names") {
  const std::vector<Name> known{text("zebra"), text("ant"), text("cow")};
  const std::vector<Name> some_unknown{text("wolf"), text("ant"), text("bee")};
  const std::vector<Name> all_unknown{text("wolf"), text("bee")};
  const std::vector<Name> feature{text("legs")};
  const std::vector<std::int64_t> one{0, 1};
  const std::vector<Real> values{1};
  const NamedRows row{{one}, {.names = feature, .numbers = {}}, values};
  const auto teach = [&](Model& model, std::span<const Name> labels) {
    const std::vector<std::int64_t> bounds{0, static_cast<std::int64_t>(labels.size())};
    model.learn_many(row, {{bounds}, {.names = labels, .numbers = {}}}, {}, 2);
  };
  Model model(make_params(Policy::kFixed), three_leaves(), {.names = known, .numbers = {}});
  teach(model, some_unknown);
  teach(model, all_unknown);
  Model expected(make_params(Policy::kFixed), three_leaves(), {.names = known, .numbers = {}});
  teach(expected, std::span(known).subspan(1, 1));
  teach(expected, {});
  CHECK(saved_bytes(model) == saved_bytes(expected));
  CHECK_EQ(model.inspect([](const Forest&, auto&, const Vocabulary& labels) { return labels.size(); }), 3U);
  CHECK(saved_bytes(Model(make_params(Policy::kFixed), saved_bytes(model))) == saved_bytes(model));
}

TEST("a fixed tree without labels is refused") {
  CHECK_THROWS_WITH(InvalidParameter, "from_tree", Model(make_params(Policy::kFixed)));
  CHECK_THROWS_WITH(InvalidParameter, "from_tree", Model(make_params(Policy::kFixed), LabelTree(), {}));
}

TEST("a model from a tree refuses a name twice") {
  const std::vector<Name> names{text("a"), text("b"), text("a")};
  CHECK_THROWS_WITH(InvalidInput, "twice", Model(make_params(), three_leaves(), {.names = names, .numbers = {}}));
}

TEST("the order and repetition of names in a row do not matter") {
  const std::vector<Name> features{text("a"), text("b")};
  const std::vector<Name> features_reversed{text("b"), text("a")};
  const std::vector<Name> labels{text("x"), text("y")};
  const std::vector<Name> labels_repeated{text("y"), text("x"), text("y")};
  const std::vector<std::int64_t> two{0, 2};
  const std::vector<std::int64_t> three{0, 3};
  const std::vector<Real> values{1, 2};
  const std::vector<Real> values_reversed{2, 1};
  const TrainParams params = make_params(Policy::kComplete);  // in which leaves learn too
  Model one(params);
  Model other(params);
  one.learn_many({{two}, {.names = features, .numbers = {}}, values}, {{two}, {.names = labels, .numbers = {}}}, {}, 1);
  other.learn_many({{two}, {.names = features_reversed, .numbers = {}}, values_reversed},
                   {{three}, {.names = labels_repeated, .numbers = {}}}, {}, 1);
  CHECK(saved_bytes(one) == saved_bytes(other));
}

TEST("a question does not change the model, nor do unknown features disturb it") {
  const NamedExamples examples(4, 40);
  Model model(make_params());
  examples.teach(model, 0, 20);
  const auto before = saved_bytes(model);
  const Predictions answer = model.predict_many(examples.rows(), {.top_k = 1});
  CHECK_EQ(answer.labels.size(), 40U);
  CHECK(saved_bytes(model) == before);
  CHECK_EQ(Model(make_params()).predict_many(examples.rows(), {}).indptr, std::vector<std::int64_t>(41, 0));
  CHECK_THROWS(InvalidParameter, model.predict_many(examples.rows(), {.threads = 0}));
}

TEST("the parts of a model's memory are those that it has") {
  const NamedExamples examples(7, 60);
  TrainParams params = make_params(Policy::kBestGreedy, 3, 6);
  Model tree_alone(params);
  examples.teach(tree_alone);
  const MemoryUse plain = tree_alone.memory_use();
  CHECK(plain.trees > 0 && plain.label_names > 0 && plain.feature_names > 0);
  CHECK_EQ(plain.total(), plain.trees + plain.label_names + plain.feature_names);
  CHECK(!tree_alone.label_counts());

  params.label_memory = 8;
  params.warm_up = 61;
  params.replay = 1;
  Model with_all(params);
  examples.teach(with_all);
  const MemoryUse all = with_all.memory_use();
  CHECK(all.label_memory > 0 && all.warm_up > 0 && all.replay > 0);
  CHECK_EQ(all.total(), all.trees + all.label_names + all.feature_names + all.label_memory + all.warm_up + all.replay);
}

TEST("a model with a label memory counts the examples of each label") {
  const std::vector<std::int32_t> columns{5, 5, 6, 5};
  const std::vector<std::int64_t> indptr{0, 1, 3, 4};  // labels 5; 5 and 6; 5
  const std::vector<Real> values(4, Real{1});
  TrainParams params = make_params();
  params.label_memory = 8;
  Model model(params);
  const NameList names{.names = {}, .numbers = columns};
  model.learn_many({{indptr}, names, values}, {{indptr}, names}, {}, 1);
  CHECK_EQ(*model.label_counts(), (std::vector<std::uint32_t>{3, 1}));
}

TEST("a truncated or prolonged model throws wherever it ends") {
  const NamedExamples examples(5, 12);
  Model model(make_params(Policy::kBestGreedy, 2, 3, 0.1F));
  examples.teach(model);
  auto bytes = saved_bytes(model);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_THROWS(FormatError, Model(make_params(), std::span(bytes).first(n)));
  }
  bytes.push_back(std::byte{0});
  CHECK_THROWS_WITH(FormatError, "1 bytes are left over", Model(make_params(), bytes));
}

TEST("a model with a changed byte loads or throws FormatError, nothing else") {
  const NamedExamples examples(6, 8);
  const TrainParams params = make_params(Policy::kBestGreedy, 2, 3, 0.1F);
  Model model(params);
  examples.teach(model);
  auto bytes = saved_bytes(model);
  std::size_t n_refused = 0;
  for (std::byte& byte : bytes) {
    for (const std::byte change : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
      byte ^= change;
      try {
        const Model loaded(params, bytes);
      } catch (const FormatError&) {
        ++n_refused;
      }
      byte ^= change;
    }
  }
  CHECK(n_refused > bytes.size() / 4);
}

TEST("labels of the tree and of the vocabulary must be the same") {
  Vocabulary two_names;
  std::vector<LabelId> ids;
  const std::vector<std::int32_t> columns{1, 2};
  two_names.add_row({.names = {}, .numbers = columns}, 0, 2, ids);
  const std::vector<NodeId> parents{kNone, 0, 0};
  const std::vector<LabelId> matching{kNone, 1, 0};
  const std::vector<LabelId> with_a_gap{kNone, 0, 2};
  const TrainParams params = make_params();
  const OnlinePlt right(params, LabelTree(parents, matching));
  const OnlinePlt wrong(params, LabelTree(parents, with_a_gap));
  const Model loaded(params, forged({}, two_names, right));
  CHECK_EQ(loaded.inspect([](const Forest& forest, auto&, auto&) { return forest.n_labels(); }), 2U);
  CHECK_THROWS_WITH(FormatError, "2 labels, the vocabulary 0", Model(params, forged({}, {}, right)));
  CHECK_THROWS(FormatError, Model(params, forged({}, two_names, wrong)));  // label 2 has no name
}

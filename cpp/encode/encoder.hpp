// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/shared.hpp"
#include "base/types.hpp"
#include "encode/encoded.hpp"
#include "encode/named_rows.hpp"
#include "encode/text_features.hpp"
#include "encode/vocabulary.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// A view of examples as users pass them: named features, or texts, which may have further features.
struct Inputs {
  NamedRows rows;  // the features; with texts, the further ones
  std::optional<Texts> texts;
  bool has_further = false;               // besides their terms, texts have the features in `rows`
  std::optional<RecordedTexts> recorded;  // instead of `texts`, in training only

  std::size_t size() const {
    return recorded ? recorded->examples.size() : texts ? texts->size() : rows.bounds.n_rows();
  }
};

/// Maps names or texts to ids and values. It grows as it learns.
class Encoder {
 public:
  /// Working memory of one thread.
  struct Scratch {
    std::vector<FeatureId> ids;
    TextRow text;
  };

  /// Takes features by name.
  Encoder() = default;
  /// Takes texts.
  explicit Encoder(TextFeatures text) : features_(std::move(text)) {}

  bool takes_texts() const { return std::holds_alternative<TextFeatures>(features_); }

  /// The features of training example i: new features get ids, and texts are counted. Valid until the next use of
  /// `scratch`. Here and below, inputs must be of the kind that the encoder takes.
  EncodedFeatures learn(const Inputs& inputs, std::size_t i, Scratch& scratch);

  /// The same for prediction: nothing is added or counted.
  EncodedFeatures find(const Inputs& inputs, std::size_t i, Scratch& scratch) const;

  std::uint32_t n_features() const;
  std::size_t memory_bytes() const;
  std::size_t content_bytes() const;

  /// Null if the encoder takes features by name.
  const TextFeatures* text_features() const { return std::get_if<TextFeatures>(&features_); }

  /// Null if the encoder takes texts.
  const Vocabulary* vocabulary() const { return std::get_if<Vocabulary>(&features_); }

  void save(ArrayWriter& out, const std::string& prefix) const;
  /// `text` is set if the encoder takes texts.
  static Encoder load(const ArrayReader& in, const std::string& prefix, const std::optional<TextParams>& text);
  void check() const;

 private:
  std::variant<Vocabulary, TextFeatures> features_;
};

/// Encoder::learn() for an encoder that may be shared: it is copied only if the example changes it, as every text does.
/// If it may not `grow`, it stays as it is, and new features are ignored, as in prediction.
EncodedFeatures learn_features(Shared<Encoder>& encoder, const Inputs& inputs, std::size_t i, bool grow,
                               Encoder::Scratch& scratch);

}  // namespace oplt

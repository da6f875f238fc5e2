// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/encoder.hpp"

#include <algorithm>
#include <utility>

namespace oplt {

namespace {

EncodedFeatures features_of(const TextRow& row) {
  return {.ids = row.ids, .values = row.values, .of_text = true, .frequencies = row.frequencies, .digest = row.digest};
}

bool has_further(const Inputs& inputs, std::size_t i) {
  return inputs.has_further && inputs.rows.bounds.begin(i) < inputs.rows.bounds.end(i);
}

}  // namespace

EncodedFeatures Encoder::learn(const Inputs& inputs, std::size_t i, Scratch& scratch) {
  if (auto* text = std::get_if<TextFeatures>(&features_)) {
    if (inputs.recorded) {
      text->learn(*inputs.recorded, i, scratch.text);
      return features_of(scratch.text);
    }
    text->learn((*inputs.texts)[i], scratch.text);
    if (has_further(inputs, i)) {
      text->learn_further(inputs.rows, i, scratch.text);
    }
    return features_of(scratch.text);
  }
  const NamedRows& rows = inputs.rows;
  std::get<Vocabulary>(features_).add_row(rows.names, rows.bounds.begin(i), rows.bounds.end(i), scratch.ids);
  return {.ids = scratch.ids, .values = rows.bounds.row(rows.values, i)};
}

EncodedFeatures Encoder::find(const Inputs& inputs, std::size_t i, Scratch& scratch) const {
  if (const TextFeatures* text = text_features()) {
    text->find((*inputs.texts)[i], scratch.text);
    if (has_further(inputs, i)) {
      text->find_further(inputs.rows, i, scratch.text);
    }
    return features_of(scratch.text);
  }
  const NamedRows& rows = inputs.rows;
  std::get<Vocabulary>(features_).find_row(rows.names, rows.bounds.begin(i), rows.bounds.end(i), scratch.ids);
  return {.ids = scratch.ids, .values = rows.bounds.row(rows.values, i)};
}

EncodedFeatures learn_features(Shared<Encoder>& encoder, const Inputs& inputs, std::size_t i, bool grow,
                               Encoder::Scratch& scratch) {
  if (!grow && !inputs.recorded) {  // a closed model has no history
    return encoder->find(inputs, i, scratch);
  }
  if (!encoder->takes_texts()) {
    const EncodedFeatures known = encoder->find(inputs, i, scratch);
    if (std::find(known.ids.begin(), known.ids.end(), kNone) == known.ids.end()) {
      return known;
    }
  }
  return encoder.write().learn(inputs, i, scratch);
}

std::uint32_t Encoder::n_features() const {
  const TextFeatures* text = text_features();
  return text != nullptr ? text->terms().size() : std::get<Vocabulary>(features_).size();
}

std::size_t Encoder::memory_bytes() const {
  const TextFeatures* text = text_features();
  return text != nullptr ? text->terms().memory_bytes() : std::get<Vocabulary>(features_).memory_bytes();
}

std::size_t Encoder::content_bytes() const {
  const TextFeatures* text = text_features();
  return text != nullptr ? text->terms().content_bytes() : std::get<Vocabulary>(features_).content_bytes();
}

void Encoder::save(ArrayWriter& out, const std::string& prefix) const {
  std::visit([&](const auto& features) { features.save(out, prefix); }, features_);
}

Encoder Encoder::load(const ArrayReader& in, const std::string& prefix, const std::optional<TextParams>& text) {
  Encoder encoder;
  if (text) {
    encoder.features_ = TextFeatures::load(in, prefix, *text);
  } else {
    encoder.features_ = Vocabulary::load(in, prefix);
  }
  return encoder;
}

void Encoder::check() const {
  std::visit([](const auto& features) { features.check(); }, features_);
}

}  // namespace oplt

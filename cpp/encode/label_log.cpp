// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/label_log.hpp"

#include <cmath>

#include "base/error.hpp"
#include "encode/named_rows.hpp"
#include "encode/packed_bytes.hpp"
#include "encode/unicode.hpp"

namespace oplt {

namespace {

using Kind = LabelOperation::Kind;

constexpr const char* kDamagedLog = "the record of label operations is damaged";

// What a description has.
constexpr std::uint8_t kHasText = 1;
constexpr std::uint8_t kHasFeatures = 2;

bool has_other(Kind kind) { return kind == Kind::kRename || kind == Kind::kMerge; }

void put_name(Bytes& bytes, const Name& name) {
  put_text(bytes, name.text);
  if (!name.is_text()) {
    const auto number = static_cast<std::uint64_t>(name.number);
    put_bytes(bytes, static_cast<std::uint32_t>(number), 4);
    put_bytes(bytes, static_cast<std::uint32_t>(number >> 32), 4);
  }
}

Name read_name(ByteReader& in) {
  if (const std::string_view text = in.text(); !text.empty()) {
    return {.text = text, .number = 0};
  }
  const std::uint64_t low = in.bytes(4);
  const std::uint64_t high = in.bytes(4);
  return {.text = {}, .number = static_cast<std::int64_t>(low | (high << 32))};
}

void put_description(Bytes& bytes, const std::optional<LabelDescription>& description) {
  if (!description) {
    bytes.push_back(0);
    return;
  }
  const bool has_features = !description->text || !description->names.empty();
  bytes.push_back((description->text ? kHasText : 0) | (has_features ? kHasFeatures : 0));
  if (description->text) {
    put_text(bytes, *description->text);
  }
  if (has_features) {
    put_number(bytes, description->names.size());
    for (std::size_t i = 0; i < description->names.size(); ++i) {
      put_name(bytes, description->names[i]);
      put_real(bytes, description->values[i]);
    }
  }
}

std::optional<LabelDescription> read_description(ByteReader& in) {
  const std::uint8_t parts = in.byte();
  in.expect(parts <= (kHasText | kHasFeatures));
  if (parts == 0) {
    return std::nullopt;
  }
  LabelDescription description;
  if ((parts & kHasText) != 0) {
    description.text = in.text();
  }
  if ((parts & kHasFeatures) != 0) {
    for (std::size_t n = in.expect_items(in.number()); n > 0; --n) {
      description.names.push_back(read_name(in));
      description.values.push_back(in.real());
    }
  }
  return description;
}

LabelOperation read_operation(ByteReader& in) {
  const std::uint8_t kind = in.byte();
  in.expect(kind <= static_cast<std::uint8_t>(Kind::kMerge));
  LabelOperation operation{.kind = Kind{kind}, .label = {}};
  operation.n_examples = in.number();
  operation.label = read_name(in);
  if (has_other(operation.kind)) {
    operation.other = read_name(in);
  }
  if (operation.kind == Kind::kAdd) {
    operation.description = read_description(in);
  }
  return operation;
}

bool is_valid(const Name& name) { return !name.is_text() || is_utf8(name.text); }

bool is_valid(const std::optional<LabelDescription>& description, bool of_texts) {
  if (!description) {
    return true;
  }
  bool good = description->text.has_value() == of_texts;
  for (std::size_t i = 0; i < description->names.size(); ++i) {
    good = good && is_valid(description->names[i]) && std::abs(description->values[i]) <= kLargestValue;
  }
  return good;
}

}  // namespace

void LabelLog::append(const LabelOperation& operation) {
  Bytes bytes{static_cast<std::uint8_t>(operation.kind)};
  put_number(bytes, operation.n_examples);
  put_name(bytes, operation.label);
  if (has_other(operation.kind)) {
    put_name(bytes, operation.other);
  }
  if (operation.kind == Kind::kAdd) {
    put_description(bytes, operation.description);
  }
  bytes_.own();
  begins_.push_back(bytes_.size());
  bytes_.append(bytes);
  n_texts_ += operation.description && operation.description->text ? 1 : 0;
}

LabelOperation LabelLog::operator[](std::size_t i) const {
  ByteReader in(bytes_.view(), begins_[i], kDamagedLog);
  return read_operation(in);
}

void LabelLog::save(ArrayWriter& out, const std::string& prefix) const {
  out.put_one(prefix + "/n_operations", static_cast<std::uint64_t>(size()));
  out.put(prefix + "/operations", bytes_);
}

LabelLog LabelLog::load(const ArrayReader& in, const std::string& prefix) {
  LabelLog log;
  log.bytes_ = in.get<std::uint8_t>(prefix + "/operations");
  ByteReader reader(log.bytes_.view(), 0, kDamagedLog);
  while (reader.offset() < log.bytes_.size()) {
    log.begins_.push_back(reader.offset());
    const LabelOperation operation = read_operation(reader);
    log.n_texts_ += operation.description && operation.description->text ? 1 : 0;
  }
  expect_format(log.size() == in.get_one<std::uint64_t>(prefix + "/n_operations"), kDamagedLog);
  return log;
}

void LabelLog::check(std::uint64_t n_examples, bool of_texts) const {
  std::uint64_t latest = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const LabelOperation operation = (*this)[i];
    expect_format(operation.n_examples >= latest && operation.n_examples <= n_examples && is_valid(operation.label) &&
                      is_valid(operation.other) && is_valid(operation.description, of_texts),
                  kDamagedLog);
    latest = operation.n_examples;
  }
}

}  // namespace oplt

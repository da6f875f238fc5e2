// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/history.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "encode/named_rows.hpp"
#include "encode/packed_bytes.hpp"

namespace oplt {

namespace {

constexpr const char* kDamaged = "the history of examples is damaged";

constexpr std::size_t kChunk = std::size_t{1} << 18;  // bytes; appending after a snapshot copies up to one chunk

// How a value is stored, in the two lowest bits of the difference of ids.
constexpr std::uint64_t kSame = 0;  // nothing: as the value before it
constexpr std::uint64_t kNear = 1;  // three bytes: its first byte, sign and most of the exponent, is as before
constexpr std::uint64_t kFull = 2;  // four bytes
constexpr std::uint64_t kOnce = 4;  // of a text: the term occurs once; otherwise its frequency follows
constexpr std::uint32_t kFirst = 0x3f800000;  // what the first value is compared with: 1

// The lowest bits of the number of labels.
constexpr std::uint64_t kWeighted = 1;  // the weight is not 1, and follows
constexpr std::uint64_t kText = 2;      // frequencies are stored

void read_labels(ByteReader& in, std::uint64_t n_labels, EncodedExample& example) {
  example.label_names.clear();
  const std::size_t n = in.expect_items(n_labels);
  NameId name = 0;
  for (std::size_t i = 0; i < n; ++i) {
    name = in.id(name, in.number());
    example.label_names.push_back(name);
  }
}

void read_features(ByteReader& in, EncodedExample& example) {
  const bool of_text = example.of_text;
  example.ids.clear();
  example.values.clear();
  example.frequencies.clear();
  const std::size_t n = in.expect_items(in.number());
  const int n_flags = of_text ? 3 : 2;
  std::uint32_t id = 0;
  std::uint32_t bits = kFirst;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t head = in.number();
    id = in.id(id, head >> n_flags);
    const std::uint64_t kind = head & 3;
    if (kind == kNear) {
      bits = (bits & 0xff000000) | in.bytes(3);
    } else if (kind == kFull) {
      bits = in.bytes(4);
    } else {
      in.expect(kind == kSame);
    }
    example.ids.push_back(id);
    example.values.push_back(std::bit_cast<Real>(bits));
    if (of_text) {
      example.frequencies.push_back((head & kOnce) != 0 ? 1 : in.id(0, in.number()));
    }
  }
}

bool has_valid_features(const EncodedExample& example, std::uint32_t n_features) {
  const auto is_finite = [](Real value) { return std::isfinite(value); };
  std::uint32_t last_term = kNone;
  for (std::size_t i = 0; i < example.frequencies.size(); ++i) {
    if (example.frequencies[i] > 0 && std::exchange(last_term, example.ids[i]) == example.ids[i]) {
      return false;  // a text lists a term once
    }
  }
  return (example.ids.empty() || example.ids.back() < n_features) && std::ranges::all_of(example.values, is_finite) &&
         example.weight > 0 && example.weight <= kLargestWeight;
}

bool has_valid_labels(const EncodedExample& example, std::uint32_t n_names) {
  const std::vector<NameId>& names = example.label_names;
  return (names.empty() || names.back() < n_names) &&
         std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) == names.end();
}

}  // namespace

void History::Piece::clear() {
  bytes_.clear();
  n_examples_ = 0;
}

void History::Piece::add(const EncodedFeatures& features, std::span<const NameId> label_names, Real weight) {
  const bool of_text = features.of_text;
  put_number(bytes_, (label_names.size() << 2) | (weight != 1 ? kWeighted : 0) | (of_text ? kText : 0));
  if (weight != 1) {
    put_real(bytes_, weight);
  }
  NameId before = 0;
  for (const NameId name : label_names) {
    put_number(bytes_, name - std::exchange(before, name));
  }

  sorted_.clear();
  for (std::size_t i = 0; i < features.ids.size(); ++i) {
    sorted_.emplace_back(pack(features.ids[i], features.values[i]), of_text ? features.frequencies[i] : 0);
  }
  std::sort(sorted_.begin(), sorted_.end());
  if (!of_text) {  // as RowBuilder does, so that examples that make equal rows are stored in the same way
    add_up_repeated(sorted_, &std::pair<PackedFeature, std::uint32_t>::first);
  }
  put_number(bytes_, sorted_.size());
  std::uint64_t id_before = 0;
  std::uint32_t bits_before = kFirst;
  for (const auto& [packed, frequency] : sorted_) {
    const std::uint64_t id = unpack_id(packed);
    const std::uint32_t bits = unpack_bits(packed);
    const std::uint64_t kind = bits == bits_before ? kSame : (bits ^ bits_before) >> 24 == 0 ? kNear : kFull;
    const std::uint64_t difference = id - std::exchange(id_before, id);
    put_number(bytes_, of_text ? (difference << 3) | (frequency == 1 ? kOnce : 0) | kind : (difference << 2) | kind);
    put_bytes(bytes_, bits, kind == kSame ? 0 : kind == kNear ? 3 : 4);
    if (of_text && frequency != 1) {
      put_number(bytes_, frequency);
    }
    bits_before = bits;
  }
  ++n_examples_;
}

void History::append(const Piece& piece) {
  if (chunks_.empty() || !chunks_.back()->is_own() || chunks_.back()->size() >= kChunk) {
    chunks_.emplace_back();
  }
  chunks_.back().write().append(piece.bytes_);
  n_examples_ += piece.n_examples_;
}

std::size_t History::memory_bytes() const {
  std::size_t n = 0;
  for (const Shared<Chunk>& chunk : chunks_) {
    n += chunk->memory_bytes();
  }
  return n;
}

std::size_t History::content_bytes() const {
  std::size_t n = 0;
  for (const Shared<Chunk>& chunk : chunks_) {
    n += chunk->content_bytes();
  }
  return n;
}

void History::Reader::next(const History& history, EncodedExample& example) {
  while (chunk_ < history.chunks_.size() && offset_ == history.chunks_[chunk_]->size()) {
    ++chunk_;
    offset_ = 0;
  }
  expect_format(chunk_ < history.chunks_.size(), kDamaged);
  ByteReader in(history.chunks_[chunk_]->view(), offset_, kDamaged);
  const std::uint64_t head = in.number();
  example.weight = (head & kWeighted) != 0 ? in.real() : Real{1};
  example.of_text = (head & kText) != 0;
  read_labels(in, head >> 2, example);
  read_features(in, example);
  offset_ = in.offset();
  ++n_read_;
}

bool History::Reader::is_at_end(const History& history) const {
  return history.chunks_.empty() || (chunk_ + 1 == history.chunks_.size() && offset_ == history.chunks_.back()->size());
}

void History::save(ArrayWriter& out, const std::string& prefix) const {
  out.put_one(prefix + "/n_examples", n_examples_);
  out.begin<std::uint8_t>(prefix + "/examples");
  for (const Shared<Chunk>& chunk : chunks_) {
    out.append(chunk->view());
  }
}

History History::load(const ArrayReader& in, const std::string& prefix) {
  History history;
  history.n_examples_ = in.get_one<std::uint64_t>(prefix + "/n_examples");
  Chunk bytes = in.get<std::uint8_t>(prefix + "/examples");
  if (!bytes.empty()) {
    history.chunks_.emplace_back(std::move(bytes));
  }
  return history;
}

void History::check(std::uint32_t n_features, std::uint32_t n_label_names, bool of_texts) const {
  constexpr const char* kNoMatch = "the history of examples does not match the model";
  Reader reader;
  EncodedExample example;
  while (reader.n_read() < n_examples_) {
    reader.next(*this, example);
    expect_format(example.of_text == of_texts && has_valid_features(example, n_features) &&
                      has_valid_labels(example, n_label_names),
                  kNoMatch);
  }
  expect_format(reader.is_at_end(*this), kNoMatch);
}

}  // namespace oplt

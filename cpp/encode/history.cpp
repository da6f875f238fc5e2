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

namespace oplt {

namespace {

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

void put_number(std::vector<std::uint8_t>& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) {
    bytes.push_back(static_cast<std::uint8_t>(number | 0x80));
  }
  bytes.push_back(static_cast<std::uint8_t>(number));
}

/// The lowest n bytes, independent of the machine's byte order.
void put_bytes(std::vector<std::uint8_t>& bytes, std::uint32_t number, int n) {
  for (int i = 0; i < n; ++i, number >>= 8) {
    bytes.push_back(static_cast<std::uint8_t>(number));
  }
}

[[noreturn]] void report_damage() { throw FormatError("the history of examples is damaged"); }

class ByteReader {
 public:
  ByteReader(std::span<const std::uint8_t> bytes, std::size_t offset) : bytes_(bytes), offset_(offset) {}

  std::uint8_t byte() {
    if (offset_ == bytes_.size()) {
      report_damage();
    }
    return bytes_[offset_++];
  }

  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      number |= (next & 0x7f) << shift;
      if (next < 0x80) {
        return number;
      }
    }
    report_damage();
  }

  std::uint32_t bytes(int n) {
    std::uint32_t number = 0;
    for (int i = 0; i < n; ++i) {
      number |= std::uint32_t{byte()} << (8 * i);
    }
    return number;
  }

  /// An id that is stored as the difference from the one before it.
  std::uint32_t id(std::uint64_t before, std::uint64_t difference) const {
    if (difference > kNone || before + difference >= kNone) {
      report_damage();
    }
    return static_cast<std::uint32_t>(before + difference);
  }

  /// Each item takes at least a byte.
  std::size_t expect_items(std::uint64_t n) const {
    if (n > bytes_.size() - offset_) {
      report_damage();
    }
    return n;
  }

  std::size_t offset() const { return offset_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t offset_;
};

void read_labels(ByteReader& in, std::uint64_t n_labels, EncodedExample& example) {
  example.labels.clear();
  const std::size_t n = in.expect_items(n_labels);
  std::uint32_t label = 0;
  for (std::size_t i = 0; i < n; ++i) {
    label = in.id(label, in.number());
    example.labels.push_back(label);
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
    } else if (kind != kSame) {
      report_damage();
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

/// `n_known` is the number of labels of former examples, and is updated.
bool has_valid_labels(const EncodedExample& example, std::uint32_t& n_known) {
  const std::vector<LabelId>& labels = example.labels;
  for (const LabelId label : labels) {
    if (label > n_known) {
      return false;
    }
    n_known += label == n_known ? 1 : 0;
  }
  return std::adjacent_find(labels.begin(), labels.end(), std::greater_equal<>()) == labels.end();
}

}  // namespace

void History::Piece::clear() {
  bytes_.clear();
  n_examples_ = 0;
}

void History::Piece::add(const EncodedFeatures& features, std::span<const LabelId> labels, Real weight) {
  const bool of_text = features.of_text;
  put_number(bytes_, (labels.size() << 2) | (weight != 1 ? kWeighted : 0) | (of_text ? kText : 0));
  if (weight != 1) {
    put_bytes(bytes_, std::bit_cast<std::uint32_t>(weight), 4);
  }
  LabelId before = 0;
  for (const LabelId label : labels) {
    put_number(bytes_, label - std::exchange(before, label));
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
  for (const Shared<Bytes>& chunk : chunks_) {
    n += chunk->memory_bytes();
  }
  return n;
}

void History::Reader::next(const History& history, EncodedExample& example) {
  while (chunk_ < history.chunks_.size() && offset_ == history.chunks_[chunk_]->size()) {
    ++chunk_;
    offset_ = 0;
  }
  if (chunk_ == history.chunks_.size()) {
    report_damage();
  }
  ByteReader in(history.chunks_[chunk_]->view(), offset_);
  const std::uint64_t head = in.number();
  example.weight = (head & kWeighted) != 0 ? std::bit_cast<Real>(in.bytes(4)) : Real{1};
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
  for (const Shared<Bytes>& chunk : chunks_) {
    out.append(chunk->view());
  }
}

History History::load(const ArrayReader& in, const std::string& prefix) {
  History history;
  history.n_examples_ = in.get_one<std::uint64_t>(prefix + "/n_examples");
  Bytes bytes = in.get<std::uint8_t>(prefix + "/examples");
  if (!bytes.empty()) {
    history.chunks_.emplace_back(std::move(bytes));
  }
  return history;
}

void History::check(std::uint32_t n_features, std::uint32_t n_labels, bool of_texts) const {
  constexpr const char* kNoMatch = "the history of examples does not match the model";
  std::uint32_t n_known = 0;
  Reader reader;
  EncodedExample example;
  while (reader.n_read() < n_examples_) {
    reader.next(*this, example);
    expect_format(
        example.of_text == of_texts && has_valid_features(example, n_features) && has_valid_labels(example, n_known),
        kNoMatch);
  }
  expect_format(reader.is_at_end(*this) && (n_examples_ == 0 || n_known == n_labels), kNoMatch);
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/shared.hpp"
#include "base/types.hpp"
#include "encode/encoded.hpp"
#include "encode/packed_bytes.hpp"
#include "encode/packed_feature.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// All examples of a stream, in order and exact to the bit, at about 5 bytes per feature value.
///
/// The ids of an example are stored as differences in 7-bit groups, and a value as its last three bytes if its first
/// byte is that of the value before it, as is mostly the case if values are of similar size. A copy shares all chunks
/// with the original, except the last one once it is written.
class History {
 public:
  /// Encoded examples, to be appended. May be filled by another thread than the one that owns the history.
  class Piece {
   public:
    void add(const EncodedFeatures& features, std::span<const NameId> label_names, Real weight);
    void clear();

   private:
    friend class History;

    Bytes bytes_;
    std::uint64_t n_examples_ = 0;
    std::vector<std::pair<PackedFeature, std::uint32_t>> sorted_;  // with frequencies; working memory
  };

  void append(const Piece& piece);

  std::uint64_t size() const { return n_examples_; }
  std::size_t memory_bytes() const;
  std::size_t content_bytes() const;

  /// Reads the examples in order. More may be appended meanwhile, and are then read, too.
  class Reader {
   public:
    /// Reads the next example, of which there must be one. Throws FormatError if the bytes are damaged.
    void next(const History& history, EncodedExample& example);
    std::uint64_t n_read() const { return n_read_; }
    bool is_at_end(const History& history) const;

   private:
    std::size_t chunk_ = 0;
    std::size_t offset_ = 0;  // within the chunk
    std::uint64_t n_read_ = 0;
  };

  /// The arrays do not depend on how the examples were split into pieces.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static bool is_in(const ArrayReader& in, const std::string& prefix) { return in.has(prefix + "/examples"); }
  /// The bytes stay in the file.
  static History load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError unless the examples are consistent with a model that has these numbers of features and of names
  /// of labels.
  void check(std::uint32_t n_features, std::uint32_t n_label_names, bool of_texts) const;

 private:
  using Chunk = Buffer<std::uint8_t>;

  std::vector<Shared<Chunk>> chunks_;  // an example does not extend beyond its chunk
  std::uint64_t n_examples_ = 0;
};

}  // namespace oplt

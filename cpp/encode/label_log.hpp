// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/types.hpp"
#include "encode/vocabulary.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// What is known about a label without an example: a text, features by name, or both. A view.
struct LabelDescription {
  std::optional<std::string_view> text;
  std::vector<Name> names;
  std::vector<Real> values;
};

/// A change of labels that a user asks for. A view: it owns neither names nor text.
struct LabelOperation {
  enum class Kind : std::uint8_t {
    kAdd,     // makes a label known, and may describe it
    kRename,  // gives it another name
    kHide,    // it is learnt, but not predicted
    kUnhide,
    kRemove,  // it is neither predicted nor learnt any more
    kMerge,   // it becomes a part of another label
  };

  Kind kind;
  Name label;
  Name other = {};  // kRename: the new name; kMerge: the label that it becomes a part of
  std::optional<LabelDescription> description = {};  // kAdd only
  std::uint64_t n_examples = 0;                      // learnt before the operation
};

/// All operations on the labels of a model, in order.
class LabelLog {
 public:
  void append(const LabelOperation& operation);

  std::size_t size() const { return begins_.size(); }
  /// Valid until the next change of the log.
  LabelOperation operator[](std::size_t i) const;

  /// Number of operations whose description has a text.
  std::uint64_t n_texts() const { return n_texts_; }
  std::size_t memory_bytes() const { return bytes_.memory_bytes() + begins_.capacity() * sizeof(begins_[0]); }
  std::size_t content_bytes() const { return bytes_.content_bytes() + begins_.size() * sizeof(begins_[0]); }

  void save(ArrayWriter& out, const std::string& prefix) const;
  /// Reads all operations. Throws FormatError if they are damaged.
  static LabelLog load(const ArrayReader& in, const std::string& prefix);
  /// Throws FormatError unless every operation is possible after at most this number of examples, in a model of texts
  /// or of features.
  void check(std::uint64_t n_examples, bool of_texts) const;

 private:
  Buffer<std::uint8_t> bytes_;
  std::vector<std::uint64_t> begins_;  // of each operation in bytes_
  std::uint64_t n_texts_ = 0;
};

}  // namespace oplt

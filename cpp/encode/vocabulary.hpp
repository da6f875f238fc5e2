// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/keyed_hash.hpp"
#include "base/types.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The name of a label or a feature: a non-empty UTF-8 string or a 64-bit integer. A view: it owns no text.
struct Name {
  std::string_view text;    // empty for an integer
  std::int64_t number = 0;  // 0 for a string

  bool is_text() const { return !text.empty(); }
  friend bool operator==(const Name&, const Name&) = default;
};

/// Integers before strings; integers by value, strings by their bytes.
bool operator<(const Name& a, const Name& b);

/// A view of a list of names: any names, or column numbers of a matrix.
struct NameList {
  std::span<const Name> names;
  std::span<const std::int32_t> numbers;  // used when names is empty

  std::size_t size() const { return names.empty() ? numbers.size() : names.size(); }
  Name operator[](std::size_t i) const { return names.empty() ? Name{.text = {}, .number = numbers[i]} : names[i]; }
};

/// A growing map between names and dense ids 0, 1, 2, … in order of arrival.
///
/// Names that arrive together (in one example) get their ids in sorted order, so that the order in which an example
/// lists its features or labels never matters.
class Vocabulary {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

  /// The id of a name, or kNone.
  std::uint32_t find(const Name& name) const;

  /// The ids of names [begin, end); kNone for those unknown.
  void find_row(const NameList& names, std::size_t begin, std::size_t end, std::vector<std::uint32_t>& ids) const;

  /// The same for the names of one training example: unknown names are added.
  void add_row(const NameList& names, std::size_t begin, std::size_t end, std::vector<std::uint32_t>& ids);

  Name name(std::uint32_t id) const;

  /// The kinds of names from an id on.
  struct Kinds {
    bool strings = false;
    bool integers = false;
    std::int64_t largest = -1;  // of the integers, if one is 0 or larger
  };
  Kinds kinds(std::uint32_t begin = 0) const;

  std::size_t memory_bytes() const;
  /// At most what the arrays take without spare capacity: the hash table has up to four slots per name.
  std::size_t content_bytes() const {
    return names_.content_bytes() + text_.content_bytes() + direct_.content_bytes() +
           n_hashed_ * 4 * sizeof(std::uint32_t);
  }

  /// Equal vocabularies write equal arrays. Loaded arrays stay in the file until a name is added; only their sizes have
  /// been checked.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static Vocabulary load(const ArrayReader& in, const std::string& prefix);

  /// Full check. Throws FormatError unless every name occurs once and can be found.
  void check() const;

 private:
  struct Entry {
    std::uint64_t begin_or_number;  // where the text begins in text_, or the integer
    std::uint32_t length;           // 0: an integer
    std::uint32_t unused = 0;       // instead of padding, whose bytes are undefined
  };
  // The table holds only ids, and lookups compare the names of the ids, so that each text is stored once.
  static std::uint64_t public_hash(const Name& name);
  std::uint64_t hash(const Name& name) const { return key_ ? secret_hash(name) : public_hash(name); }
  std::uint64_t secret_hash(const Name& name) const;
  static bool is_direct(const Name& name) { return !name.is_text() && name.number >= 0 && name.number < kDirect; }
  std::size_t slot_of(const Name& name) const;
  void add(const Name& name);
  bool insert(std::uint32_t id);
  void fill();
  void use_secret_hash();
  Buffer<std::uint32_t> public_slots() const;
  void check_tables() const;
  bool is_found(std::uint32_t id, std::span<const std::uint64_t> hashes) const;

  // Column numbers of a matrix are small integers: those below this bound have a plain table, the others are hashed.
  static constexpr std::int64_t kDirect = 1 << 22;

  Buffer<Entry> names_;
  Buffer<char> text_;             // all strings, concatenated
  Buffer<std::uint32_t> direct_;  // integer -> id
  // Open addressing: ids of all names that are not in direct_, as if inserted in ascending order. See slots.hpp.
  Buffer<std::uint32_t> slots_;
  std::optional<HashKey> key_;  // set if too many hashes of names collide; never saved
  std::uint32_t n_hashed_ = 0;
};

}  // namespace oplt

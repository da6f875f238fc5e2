// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Terms of texts, and their hashes. The hashes are the same on every machine: with hash_bits, they determine which
// terms share a feature, and are part of the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace oplt {

/// Combines both halves of a hash, because the upper one may be 0 in all terms of a table.
inline std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); }

/// A term of a text: a word, a word n-gram or a character n-gram. A view.
struct Term {
  std::string_view text;
  bool is_chars = false;   // a character n-gram, which is distinct from a word with the same text
  std::uint64_t hash = 0;  // of both members above

  std::uint32_t tag() const { return tag_of(hash); }

  /// The hash of a text of at most 8 bytes is a bijection (see make_term), so equal ones need no comparison.
  friend bool operator==(const Term& a, const Term& b) {
    return a.hash == b.hash && a.text.size() == b.text.size() && a.is_chars == b.is_chars &&
           (a.text.size() <= kBijective || a.text == b.text);
  }

  static constexpr std::size_t kBijective = 8;
};

namespace hashing {

template <class T>
std::uint64_t read(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// The last 8 bytes of a text as one number. For a short text, overlapping reads are faster than a loop over bytes;
/// they are ambiguous, but the length is mixed into the hash elsewhere.
inline std::uint64_t read_last(std::string_view text) {
  const char* const end = text.data() + text.size();
  if (text.size() >= 8) {
    return read<std::uint64_t>(end - 8);
  }
  if (text.size() >= 4) {
    return read<std::uint32_t>(text.data()) << 32 | read<std::uint32_t>(end - 4);
  }
  if (text.empty()) {
    return 0;
  }
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(text[i])}; };
  return byte(0) << 16 | byte(text.size() / 2) << 8 | byte(text.size() - 1);
}

/// The same for a text of 1 to 7 bytes, the first of the 8 bytes of `word`.
inline std::uint64_t last_of_short(std::uint64_t word, std::size_t size) {
  const auto from = [&](std::size_t i) { return word >> (8 * (i & 7)); };
  const std::uint64_t four_or_more = word << 32 | (from(size - 4) & 0xFFFFFFFF);
  const std::uint64_t fewer = (word & 0xFF) << 16 | (from(size / 2) & 0xFF) << 8 | (from(size - 1) & 0xFF);
  return size >= 4 ? four_or_more : fewer;
}

inline std::uint64_t mixed(std::uint64_t h) {
  h *= 0x9E3779B97F4A7C15ULL;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ULL;
  return h ^ (h >> 29);
}

}  // namespace hashing

/// Texts of the same length and kind that have at most 8 bytes have different hashes: read_last() keeps all their
/// bytes, and mixed() is a bijection.
inline Term make_term(std::string_view text, bool is_chars) {
  std::uint64_t h = hashing::mixed(2 * text.size() + (is_chars ? 1 : 0));
  for (std::string_view rest = text; rest.size() > 8; rest.remove_prefix(8)) {
    h = hashing::mixed(h ^ hashing::read<std::uint64_t>(rest.data()));
  }
  return {text, is_chars, hashing::mixed(h ^ hashing::read_last(text))};
}

/// The same for a text that is not empty, and is followed by bytes that may be read, so that it has 8 of them. The
/// lengths of words cannot be predicted; this has hardly any branches that depend on them.
inline Term make_term_of_words(std::string_view text, bool is_chars) {
  std::uint64_t h = hashing::mixed(2 * text.size() + (is_chars ? 1 : 0));
  for (std::string_view rest = text; rest.size() > 8; rest.remove_prefix(8)) {
    h = hashing::mixed(h ^ hashing::read<std::uint64_t>(rest.data()));
  }
  const std::size_t size = text.size();
  const std::uint64_t word = hashing::read<std::uint64_t>(text.data() + (size > 8 ? size - 8 : 0));
  const std::uint64_t if_short = hashing::last_of_short(word, size & 7);
  return {text, is_chars, hashing::mixed(h ^ (size >= 8 ? word : if_short))};
}

}  // namespace oplt

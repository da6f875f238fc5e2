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

  friend bool operator==(const Term& a, const Term& b) { return a.hash == b.hash && a.text == b.text; }
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

inline std::uint64_t mixed(std::uint64_t h) {
  h *= 0x9E3779B97F4A7C15ULL;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ULL;
  return h ^ (h >> 29);
}

}  // namespace hashing

inline Term make_term(std::string_view text, bool is_chars) {
  std::uint64_t h = hashing::mixed(2 * text.size() + (is_chars ? 1 : 0));
  for (std::string_view rest = text; rest.size() > 8; rest.remove_prefix(8)) {
    h = hashing::mixed(h ^ hashing::read<std::uint64_t>(rest.data()));
  }
  return {text, is_chars, hashing::mixed(h ^ hashing::read_last(text))};
}

}  // namespace oplt

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
#include "base/keyed_hash.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"
#include "encode/slots.hpp"
#include "encode/term.hpp"
#include "io/array_file.hpp"

namespace oplt {

inline constexpr std::uint32_t kMostTerms = 0x7FFFFFFF;  // so that ids can be column indices of matrices (int32)

/// Assigns ids 0, 1, 2, … to terms in order of arrival, and counts the texts that contain each term.
///
/// With a limit, the table keeps the most frequent terms by the algorithm "Space-Saving" (Metwally, Agrawal, El
/// Abbadi: Efficient computation of frequent and top-k elements in data streams, ICDT 2005): when it is full, a new
/// term takes over the id and the score of the term with the lowest score. So new terms that keep occurring stay, and
/// old terms that no longer occur are replaced; and a term that occurs in more than (total number of terms in all
/// texts) / limit texts is always in the table.
class TermTable {
 public:
  /// `hash_bits` > 0: terms are not stored; terms whose hashes have the same last `hash_bits` bits share an id. `limit`
  /// > 0: at most `limit` terms.
  TermTable(std::uint32_t hash_bits, std::uint32_t limit);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

  /// The key by which the table stores a term; with hash_bits, it has no text.
  Term key(const Term& term) const {
    return hash_bits_ == 0 ? term : Term{{}, false, term.hash & ((std::uint64_t{1} << hash_bits_) - 1)};
  }

  /// The id of a key, or kNone.
  std::uint32_t find(const Term& key) const {
    const std::size_t slot = slots_.empty() ? kNoSlot : slot_of(key);
    return slot == kNoSlot ? kNone : slots_[slot].id;
  }

  /// Prefetches what find() reads. For many keys, call the first function for all of them, then the second one, and so
  /// on: slots, entries, texts. Harmless but useless if the table has a secret key.
  void prefetch_slot(const Term& key) const {
    if (!slots_.empty()) {
      prefetch(slots_.data() + home(key.hash));
    }
  }
  void prefetch_entry(const Term& key) const {
    if (hash_bits_ == 0 && !slots_.empty()) {
      const std::uint32_t id = slots_[home(key.hash)].id;
      const Entry* entry = entries_.data() + (id == kNone ? 0 : id);
      prefetch(&entry->begin);
      prefetch(&entry->is_chars);  // half of the entries are in two cache lines
    }
  }
  void prefetch_text(const Term& key) const {
    if (hash_bits_ == 0 && !slots_.empty()) {
      const std::uint32_t id = slots_[home(key.hash)].id;
      if (key.text.size() > Term::kBijective) {  // find() does not compare shorter ones
        prefetch(text_.data() + (id == kNone ? 0 : entries_[id].begin));
      }
    }
  }

  /// Begins the next text.
  void next_text();
  std::uint64_t n_texts() const { return n_texts_; }

  /// Counts the term for the current text; to be called once per text and term.
  void count(std::uint32_t id) {
    entries_.own();
    Entry& entry = entries_[id];
    entry.score += entry.score < kLargestScore ? 1 : 0;
    entry.last_text = n_texts_;
  }

  /// Whether the term has been counted for the current text.
  bool is_of_this_text(std::uint32_t id) const { return entries_[id].last_text == n_texts_; }

  /// Adds a key that is not in the table and counts it for the current text. Returns its id, or kNone if the table is
  /// full of terms of the current text.
  std::uint32_t add(const Term& key);

  /// Number of texts that contained the term since it was last added.
  std::uint32_t n_texts_with(std::uint32_t id) const { return entries_[id].score - entries_[id].inherited; }

  /// Whether no term has been replaced, nor may be by the next text.
  bool is_complete() const { return limit_ == 0 || size() < limit_; }

  /// Valid until a term is added.
  Term term(std::uint32_t id) const {
    const Entry& entry = entries_[id];
    return {{text_.data() + entry.begin, entry.length}, entry.is_chars != 0, entry.hash};
  }

  std::size_t memory_bytes() const;
  /// At most what the arrays take without spare capacity and replaced terms. The hash table has up to four slots per
  /// term; with a limit, there are two further lists of terms.
  std::size_t content_bytes() const {
    return size() * (sizeof(Entry) + 4 * sizeof(Slot) + (limit_ > 0 ? 12 : 0)) + (text_.size() - n_gone_);
  }

  /// Equal tables write equal arrays. Loaded arrays stay in the file until a term is counted; only their sizes have
  /// been checked.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static TermTable load(const ArrayReader& in, const std::string& prefix, std::uint32_t hash_bits, std::uint32_t limit);

  /// Full check. Throws FormatError unless every term occurs once, can be found, and has a possible count.
  void check() const;

 private:
  struct Entry {
    std::uint64_t begin;  // of its text in text_
    std::uint64_t hash;
    std::uint64_t last_text;  // number of the last text that contained it, from 1; 0 in a file
    std::uint32_t length;     // of its text
    std::uint32_t score;      // number of texts that contained it, plus `inherited`
    std::uint32_t inherited;
    std::uint32_t is_chars;  // 0 or 1
  };
  struct Slot {
    std::uint32_t tag = 0;  // part of the hash: rules out most other terms without reading their entries
    std::uint32_t id = kNone;
  };

  std::uint64_t hash(const Term& key) const { return key_ ? secret_hash(key) : key.hash; }
  std::uint64_t secret_hash(const Term& key) const;
  std::size_t secret_slot_of(const Term& key) const;
  std::size_t home(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  /// The slot of the key, or the empty slot where it would go; kNoSlot if that is too far.
  std::size_t slot_of(const Term& key) const {
    if (key_) [[unlikely]] {
      return secret_slot_of(key);
    }
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = key.tag();
    std::size_t i = home(key.hash);
    std::size_t n_left = kMostProbes;
    // With hash_bits the tag is the whole key.
    while (slots_[i].id != kNone && !(slots_[i].tag == tag && (hash_bits_ > 0 || term(slots_[i].id) == key))) {
      i = (i + 1) & mask;
      if (--n_left == 0) [[unlikely]] {
        return kNoSlot;
      }
    }
    return i;
  }
  bool insert(std::uint32_t id);
  void erase(std::uint32_t id);
  void fill();
  void use_secret_hash();
  Buffer<Slot> public_slots() const;
  void own();
  std::uint64_t add_text(std::string_view text);
  std::uint32_t take_rarest();
  void push_rarest(std::uint32_t id);
  void check_entries() const;

  static constexpr std::uint32_t kLargestScore = 0xFFFFFFFF;  // scores saturate here instead of wrapping around
  static constexpr std::uint64_t kMostTexts = std::uint64_t{1} << 62;  // counting ends here; only forged files reach it

  std::uint32_t hash_bits_;
  std::uint32_t limit_;
  std::uint64_t n_texts_ = 0;
  Buffer<Entry> entries_;
  Buffer<char> text_;           // texts of all terms, and of some that were replaced
  std::size_t n_gone_ = 0;      // number of bytes of the latter
  Buffer<Slot> slots_;          // open addressing; see slots.hpp
  std::optional<HashKey> key_;  // set if too many hashes of terms collide; never saved
  // A heap of (score, id), smallest first, built when a term must be replaced for the first time. Scores in it may be
  // outdated, but only too small.
  std::vector<std::uint64_t> rarest_;
  std::vector<std::uint32_t> of_this_text_;  // ids that are kept out of the heap until the next text
};

}  // namespace oplt

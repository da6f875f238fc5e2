// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "base/error.hpp"
#include "encode/slots.hpp"
#include "encode/term_table.hpp"
#include "encode/unicode.hpp"

namespace oplt {

/// Writes the texts in order of ids, without those of replaced terms, and last_text as 0, because no text is being
/// learnt.
void TermTable::save(ArrayWriter& out, const std::string& prefix) const {
  constexpr std::size_t kAppended = 4096;  // entries, or about as many characters, written at a time
  out.put_one(prefix + "/n_texts", n_texts_);
  out.begin<Entry>(prefix + "/terms");
  std::vector<Entry> entries;
  std::uint64_t end = 0;
  for (std::uint32_t id = 0; id < size(); ++id) {
    entries.push_back(entries_[id]);
    entries.back().last_text = 0;
    entries.back().begin = end;
    end += entries.back().length;
    if (entries.size() == kAppended || id + 1 == size()) {
      out.append<Entry>(entries);
      entries.clear();
    }
  }
  out.begin<char>(prefix + "/text");
  std::string text;
  for (std::uint32_t id = 0; id < size(); ++id) {
    text += term(id).text;
    if (text.size() >= kAppended || id + 1 == size()) {
      out.append<char>(text);
      text.clear();
    }
  }
  const bool any_gone = limit_ > 0 && size() >= limit_;  // possibly; else the slots were filled in order of ids
  out.put(prefix + "/slots", key_ || any_gone ? public_slots() : slots_);
}

TermTable TermTable::load(const ArrayReader& in, const std::string& prefix, std::uint32_t hash_bits,
                          std::uint32_t limit) {
  TermTable table(hash_bits, limit);
  table.n_texts_ = in.get_one<std::uint64_t>(prefix + "/n_texts");
  table.entries_ = in.get<Entry>(prefix + "/terms");
  table.text_ = in.get<char>(prefix + "/text");
  table.slots_ = in.get<Slot>(prefix + "/slots");
  expect_format(table.entries_.size() <= (limit > 0 ? limit : kMostTerms),
                "the text features hold more terms than max_features");
  expect_format(table.slots_.size() == n_slots_for(table.size()),
                "the hash table of the text features has the wrong size for its terms");
  if (has_long_run(table.slots_.size(), [&](std::size_t i) { return table.slots_[i].id != kNone; })) {
    table.check_entries();
    table.use_secret_hash();
  }
  return table;
}

/// Checks each entry by itself.
void TermTable::check_entries() const {
  expect_format(n_texts_ <= kMostTexts, "the text features have an impossible number of texts");
  std::uint64_t n_chars = 0;
  for (std::uint32_t id = 0; id < size(); ++id) {
    const Entry& entry = entries_[id];
    expect_format(entry.begin <= text_.size() && entry.length <= text_.size() - entry.begin && entry.is_chars <= 1,
                  "a term of the text features extends beyond the end of their text");
    expect_format(
        entry.inherited < entry.score && entry.score - entry.inherited <= n_texts_ && entry.last_text <= n_texts_,
        "a term of the text features has a wrong count");
    if (hash_bits_ > 0) {
      expect_format(entry.hash >> hash_bits_ == 0, "the text features have a hash of more bits than hash_bits");
      expect_format(entry.length == 0 && entry.is_chars == 0, "a hashed term of the text features has a text");
    } else {
      expect_format(is_utf8(term(id).text), "a term of the text features is not UTF-8");
      expect_format(entry.length > 0 && make_term(term(id).text, entry.is_chars != 0).hash == entry.hash,
                    "a term of the text features is empty, or has a wrong hash");
    }
    n_chars += entry.length;
  }
  expect_format(n_chars + n_gone_ == text_.size(),
                "the text of the text features does not match the length of its terms");
}

void TermTable::check() const {
  check_entries();
  std::size_t n_used = 0;
  for (const Slot& slot : slots_) {  // before any lookup, which reads the terms of slots and ends at an empty one
    expect_format(slot.id == kNone || slot.id < size(),
                  "the hash table of the text features refers to a term that does not exist");
    n_used += slot.id != kNone ? 1 : 0;
  }
  expect_format(n_used == size(), "the hash table of the text features has a wrong number of terms");
  for (std::uint32_t id = 0; id < size(); ++id) {
    expect_format(find(term(id)) == id, "a term of the text features occurs twice or cannot be found");
  }
}

}  // namespace oplt

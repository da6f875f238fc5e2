// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/term_table.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "encode/slots.hpp"

namespace oplt {

namespace {

std::uint64_t pack(std::uint32_t score, std::uint32_t id) { return (std::uint64_t{score} << 32) | id; }

}  // namespace

TermTable::TermTable(std::uint32_t hash_bits, std::uint32_t limit) : hash_bits_(hash_bits), limit_(limit) {}

void TermTable::own() {
  entries_.own();
  text_.own();
  slots_.own();
}

std::uint32_t TermTable::add(const Term& key) {
  own();
  const bool is_full = limit_ > 0 && size() >= limit_;
  const std::uint32_t id = is_full ? take_rarest() : size();
  if (id == kNone) {
    return kNone;
  }
  if (size() >= kMostTerms && !is_full) {
    throw InvalidInput("text features can hold at most 2,147,483,647 terms: set max_features");
  }
  std::uint32_t inherited = 0;
  if (is_full) {
    inherited = std::min(entries_[id].score, kLargestScore - 1);
    erase(id);
    n_gone_ += std::exchange(entries_[id].length, 0);
    of_this_text_.push_back(id);
  } else {
    entries_.push_back({});
  }
  const std::uint64_t begin = add_text(key.text);
  entries_[id] = {begin,
                  key.hash,
                  n_texts_,
                  static_cast<std::uint32_t>(key.text.size()),
                  inherited + 1,
                  inherited,
                  key.is_chars ? 1U : 0U};
  if (n_slots_for(size()) > slots_.size()) {
    fill();
  } else if (!insert(id)) {
    use_secret_hash();
  }
  return id;
}

/// Returns where the text begins. First compacts text_ if more than half of it belongs to replaced terms.
std::uint64_t TermTable::add_text(std::string_view text) {
  if (2 * n_gone_ > text_.size()) {
    Buffer<char> kept;
    kept.reserve(text_.size() - n_gone_ / 2);
    for (std::uint32_t id = 0; id < size(); ++id) {
      const std::size_t begin = kept.size();
      kept.append(term(id).text);
      entries_[id].begin = begin;
    }
    text_ = std::move(kept);
    n_gone_ = 0;
  }
  text_.append(text);
  return text_.size() - text.size();
}

/// Removes from the heap, and returns, the rarest term that is not in the current text; kNone if all terms are.
std::uint32_t TermTable::take_rarest() {
  if (rarest_.empty() && of_this_text_.empty()) {  // the heap has not been built yet
    for (std::uint32_t id = 0; id < size(); ++id) {
      push_rarest(id);
    }
  }
  while (!rarest_.empty()) {
    std::pop_heap(rarest_.begin(), rarest_.end(), std::greater<>());
    const std::uint64_t top = rarest_.back();
    rarest_.pop_back();
    const auto id = static_cast<std::uint32_t>(top);
    if (entries_[id].last_text == n_texts_) {
      of_this_text_.push_back(id);
    } else if (pack(entries_[id].score, id) != top) {
      push_rarest(id);
    } else {
      return id;
    }
  }
  return kNone;
}

void TermTable::push_rarest(std::uint32_t id) {
  rarest_.push_back(pack(entries_[id].score, id));
  std::push_heap(rarest_.begin(), rarest_.end(), std::greater<>());
}

void TermTable::next_text() {
  n_texts_ += n_texts_ < kMostTexts ? 1 : 0;
  for (const std::uint32_t id : of_this_text_) {
    push_rarest(id);
  }
  of_this_text_.clear();
}

std::uint64_t TermTable::secret_hash(const Term& key) const {
  return hash_bits_ > 0 ? keyed_hash(*key_, key.hash) : keyed_hash(*key_, key.text);
}

std::size_t TermTable::secret_slot_of(const Term& key) const {
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t hash = secret_hash(key);
  std::size_t i = home(hash);
  while (slots_[i].id != kNone && !(slots_[i].tag == tag_of(hash) && term(slots_[i].id) == key)) {
    i = (i + 1) & mask;
  }
  return i;
}

/// Returns false if there is no slot near enough.
bool TermTable::insert(std::uint32_t id) {
  const Term key = term(id);
  const std::size_t slot = slot_of(key);
  if (slot == kNoSlot) {
    return false;
  }
  slots_[slot] = {tag_of(hash(key)), id};
  return true;
}

/// Moves later entries up, as deletion with linear probing requires: lookups end at the first empty slot.
void TermTable::erase(std::uint32_t id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = slot_of(term(id));
  for (std::size_t i = (gap + 1) & mask; slots_[i].id != kNone; i = (i + 1) & mask) {
    const std::size_t distance = (i - home(hash(term(slots_[i].id)))) & mask;
    if (distance >= ((i - gap) & mask)) {
      slots_[gap] = slots_[i];
      gap = i;
    }
  }
  slots_[gap] = {};
}

/// Rebuilds the hash table, with the size that the number of terms requires.
void TermTable::fill() {
  Buffer<Slot> slots;
  slots.resize(n_slots_for(size()));
  slots_ = std::move(slots);
  for (std::uint32_t id = 0; id < size(); ++id) {
    if (!insert(id)) {
      use_secret_hash();
      return;
    }
  }
}

void TermTable::use_secret_hash() {
  key_ = HashKey::draw();
  fill();
}

/// The hash table that is saved, as if all terms had been inserted in order of their ids.
Buffer<TermTable::Slot> TermTable::public_slots() const {
  Buffer<Slot> slots;
  slots.resize(n_slots_for(size()));
  EmptySlots empty(slots.size());
  for (std::uint32_t id = 0; id < size(); ++id) {
    slots[empty.take(entries_[id].hash & (slots.size() - 1))] = {term(id).tag(), id};
  }
  return slots;
}

std::size_t TermTable::memory_bytes() const {
  return entries_.memory_bytes() + text_.memory_bytes() + slots_.memory_bytes() +
         rarest_.capacity() * sizeof(std::uint64_t) + of_this_text_.capacity() * sizeof(std::uint32_t);
}

}  // namespace oplt

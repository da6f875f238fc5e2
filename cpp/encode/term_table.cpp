// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/term_table.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "base/error.hpp"

namespace oplt {

namespace {

std::uint64_t pack(std::uint32_t score, std::uint32_t id) { return (std::uint64_t{score} << 32) | id; }

}  // namespace

TermTable::TermTable(std::uint32_t hash_bits, std::uint32_t limit) : hash_bits_(hash_bits), limit_(limit) {}

void TermTable::count(std::uint32_t id) {
  Entry& entry = entries_[id];
  ++entry.score;
  entry.last_text = n_texts_;
}

std::uint32_t TermTable::add(const Term& key) {
  const bool is_full = limit_ > 0 && size() >= limit_;
  const std::uint32_t id = is_full ? take_rarest() : size();
  if (id == kNone) {
    return kNone;
  }
  std::uint32_t inherited = 0;
  if (is_full) {
    inherited = entries_[id].score;
    erase(id);
    of_this_text_.push_back(id);
  } else {
    append();
  }
  entries_[id] = {std::string(key.text), key.hash, n_texts_, inherited + 1, inherited, key.is_chars};
  insert(id);
  return id;
}

void TermTable::append() {
  if (size() >= kMostTerms) {
    throw InvalidInput("text features hold at most 2,147,483,647 terms: set max_features");
  }
  if (2 * (entries_.size() + 1) > slots_.size()) {
    grow();
  }
  entries_.emplace_back();
}

/// Out of those that the present text lacks; kNone if it has them all. Takes it from the heap.
std::uint32_t TermTable::take_rarest() {
  if (rarest_.empty() && of_this_text_.empty()) {  // it has not been made yet
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
  ++n_texts_;
  for (const std::uint32_t id : of_this_text_) {
    push_rarest(id);
  }
  of_this_text_.clear();
}

void TermTable::insert(std::uint32_t id) {
  const Term key = entries_[id].view();
  slots_[slot_of(key)] = {key.tag(), id};
}

/// Moves up what would not be found any more if there were a gap.
void TermTable::erase(std::uint32_t id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t gap = slot_of(entries_[id].view());
  for (std::size_t i = (gap + 1) & mask; slots_[i].id != kNone; i = (i + 1) & mask) {
    const std::size_t distance = (i - home(entries_[slots_[i].id].hash)) & mask;
    if (distance >= ((i - gap) & mask)) {
      slots_[gap] = slots_[i];
      gap = i;
    }
  }
  slots_[gap] = {};
}

void TermTable::grow() {
  slots_.assign(std::max<std::size_t>(16, 2 * slots_.size()), {});
  for (std::uint32_t id = 0; id < size(); ++id) {
    insert(id);
  }
}

std::size_t TermTable::memory_bytes() const {
  std::size_t long_texts = 0;  // short ones lie within the string itself
  for (const Entry& entry : entries_) {
    long_texts += entry.text.capacity() > std::string().capacity() ? entry.text.capacity() + 1 : 0;
  }
  return entries_.capacity() * sizeof(Entry) + long_texts + slots_.capacity() * sizeof(Slot) +
         rarest_.capacity() * sizeof(std::uint64_t) + of_this_text_.capacity() * sizeof(std::uint32_t);
}

void TermTable::save(Writer& out) const {
  out.put(n_texts_);
  out.put(size());
  for (const Entry& entry : entries_) {
    out.put(entry.score);
    out.put(entry.inherited);
    if (hash_bits_ > 0) {
      out.put(entry.hash);
    } else {
      out.put(static_cast<std::uint8_t>(entry.is_chars));
      out.put_array(std::span<const char>(entry.text));
    }
  }
}

TermTable TermTable::load(std::uint32_t hash_bits, std::uint32_t limit, Reader& in) {
  TermTable table(hash_bits, limit);
  table.n_texts_ = in.get<std::uint64_t>();
  const auto n = in.get<std::uint32_t>();
  if (limit > 0 && n > limit) {
    throw FormatError("the text features hold " + std::to_string(n) + " terms, more than max_features");
  }
  for (std::uint32_t id = 0; id < n; ++id) {
    const auto score = in.get<std::uint32_t>();
    const auto inherited = in.get<std::uint32_t>();
    const bool is_chars = hash_bits == 0 && in.get<std::uint8_t>() != 0;
    const auto text = hash_bits == 0 ? in.get_array<char>() : std::vector<char>();
    Term key = make_term({text.data(), text.size()}, is_chars);
    if (hash_bits > 0) {
      key = {{}, false, in.get<std::uint64_t>()};
    }
    if (hash_bits > 0 && key.hash >> hash_bits != 0) {
      throw FormatError("the text features have a hash of more than " + std::to_string(hash_bits) + " bits");
    }
    if (inherited >= score || score - inherited > table.n_texts_ || table.find(key) != kNone) {
      throw FormatError("the text features have a term twice or a wrong count");
    }
    table.append();
    // No number of a text is 0: the term is not one of the present text, whose learning is over.
    table.entries_[id] = {std::string(key.text), key.hash, 0, score, inherited, is_chars};
    table.insert(id);
  }
  return table;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "base/prefetch.hpp"
#include "encode/slots.hpp"
#include "encode/unicode.hpp"

namespace oplt {

bool operator<(const Name& a, const Name& b) {
  if (a.is_text() != b.is_text()) {
    return b.is_text();
  }
  return a.is_text() ? a.text < b.text : a.number < b.number;
}

std::uint64_t Vocabulary::public_hash(const Name& name) {
  std::uint64_t h = static_cast<std::uint64_t>(name.number);
  for (const char c : name.text) {  // FNV-1a; the lines after the loop mix its weak low bits
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

std::uint64_t Vocabulary::secret_hash(const Name& name) const {
  return name.is_text() ? keyed_hash(*key_, name.text) : keyed_hash(*key_, static_cast<std::uint64_t>(name.number));
}

/// The slot of the name, or the empty slot where it would go; kNoSlot if that is too far.
std::size_t Vocabulary::slot_of(const Name& wanted) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash(wanted) & mask;
  for (std::size_t n_left = key_ ? slots_.size() : kMostProbes; n_left > 0; --n_left) {
    if (slots_[i] == kNone || name(slots_[i]) == wanted) {
      return i;
    }
    i = (i + 1) & mask;
  }
  return kNoSlot;
}

std::uint32_t Vocabulary::find(const Name& name) const {
  if (is_direct(name)) {
    const auto number = static_cast<std::size_t>(name.number);
    return number < direct_.size() ? direct_[number] : kNone;
  }
  const std::size_t slot = slots_.empty() ? kNoSlot : slot_of(name);
  return slot == kNoSlot ? kNone : slots_[slot];
}

Name Vocabulary::name(std::uint32_t id) const {
  if (id >= size()) {
    throw std::out_of_range("the vocabulary has no name with this id");
  }
  const Entry& entry = names_[id];
  if (entry.length == 0) {
    return {.text = {}, .number = static_cast<std::int64_t>(entry.begin_or_number)};
  }
  return {.text = std::string_view(text_.data() + entry.begin_or_number, entry.length), .number = 0};
}

void Vocabulary::add(const Name& name) {
  if (size() >= kBiasFeature) {
    throw InvalidInput("a vocabulary can hold at most 4,294,967,294 names");
  }
  const std::uint32_t id = size();
  names_.own();
  if (name.is_text()) {
    text_.own();
    names_.push_back({text_.size(), static_cast<std::uint32_t>(name.text.size())});
    text_.append(name.text);
  } else {
    names_.push_back({static_cast<std::uint64_t>(name.number), 0});
  }
  if (is_direct(name)) {
    const auto number = static_cast<std::size_t>(name.number);
    direct_.own();
    direct_.resize(std::max(number + 1, direct_.size()), kNone);
    direct_[number] = id;
    return;
  }
  ++n_hashed_;
  if (n_slots_for(n_hashed_) > slots_.size()) {
    fill();
  } else {
    slots_.own();
    if (!insert(id)) {
      use_secret_hash();
    }
  }
}

/// Returns false if there is no slot near enough.
bool Vocabulary::insert(std::uint32_t id) {
  const std::size_t slot = slot_of(name(id));
  if (slot == kNoSlot) {
    return false;
  }
  slots_[slot] = id;
  return true;
}

/// Rebuilds the hash table, with the size that the number of names requires.
void Vocabulary::fill() {
  slots_ = {};
  slots_.resize(n_slots_for(n_hashed_), kNone);
  for (std::uint32_t id = 0; id < size(); ++id) {
    if (!is_direct(name(id)) && !insert(id)) {
      use_secret_hash();
      return;
    }
  }
}

void Vocabulary::use_secret_hash() {
  key_ = HashKey::draw();
  fill();
}

/// The hash table that is saved if the current one has a secret key.
Buffer<std::uint32_t> Vocabulary::public_slots() const {
  Buffer<std::uint32_t> slots;
  slots.resize(n_slots_for(n_hashed_), kNone);
  EmptySlots empty(slots.size());
  for (std::uint32_t id = 0; id < size(); ++id) {
    if (const Name known = name(id); !is_direct(known)) {
      slots[empty.take(public_hash(known) & (slots.size() - 1))] = id;
    }
  }
  return slots;
}

void Vocabulary::find_row(const NameList& names, std::size_t begin, std::size_t end,
                          std::vector<std::uint32_t>& ids) const {
  ids.clear();
  for (std::size_t i = begin; i < end; ++i) {
    ids.push_back(find(names[i]));
  }
}

void Vocabulary::add_row(const NameList& names, std::size_t begin, std::size_t end, std::vector<std::uint32_t>& ids) {
  find_row(names, begin, end, ids);
  std::vector<Name> unknown;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNone) {
      unknown.push_back(names[begin + i]);
    }
  }
  if (unknown.empty()) {
    return;
  }
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  for (const Name& name : unknown) {
    add(name);
  }
  find_row(names, begin, end, ids);
}

Vocabulary::Kinds Vocabulary::kinds(std::uint32_t begin) const {
  Kinds found;
  for (std::uint32_t id = begin; id < size(); ++id) {
    const Name name = this->name(id);
    found.strings = found.strings || name.is_text();
    found.integers = found.integers || !name.is_text();
    found.largest = std::max(found.largest, name.is_text() ? -1 : name.number);
  }
  return found;
}

std::size_t Vocabulary::memory_bytes() const {
  return names_.memory_bytes() + text_.memory_bytes() + direct_.memory_bytes() + slots_.memory_bytes();
}

void Vocabulary::save(ArrayWriter& out, const std::string& prefix) const {
  out.put(prefix + "/names", names_);
  out.put(prefix + "/text", text_);
  out.put(prefix + "/direct", direct_);
  out.put(prefix + "/slots", key_ ? public_slots() : slots_);
  out.put_one(prefix + "/n_hashed", n_hashed_);
}

Vocabulary Vocabulary::load(const ArrayReader& in, const std::string& prefix) {
  Vocabulary result;
  result.names_ = in.get<Entry>(prefix + "/names");
  result.text_ = in.get<char>(prefix + "/text");
  result.direct_ = in.get<std::uint32_t>(prefix + "/direct");
  result.slots_ = in.get<std::uint32_t>(prefix + "/slots");
  result.n_hashed_ = in.get_one<std::uint32_t>(prefix + "/n_hashed");
  expect_format(result.names_.size() <= kBiasFeature, "a vocabulary has more names than there are ids");
  expect_format(result.n_hashed_ <= result.names_.size() && result.slots_.size() == n_slots_for(result.n_hashed_),
                "the hash table of a vocabulary has the wrong size for its names");
  expect_format(result.direct_.size() <= kDirect, "a vocabulary's table of small integers is too large");
  if (has_long_run(result.slots_.size(), [&](std::size_t i) { return result.slots_[i] != kNone; })) {
    result.check_tables();
    std::uint32_t n_hashed = 0;
    for (std::uint32_t id = 0; id < result.size(); ++id) {
      n_hashed += is_direct(result.name(id)) ? 0 : 1;
    }
    expect_format(n_hashed == result.n_hashed_, "a vocabulary and its table have different numbers of names");
    result.use_secret_hash();
  }
  return result;
}

/// Must precede any lookup, which ends at an empty slot and reads the names to which slots refer.
void Vocabulary::check_tables() const {
  std::uint64_t end = 0;
  for (const Entry& entry : names_) {
    expect_format(entry.unused == 0 && (entry.length == 0 || entry.begin_or_number == end),
                  "the names of a vocabulary are not contiguous");
    end += entry.length;
  }
  expect_format(end == text_.size(), "the text of a vocabulary does not match the length of its names");
  const auto count_used = [this](const Buffer<std::uint32_t>& ids) {
    std::size_t n_used = 0;
    bool known = true;
    for (const std::uint32_t id : ids) {
      n_used += id != kNone ? 1 : 0;
      known = known && (id < size() || id == kNone);
    }
    expect_format(known, "a table of a vocabulary refers to a name that does not exist");
    return n_used;
  };
  expect_format(count_used(slots_) == n_hashed_ && count_used(direct_) == size() - n_hashed_,
                "the tables of a vocabulary have a wrong number of names");
}

/// Like find(), but compares names only if their hashes are equal.
bool Vocabulary::is_found(std::uint32_t id, std::span<const std::uint64_t> hashes) const {
  const Name wanted = name(id);
  if (is_direct(wanted)) {
    return find(wanted) == id;
  }
  if (slots_.empty()) {
    return false;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hashes[id] & mask; slots_[i] != id; i = (i + 1) & mask) {
    const std::uint32_t other = slots_[i];
    if (other == kNone || (hashes[other] == hashes[id] && name(other) == wanted)) {
      return false;
    }
  }
  return true;
}

void Vocabulary::check() const {
  constexpr std::uint32_t kAhead = 16;  // prefetch distance: slots are accessed in random order
  check_tables();
  std::vector<std::uint64_t> hashes(size());
  for (std::uint32_t id = 0; id < size(); ++id) {
    hashes[id] = hash(name(id));
  }
  for (std::uint32_t id = 0; id < size(); ++id) {
    if (id + kAhead < size() && !slots_.empty()) {
      prefetch(slots_.data() + (hashes[id + kAhead] & (slots_.size() - 1)));
    }
    expect_format(is_utf8(name(id).text), "a name of a vocabulary is not UTF-8");
    expect_format(is_found(id, hashes), "a name of a vocabulary occurs twice or cannot be found");
  }
}

}  // namespace oplt

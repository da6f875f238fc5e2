// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/vocabulary.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace oplt {

bool operator<(const Name& a, const Name& b) {
  if (a.is_text() != b.is_text()) {
    return b.is_text();
  }
  return a.is_text() ? a.text < b.text : a.number < b.number;
}

std::uint64_t Vocabulary::hash(const Name& name) {
  std::uint64_t h = static_cast<std::uint64_t>(name.number);
  for (const char c : name.text) {  // FNV-1a; the last lines below spread its weak low bits
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

std::size_t Vocabulary::slot_of(const Name& wanted) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash(wanted) & mask;
  while (slots_[i] != kNone && !(name(slots_[i]) == wanted)) {
    i = (i + 1) & mask;
  }
  return i;
}

std::uint32_t Vocabulary::find(const Name& name) const {
  if (!name.is_text() && name.number >= 0 && name.number < kDirect) {
    const auto number = static_cast<std::size_t>(name.number);
    return number < direct_.size() ? direct_[number] : kNone;
  }
  return slots_.empty() ? kNone : slots_[slot_of(name)];
}

Name Vocabulary::name(std::uint32_t id) const {
  const Entry& entry = names_.at(id);
  if (entry.length == 0) {
    return {.text = {}, .number = static_cast<std::int64_t>(entry.begin_or_number)};
  }
  return {.text = std::string_view(text_).substr(entry.begin_or_number, entry.length), .number = 0};
}

void Vocabulary::add(const Name& name) {
  if (size() >= kBiasFeature) {
    throw InvalidInput("a vocabulary holds at most 4,294,967,294 names");
  }
  const std::uint32_t id = size();
  if (name.is_text()) {
    names_.push_back({text_.size(), static_cast<std::uint32_t>(name.text.size())});
    text_.append(name.text);
  } else {
    names_.push_back({static_cast<std::uint64_t>(name.number), 0});
  }
  if (!name.is_text() && name.number >= 0 && name.number < kDirect) {
    const auto number = static_cast<std::size_t>(name.number);
    if (number >= direct_.size()) {
      direct_.resize(std::max(number + 1, 2 * direct_.size()), kNone);
    }
    direct_[number] = id;
    return;
  }
  if (2 * (n_hashed_ + 1) > slots_.size()) {
    grow();
  }
  slots_[slot_of(name)] = id;
  ++n_hashed_;
}

void Vocabulary::grow() {
  std::vector<std::uint32_t> old(std::max<std::size_t>(16, 2 * slots_.size()), kNone);
  old.swap(slots_);
  for (const std::uint32_t id : old) {
    if (id != kNone) {
      slots_[slot_of(name(id))] = id;
    }
  }
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

std::size_t Vocabulary::memory_bytes() const {
  return names_.capacity() * sizeof(Entry) + text_.capacity() +
         (direct_.capacity() + slots_.capacity()) * sizeof(std::uint32_t);
}

void Vocabulary::save(Writer& out) const {
  out.put(size());
  for (const Entry& entry : names_) {
    out.put(entry.begin_or_number);
    out.put(entry.length);
  }
  out.put_array(std::span<const char>(text_));
}

Vocabulary Vocabulary::load(Reader& in) {
  Vocabulary result;
  const auto n = in.get<std::uint32_t>();
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto begin_or_number = in.get<std::uint64_t>();
    entries.push_back({begin_or_number, in.get<std::uint32_t>()});
  }
  const auto text = in.get_array<char>();
  for (const Entry& entry : entries) {
    Name name{.text = {}, .number = static_cast<std::int64_t>(entry.begin_or_number)};
    if (entry.length > 0) {
      if (entry.begin_or_number > text.size() || entry.length > text.size() - entry.begin_or_number) {
        throw FormatError("a name reaches beyond the end of the vocabulary's text");
      }
      name = {.text = std::string_view(text.data() + entry.begin_or_number, entry.length), .number = 0};
    }
    if (result.find(name) != kNone) {
      throw FormatError("a name occurs twice in the vocabulary");
    }
    result.add(name);
  }
  return result;
}

}  // namespace oplt

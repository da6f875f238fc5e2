// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "io/array_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace oplt {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array<char, 8> kMagic{'O', 'P', 'L', 'T', 'M', 'O', 'D', 'L'};
constexpr std::array<char, 8> kEndMark{'O', 'P', 'L', 'T', 'E', 'N', 'D', '.'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kFormatVersion;
  std::array<std::uint32_t, 13> zeros{};
};
static_assert(sizeof(Header) == kArrayAlignment);

struct Trailer {
  std::uint64_t table_offset;
  std::uint64_t table_bytes;
  Checksum::Value table_checksum;
  std::array<char, 8> end_mark = kEndMark;
};
static_assert(sizeof(Trailer) == 40);

/// Size of an entry of the table of contents, without its name.
constexpr std::size_t kEntryBytes = 4 + 4 + 8 + 8 + sizeof(Checksum::Value);

/// Number of zero bytes between an offset and the next boundary.
std::size_t padding(std::uint64_t offset) {
  return static_cast<std::size_t>((kArrayAlignment - offset % kArrayAlignment) % kArrayAlignment);
}

Checksum::Value checksum_of(Bytes bytes) {
  Checksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

template <class T>
void append_to(std::vector<std::byte>& bytes, const T& value) {
  const auto piece = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), piece.begin(), piece.end());
}

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Takes values from the front of some bytes.
class Cursor {
 public:
  explicit Cursor(Bytes rest) : rest_(rest) {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }

  Bytes take_bytes(std::size_t n) {
    if (n > rest_.size()) {
      throw FormatError("the file's table of contents ends within an entry");
    }
    const Bytes taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }

  std::size_t n_left() const { return rest_.size(); }

 private:
  Bytes rest_;
};

void check_header(Bytes file) {
  const std::size_t n_magic = std::min(file.size(), kMagic.size());
  if (file.empty() || std::memcmp(file.data(), kMagic.data(), n_magic) != 0) {
    throw FormatError("the file is not an oplt model: it does not begin with OPLTMODL");
  }
  constexpr std::size_t kVersionEnd = sizeof(kMagic) + sizeof(kFormatVersion);
  if (file.size() < kVersionEnd) {
    throw FormatError("the file is truncated: it has only " + std::to_string(file.size()) + " bytes");
  }
  std::uint32_t version = 0;
  std::memcpy(&version, file.data() + sizeof(kMagic), sizeof(version));
  if (version != kFormatVersion) {
    throw UnknownFormatVersion("the file has format version " + std::to_string(version) +
                               ", but this version of oplt reads format version " + std::to_string(kFormatVersion));
  }
  if (file.size() < sizeof(Header) + sizeof(std::uint32_t) + sizeof(Trailer)) {
    throw FormatError("the file is truncated: it has only " + std::to_string(file.size()) + " bytes");
  }
  if (!all_zero(file.first(sizeof(Header)).subspan(kVersionEnd))) {
    throw FormatError("the file is damaged: its header has bytes that should be zero");
  }
}

/// The bytes of the table of contents. Throws FormatError unless they are as they were written.
Bytes table_of(Bytes file) {
  Trailer trailer;
  std::memcpy(&trailer, file.last(sizeof(Trailer)).data(), sizeof(Trailer));
  if (trailer.end_mark != kEndMark) {
    throw FormatError("the file is truncated or was modified: its last bytes are not the end marker");
  }
  const std::uint64_t end = file.size() - sizeof(Trailer);
  if (trailer.table_offset > end || trailer.table_bytes != end - trailer.table_offset) {
    throw FormatError("the file is damaged: its table of contents is not at its end");
  }
  const Bytes table = file.subspan(trailer.table_offset, trailer.table_bytes);
  if (checksum_of(table) != trailer.table_checksum) {
    throw FormatError("the file is damaged: its table of contents was modified after it was written");
  }
  return table;
}

ArrayEntry take_entry(Cursor& cursor) {
  ArrayEntry entry;
  const Bytes name = cursor.take_bytes(cursor.take<std::uint32_t>());
  entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  entry.value_bytes = cursor.take<std::uint32_t>();
  entry.offset = cursor.take<std::uint64_t>();
  entry.n_bytes = cursor.take<std::uint64_t>();
  entry.checksum = cursor.take<Checksum::Value>();
  return entry;
}

/// The entries in the order in which they were written. Only zero padding may lie between two arrays.
std::vector<ArrayEntry> entries_of(Bytes table, std::uint64_t arrays_end) {
  Cursor cursor(table);
  const auto n = cursor.take<std::uint32_t>();
  if (n > cursor.n_left() / kEntryBytes) {  // before anything is allocated
    throw FormatError("the file's table of contents is too short for " + std::to_string(n) + " arrays");
  }
  std::vector<ArrayEntry> entries;
  std::uint64_t next = sizeof(Header);
  for (std::uint32_t i = 0; i < n; ++i) {
    entries.push_back(take_entry(cursor));
    const ArrayEntry& entry = entries.back();
    if (entry.offset != next || entry.offset > arrays_end || entry.n_bytes > arrays_end - entry.offset) {
      throw FormatError("the array '" + entry.name + "' is misplaced: at byte " + std::to_string(entry.offset) +
                        ", of " + std::to_string(entry.n_bytes) + " bytes");
    }
    if (entry.value_bytes == 0 || entry.n_bytes % entry.value_bytes != 0) {
      throw FormatError("the array '" + entry.name + "' has " + std::to_string(entry.n_bytes) +
                        " bytes, which is not a multiple of its value size, " + std::to_string(entry.value_bytes));
    }
    next = entry.offset + entry.n_bytes;
    next += padding(next);
  }
  if (next != arrays_end || cursor.n_left() != 0) {
    throw FormatError("the file's table of contents does not match its length");
  }
  return entries;
}

void sort_by_name(std::vector<ArrayEntry>& entries) {
  const auto name = [](const ArrayEntry& entry) -> const std::string& { return entry.name; };
  std::ranges::sort(entries, {}, name);
  const auto twice = std::ranges::adjacent_find(entries, {}, name);
  if (twice != entries.end()) {
    throw FormatError("the file has two arrays named '" + twice->name + "'");
  }
}

}  // namespace

ArrayWriter::ArrayWriter(Sink sink) : sink_(std::move(sink)) {
  buffer_.reserve(kChunk);
  const Header header;
  emit(std::as_bytes(std::span(&header, 1)));
}

void ArrayWriter::begin_array(std::string_view name, std::size_t value_bytes) {
  end_array();
  entries_.push_back({std::string(name), static_cast<std::uint32_t>(value_bytes), offset_, 0, {}});
  checksum_ = {};
  in_array_ = true;
}

void ArrayWriter::end_array() {
  if (in_array_) {
    ArrayEntry& entry = entries_.back();
    entry.n_bytes = offset_ - entry.offset;
    entry.checksum = checksum_.value();
    in_array_ = false;
    constexpr std::array<std::byte, kArrayAlignment> kZeros{};
    emit(Bytes(kZeros).first(padding(offset_)));
  }
}

void ArrayWriter::append_bytes(std::span<const std::byte> bytes) {
  if (!in_array_ || bytes.size() % entries_.back().value_bytes != 0) {
    throw std::logic_error("values are appended without an array, or to one with values of another size");
  }
  checksum_.add(bytes);
  emit(bytes);
}

void ArrayWriter::emit(std::span<const std::byte> bytes) {
  offset_ += bytes.size();
  if (buffer_.size() + bytes.size() > kChunk) {
    flush();
  }
  if (bytes.size() > kChunk) {
    sink_(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void ArrayWriter::flush() {
  if (!buffer_.empty()) {
    sink_(buffer_);
    buffer_.clear();
  }
}

Checksum::Value ArrayWriter::finish() {
  end_array();
  std::vector<ArrayEntry> by_name = entries_;
  sort_by_name(by_name);  // throws if a name occurs twice: the file could not be read
  std::vector<std::byte> table;
  append_to(table, static_cast<std::uint32_t>(entries_.size()));
  for (const ArrayEntry& entry : entries_) {
    append_to(table, static_cast<std::uint32_t>(entry.name.size()));
    const Bytes name = std::as_bytes(std::span(entry.name));
    table.insert(table.end(), name.begin(), name.end());
    append_to(table, entry.value_bytes);
    append_to(table, entry.offset);
    append_to(table, entry.n_bytes);
    append_to(table, entry.checksum);
  }
  const Trailer trailer{offset_, table.size(), checksum_of(table)};
  emit(table);
  emit(std::as_bytes(std::span(&trailer, 1)));
  flush();
  return trailer.table_checksum;
}

ArrayReader::ArrayReader(std::span<const std::byte> file, std::shared_ptr<const void> owner)
    : file_(file), owner_(std::move(owner)) {
  check_header(file_);
  const Bytes table = table_of(file_);
  entries_ = entries_of(table, file_.size() - sizeof(Trailer) - table.size());
  sort_by_name(entries_);
  // Values must be aligned in memory, and views must have an owner, without which a Buffer would count as owned.
  if (owner_ == nullptr || reinterpret_cast<std::uintptr_t>(file_.data()) % alignof(std::max_align_t) != 0) {
    auto copy = std::make_shared<std::vector<std::max_align_t>>(file_.size() / sizeof(std::max_align_t) + 1);
    std::memcpy(copy->data(), file_.data(), file_.size());
    file_ = std::as_bytes(std::span(*copy)).first(file_.size());
    owner_ = std::move(copy);
  }
}

void ArrayReader::verify() const {
  for (const ArrayEntry& entry : entries_) {
    const Bytes bytes = file_.subspan(entry.offset, entry.n_bytes);
    if (checksum_of(bytes) != entry.checksum ||
        !all_zero(file_.subspan(entry.offset + entry.n_bytes, padding(entry.n_bytes)))) {
      throw FormatError("the file is damaged: the array '" + entry.name + "' was modified after it was written");
    }
  }
}

const ArrayEntry* ArrayReader::find(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(entries_, name, {}, [](const ArrayEntry& e) -> std::string_view { return e.name; });
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

std::span<const std::byte> ArrayReader::bytes_of(std::string_view name, std::size_t value_bytes) const {
  const ArrayEntry* const entry = find(name);
  if (entry == nullptr) {
    throw FormatError("the file has no array '" + std::string(name) + "'");
  }
  if (entry->value_bytes != value_bytes) {
    throw FormatError("the array '" + std::string(name) + "' has values of " + std::to_string(entry->value_bytes) +
                      " bytes instead of " + std::to_string(value_bytes));
  }
  return file_.subspan(entry->offset, entry->n_bytes);
}

}  // namespace oplt

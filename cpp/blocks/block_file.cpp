// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "blocks/block_file.hpp"

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace oplt {

namespace {

/// A block's entry in the array `blocks`. In `cells`, the block has its slots, then its words, 8 bytes each.
struct BlockHeader {
  std::uint32_t flags;
  std::uint32_t n_children;
  std::uint32_t mask_words;
  std::uint32_t n_rows;
  std::uint64_t n_slots;
  std::uint64_t n_words;
};

constexpr std::uint32_t kHasAuxiliary = 1;
constexpr std::uint32_t kHasAccumulators = 2;
constexpr std::uint32_t kHasHalfWeights = 4;

using Slot = FeatureRows::Slot;
static_assert(sizeof(Slot) == sizeof(Arena::Word) && alignof(Slot) <= alignof(Arena::Word));

std::uint32_t flags_of(const SiblingBlock& block) {
  const std::uint32_t auxiliary = block.has_auxiliary() ? kHasAuxiliary : 0;
  switch (block.rows().content()) {
    case RowContent::kWeightsAndAccumulators:
      return auxiliary | kHasAccumulators;
    case RowContent::kHalfWeights:
      return auxiliary | kHasHalfWeights;
    case RowContent::kWeights:
      break;
  }
  return auxiliary;
}

BlockHeader header_of(const SiblingBlock& block, std::size_t n_rows, std::size_t n_slots, std::size_t n_words) {
  return {flags_of(block), block.n_children(), block.rows().mask_words(), static_cast<std::uint32_t>(n_rows), n_slots,
          n_words};
}

/// Writes the offsets of all rows, then the rows one at a time, so that a block is never in memory twice.
BlockHeader append_canonical(const SiblingBlock& block, ArrayWriter& out) {
  std::vector<Slot> rows;
  std::size_t n_words = 0;
  block.visit_canonical_rows([&](FeatureId feature, std::span<const MaskWord> words) {
    rows.push_back({feature, static_cast<std::uint32_t>(n_words)});
    n_words += words.size();
  });
  FeatureRows offsets;
  if (!rows.empty()) {
    offsets.reserve(rows.size());
  }
  for (const Slot& row : rows) {
    offsets.set(row.feature, row.row);
  }
  out.append(offsets.slots());
  block.visit_canonical_rows([&](FeatureId, std::span<const MaskWord> words) { out.append(words); });
  return header_of(block, rows.size(), offsets.slots().size(), n_words);
}

/// A block that still lies in the file from which it was loaded is canonical already and is copied as it is.
BlockHeader append(const SiblingBlock& block, ArrayWriter& out) {
  const PackedRows& rows = block.rows();
  if (rows.is_own()) {
    return append_canonical(block, out);
  }
  out.append(rows.slots());
  out.append(rows.words());
  return header_of(block, rows.size(), rows.slots().size(), rows.words().size());
}

void expect(bool holds, const char* what) {
  if (!holds) {
    throw FormatError(std::string("a sibling block is damaged: ") + what);
  }
}

RowContent content_of(const BlockHeader& header) {
  switch (header.flags & ~kHasAuxiliary) {
    case 0:
      return RowContent::kWeights;
    case kHasAccumulators:
      return RowContent::kWeightsAndAccumulators;
    case kHasHalfWeights:
      return RowContent::kHalfWeights;
    default:
      throw FormatError("a sibling block is damaged: its flags are unknown");
  }
}

/// A fuller hash table would be slow, and without an empty slot the lookup of an absent feature would never end.
bool has_enough_slots(const BlockHeader& header) {
  return header.n_slots == 0 ? header.n_rows == 0
                             : std::has_single_bit(header.n_slots) && header.n_rows <= header.n_slots / 4 * 3;
}

}  // namespace

void save_blocks(const Blocks& blocks, std::span<const BlockId> order, ArrayWriter& out, const std::string& prefix) {
  std::vector<BlockHeader> headers;
  headers.reserve(order.size());
  out.begin<Arena::Word>(prefix + "/cells");
  for (const BlockId id : order) {
    headers.push_back(append(*blocks[id], out));
  }
  out.put<BlockHeader>(prefix + "/blocks", headers);
}

Blocks load_blocks(const ArrayReader& in, const std::string& prefix) {
  const auto headers = in.get<BlockHeader>(prefix + "/blocks");
  const auto cells = in.get<Arena::Word>(prefix + "/cells");
  Blocks blocks;
  std::size_t next = 0;
  const auto take = [&](std::uint64_t n) {
    expect(n <= cells.size() - next, "it extends beyond the end of the cells");
    return std::exchange(next, next + n);
  };
  for (const BlockHeader& header : headers) {
    expect(header.mask_words == SiblingBlock::mask_words_for_children(header.n_children),
           "its masks do not match its number of children");
    expect(has_enough_slots(header), "it has too few slots for its rows");
    FeatureRows offsets(cells.part<Slot>(take(header.n_slots), header.n_slots), header.n_rows);
    Arena arena(cells.part(take(header.n_words), header.n_words));
    PackedRows rows(header.mask_words, content_of(header), std::move(offsets), std::move(arena));
    blocks.emplace_back(SiblingBlock((header.flags & kHasAuxiliary) != 0, header.n_children, std::move(rows)));
  }
  expect(next == cells.size(), "there are cells that belong to no block");
  return blocks;
}

}  // namespace oplt

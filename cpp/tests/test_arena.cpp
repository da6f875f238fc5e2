// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "blocks/arena.hpp"
#include "check.hpp"

using oplt::Arena;

namespace {

struct Piece {
  std::uint32_t offset;
  std::size_t size;
  Arena::Word content;
};

Piece allocate_filled(Arena& arena, std::size_t size, Arena::Word content) {
  const Piece piece{arena.allocate(size), size, content};
  std::fill_n(arena.at(piece.offset), size, content);
  return piece;
}

bool intact(const Arena& arena, const Piece& piece) {
  return std::all_of(arena.at(piece.offset), arena.at(piece.offset) + piece.size,
                     [&](Arena::Word word) { return word == piece.content; });
}

}  // namespace

TEST("released words are reused by requests of the same size") {
  Arena arena;
  const std::uint32_t three = arena.allocate(3);
  const std::uint32_t five = arena.allocate(5);
  const std::uint32_t other_three = arena.allocate(3);
  arena.release(three, 3);
  arena.release(five, 5);
  arena.release(other_three, 3);
  const std::size_t bytes = arena.memory_bytes();
  const std::vector<std::uint32_t> again{arena.allocate(3), arena.allocate(3)};
  CHECK(std::is_permutation(again.begin(), again.end(), std::vector{three, other_three}.begin()));
  CHECK_EQ(arena.allocate(5), five);
  CHECK_EQ(arena.memory_bytes(), bytes);
}

TEST("when the free list is empty, new words are allocated") {
  Arena arena;
  const std::uint32_t first = arena.allocate(2);
  arena.release(first, 2);
  CHECK_EQ(arena.allocate(2), first);
  CHECK(arena.allocate(2) != first);
}

TEST("offsets and contents stay valid through growth, and allocations never overlap") {
  Arena arena;
  oplt::Random random(9);
  std::vector<Piece> pieces;
  for (Arena::Word i = 0; i < 5000; ++i) {
    if (!pieces.empty() && random.below(3) == 0) {
      const std::uint32_t victim = random.below(static_cast<std::uint32_t>(pieces.size()));
      CHECK(intact(arena, pieces[victim]));
      arena.release(pieces[victim].offset, pieces[victim].size);
      pieces[victim] = pieces.back();
      pieces.pop_back();
    } else {
      pieces.push_back(allocate_filled(arena, 1 + random.below(40), i));
    }
  }
  CHECK(pieces.size() > 1000);
  CHECK(std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) { return intact(arena, piece); }));
}

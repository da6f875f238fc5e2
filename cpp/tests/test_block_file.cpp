// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "blocks/block_file.hpp"
#include "blocks/sibling_block.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "random_blocks.hpp"

using namespace oplt;
using namespace oplt::test;

namespace {

/// A block's header in a file; its slots and words are in another array.
struct Header {
  std::uint32_t flags;
  std::uint32_t n_children;
  std::uint32_t mask_words;
  std::uint32_t n_rows;
  std::uint64_t n_slots;
  std::uint64_t n_words;
};

}  // namespace

TEST("a loaded block has the same bytes and cells, and learns as if it had never been saved") {
  for (const LearningParams& params : test::kRules) {
    for (const Column n_children : {0U, 1U, 2U, 63U, 64U, 65U, 130U}) {
      SiblingBlock block = trained(true, n_children, random_steps(6, 40, n_children), params);
      const auto bytes = saved_bytes(block);
      SiblingBlock loaded = load(bytes);
      CHECK(saved_bytes(loaded) == bytes);
      CHECK(same_bits(loaded.auxiliary_cells(), block.auxiliary_cells()));
      CHECK(cells_of_children(loaded) == cells_of_children(block));
      for (const Step& step : random_steps(7, 20, n_children)) {
        learn(block, step, params);
        learn(loaded, step, params);
      }
      CHECK(saved_bytes(loaded) == saved_bytes(block));
    }
  }
}

TEST("a block without updates is saved and loaded") {
  const SiblingBlock block = load(saved_bytes(SiblingBlock(true, 70)));
  CHECK(block.has_auxiliary());
  CHECK_EQ(block.n_children(), 70U);
  CHECK_EQ(block.n_rows(), 0U);
  CHECK(block.child_cells(5).empty());
}

TEST("saved bytes do not depend on how a block has grown") {
  const LearningParams params = test::adagrad(0.1F);
  const std::vector<Step> steps = random_steps(8, 40, 0);
  for (const Column n_children : {1U, 63U, 64U, 100U, 128U}) {
    SiblingBlock grown = trained(true, 0, steps, params);
    for (Column i = 0; i < n_children; ++i) {
      grown.add_child();
    }
    CHECK(saved_bytes(grown) == saved_bytes(trained(true, n_children, steps, params)));
    grown.drop_auxiliary();
    CHECK(saved_bytes(grown) == saved_bytes(trained(false, n_children, steps, params)));
  }
}

TEST("an updated cell that is zero is not saved") {
  constexpr Real kTiny = std::numeric_limits<Real>::denorm_min();  // half of it, the gradient's part, rounds to 0
  const StreamExample with_tiny{.features = {2, 5}, .values = {1, kTiny}, .labels = {}, .weight = 1};
  const StreamExample without{.features = {2}, .values = {1}, .labels = {}, .weight = 1};
  const SiblingBlock a = trained(false, 2, {{with_tiny, {0}}}, test::adagrad());
  const SiblingBlock b = trained(false, 2, {{without, {0}}}, test::adagrad());
  CHECK_EQ(a.child_cells(0).size(), 1U);
  CHECK(saved_bytes(a) == saved_bytes(b));
}

TEST("several blocks are in a file in the order in which they were saved") {
  Blocks blocks;
  for (const Column n_children : {0U, 3U, 70U}) {
    blocks.emplace_back(trained(true, n_children, random_steps(14, 20, n_children), test::arow()));
  }
  const std::vector<BlockId> order{2, 0, 1, 2};
  const auto file = file_of([&](ArrayWriter& out) { save_blocks(blocks, order, out, "thing"); });
  const Blocks loaded = load_blocks(read_arrays(file), "thing");
  CHECK_EQ(loaded.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    loaded[i]->check(kFeatures);
    CHECK(saved_bytes(*loaded[i]) == saved_bytes(*blocks[order[i]]));
  }
}

TEST("halves that are not finite do not pass the check of a block") {
  SiblingBlock block = SiblingBlock::only_weights(5);
  block.set_weights(3, std::vector<ChildWeight>{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  const auto file = saved_bytes(block.for_prediction(0, true));
  const auto header = read_arrays(file).get<Header>("thing/blocks")[0];
  const auto cells = read_arrays(file).get<std::uint64_t>("thing/cells");
  CHECK_EQ(header.flags, 4U);
  CHECK_EQ(header.n_words, 3U);  // a mask, and five halves
  for (const std::uint64_t wrong : {0x7C00U, 0xFC00U, 0x7E00U, 0x7C01U, 0xFFFFU}) {
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t word = header.n_slots + 1 + i / 4;
      const std::uint64_t changed = cells[word] | wrong << (16 * (i % 4));
      CHECK_THROWS_WITH(FormatError, "weight is not finite", load(with_value(file, "thing/cells", word, changed)));
    }
  }
}

TEST("a block that was saved is the same block, and saved again the same bytes") {
  const SiblingBlock block = trained(true, 3, random_steps(17, 40, 3), test::arow());
  const SiblingBlock canonical = load(saved_bytes(block));
  canonical.check(kFeatures);
  CHECK(cells_of_children(canonical) == cells_of_children(block));
  CHECK(same_bits(canonical.auxiliary_cells(), block.auxiliary_cells()));
  CHECK(saved_bytes(SiblingBlock(canonical)) == saved_bytes(canonical));  // a copy owns its rows, which are packed anew
}

TEST("blocks with inconsistent parts are rejected when they are loaded") {
  const auto file = saved_bytes(trained(true, 3, random_steps(10, 10, 3), test::arow()));
  const Header header = read_arrays(file).get<Header>("thing/blocks")[0];
  const auto refused = [&](auto change, const char* text) {
    Header changed = header;
    change(changed);
    CHECK_THROWS_WITH(FormatError, text, open(with_value(file, "thing/blocks", 0, changed)));
  };
  refused([](Header& h) { h.n_children = 64; }, "masks");
  refused([](Header& h) { h.mask_words = 0; }, "masks");
  refused([](Header& h) { h.flags |= 4; }, "flags");  // halves have no accumulators
  refused([](Header& h) { h.flags |= 8; }, "flags");
  refused([](Header& h) { h.mask_words = ~0U; }, "masks");
  refused([](Header& h) { h.n_rows = static_cast<std::uint32_t>(h.n_slots); }, "slots");
  refused([](Header& h) { h.n_slots = 0; }, "slots");
  refused([](Header& h) { h.n_slots = 3; }, "slots");
  refused([](Header& h) { h.n_slots <<= 40; }, "beyond the end");
  refused([](Header& h) { h.n_words = ~std::uint64_t{0}; }, "beyond the end");
  refused([](Header& h) { ++h.n_words; }, "beyond the end");
  refused([](Header& h) { --h.n_words; }, "cells that belong to no block");
}

TEST("content that could do harm does not pass the check of a block") {
  const auto file = saved_bytes(trained(false, 2, random_steps(10, 10, 2), test::arow()));
  const auto cells = read_arrays(file).get<std::uint64_t>("thing/cells");
  const Header header = read_arrays(file).get<Header>("thing/blocks")[0];
  const auto with_header = [&](auto change) {
    Header changed = header;
    change(changed);
    return with_value(file, "thing/blocks", 0, changed);
  };
  CHECK_THROWS_WITH(FormatError, "beyond the last column", load(with_header([](Header& h) { h.n_children = 1; })));
  CHECK_THROWS_WITH(FormatError, "number of rows", load(with_header([](Header& h) { --h.n_rows; })));
  CHECK_THROWS(FormatError, load(with_header([](Header& h) { h.flags ^= 2; })));  // accumulators
  CHECK_THROWS(FormatError, load(with_header([](Header& h) { h.flags ^= 6; })));  // and halves
  load(with_header([](Header& h) { h.flags ^= 1; }));                             // an auxiliary classifier of zeros

  const auto with_cell = [&](std::size_t i, std::uint64_t value) { return with_value(file, "thing/cells", i, value); };
  std::vector<std::size_t> used;  // slots
  for (std::size_t i = 0; i < header.n_slots; ++i) {
    if (cells[i] >> 32 != kNone) {
      used.push_back(i);
    }
  }
  const std::uint64_t first = cells[used[0]];  // the row, then the feature
  const std::uint64_t row = first >> 32;
  CHECK_THROWS_WITH(FormatError, "row of its own", load(with_cell(used[0], (header.n_words << 32) | (first & kNone))));
  CHECK_THROWS_WITH(FormatError, "feature that the model does not have",
                    load(with_cell(used[0], (first >> 32 << 32) | kFeatures)));
  CHECK_THROWS_WITH(FormatError, "cannot be found", load(with_cell(used[0], (first >> 32 << 32) | 99)));
  CHECK_THROWS_WITH(FormatError, "number of rows", load(with_cell(used[0], ~std::uint64_t{0})));
  const std::uint64_t second = cells[used[1]];
  CHECK_THROWS_WITH(FormatError, "row of its own", load(with_cell(used[1], (first >> 32 << 32) | (second & kNone))));
  const std::size_t mask = header.n_slots + row;
  CHECK_THROWS_WITH(FormatError, "beyond the last column", load(with_cell(mask, cells[mask] | 8)));
  CHECK_THROWS_WITH(FormatError, "no cell", load(with_cell(mask, 0)));
  constexpr std::uint64_t kNoNumbers = 0x7FC00000'7FC00000;
  CHECK_THROWS_WITH(FormatError, "weight is not finite", load(with_cell(mask + 1, kNoNumbers)));
  CHECK_THROWS_WITH(FormatError, "negative or not finite", load(with_cell(mask + 2, kNoNumbers)));
  CHECK_THROWS_WITH(FormatError, "negative or not finite", load(with_cell(mask + 2, 0xBF800000'BF800000)));
  CHECK_THROWS_WITH(FormatError, "feature that the model does not have", open(file).check(3));
}

TEST("a truncated file of blocks throws wherever it ends") {
  const auto file = saved_bytes(trained(true, 3, random_steps(10, 3, 3), test::arow()));
  for (std::size_t n = 0; n < file.size(); ++n) {
    CHECK_THROWS(FormatError, open({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)}));
  }
}

TEST("rows in a block without columns throw") {
  const auto file = saved_bytes(trained(false, 1, random_steps(10, 3, 1), test::arow()));
  Header header = read_arrays(file).get<Header>("thing/blocks")[0];
  header.n_children = 0;
  CHECK_THROWS_WITH(FormatError, "beyond the last column", load(with_value(file, "thing/blocks", 0, header)));
}

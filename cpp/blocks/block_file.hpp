// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The sibling blocks of a tree in a model file: two arrays, `blocks` and `cells`.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "base/shared.hpp"
#include "blocks/sibling_block.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// Indexed by BlockId. A deque, because helpers keep pointers to blocks while others are added.
using Blocks = std::deque<Shared<SiblingBlock>>;

/// Writes the blocks in this order, one at a time.
void save_blocks(const Blocks& blocks, std::span<const BlockId> order, ArrayWriter& out, const std::string& prefix);

/// Returns the blocks in the order in which they were saved. They stay in the mapped file until they are written to.
/// Throws FormatError if one would extend beyond the file; SiblingBlock::check() checks everything else.
Blocks load_blocks(const ArrayReader& in, const std::string& prefix);

}  // namespace oplt

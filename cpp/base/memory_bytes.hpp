// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace oplt {

/// Memory of vectors of plain values, in bytes.
template <class... T>
std::size_t memory_bytes(const std::vector<T>&... vectors) {
  return (std::size_t{0} + ... + (vectors.capacity() * sizeof(T)));
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <memory>
#include <vector>

#include "base/buffer.hpp"
#include "check.hpp"

using oplt::Buffer;

namespace {

std::vector<int> content(const Buffer<int>& buffer) { return {buffer.begin(), buffer.end()}; }

std::shared_ptr<std::vector<int>> some_memory() { return std::make_shared<std::vector<int>>(std::vector{1, 2, 3, 4}); }

}  // namespace

TEST("a buffer grows like a vector") {
  Buffer<int> buffer;
  std::vector<int> expected;
  CHECK(buffer.empty() && buffer.is_own());
  for (int i = 0; i < 1000; ++i) {
    buffer.push_back(i);
    expected.push_back(i);
    if (i % 100 == 0) {
      buffer.append(std::vector{7, 8});
      expected.insert(expected.end(), {7, 8});
      buffer.resize(buffer.size() + 3, 9);
      expected.resize(expected.size() + 3, 9);
    }
  }
  CHECK_EQ(content(buffer), expected);
  CHECK(buffer.memory_bytes() >= buffer.size() * sizeof(int));
  CHECK(buffer.memory_bytes() < 2 * buffer.size() * sizeof(int));
  buffer.resize(5);
  CHECK_EQ(content(buffer), (std::vector{0, 7, 8, 9, 9}));
  buffer.clear();
  CHECK(buffer.empty());
}

TEST("an element of the buffer itself may be appended") {
  Buffer<int> buffer(std::vector{5});
  for (int i = 0; i < 100; ++i) {
    buffer.push_back(buffer[0]);
  }
  CHECK_EQ(content(buffer), std::vector(101, 5));
}

TEST("borrowed values are read in place, and copied before they are written to") {
  const auto memory = some_memory();
  Buffer<int> buffer(*memory, memory);
  CHECK(!buffer.is_own());
  CHECK(buffer.data() == memory->data());
  CHECK_EQ(buffer.memory_bytes(), 0U);
  buffer.own();
  CHECK(buffer.is_own());
  buffer[0] = 9;
  buffer.push_back(5);
  CHECK_EQ(content(buffer), (std::vector{9, 2, 3, 4, 5}));
  CHECK_EQ(*memory, (std::vector{1, 2, 3, 4}));
  CHECK_EQ(memory.use_count(), 1);
}

TEST("borrowed memory lives as long as any buffer that borrows it") {
  auto memory = some_memory();
  const std::weak_ptr<std::vector<int>> watched = memory;
  {
    Buffer<int> buffer(*memory, memory);
    const Buffer<int> other(buffer.view().subspan(1, 2), buffer.owner());
    buffer = Buffer<int>();
    memory.reset();
    CHECK_EQ(content(other), (std::vector{2, 3}));
  }
  CHECK(watched.expired());
}

TEST("copies own their values; a moved-from buffer is empty") {
  const auto memory = some_memory();
  Buffer<int> buffer(*memory, memory);
  Buffer<int> copy = buffer;
  CHECK(copy.is_own());
  copy[1] = 8;
  CHECK_EQ(content(buffer), *memory);
  Buffer<int> moved = std::move(buffer);
  CHECK(!moved.is_own());
  CHECK(buffer.empty() && buffer.is_own());
  buffer.push_back(3);
  moved = copy;
  CHECK_EQ(content(moved), (std::vector{1, 8, 3, 4}));
}

TEST("an impossible size is rejected") {
  Buffer<double> buffer;
  CHECK_THROWS(std::bad_alloc, buffer.reserve(~std::size_t{0} / 4));
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <sys/stat.h>
#define OPLT_CAN_MAP 1
#endif

namespace oplt::bindings {

/// The bytes of a file: mapped, so that processes share them and only accessed pages are read; or copied.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

inline FileBytes copied_bytes(std::span<const std::byte> bytes) {
  auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {*copy, copy};
}

#ifdef OPLT_CAN_MAP
/// Empty if mapping fails, with the reason in errno; running out of memory throws. The file may be closed afterwards.
inline FileBytes mapped_bytes(int file) {
  struct stat facts{};
  if (fstat(file, &facts) != 0 || facts.st_size == 0) {
    return {};
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (address == MAP_FAILED && errno == ENOMEM) {
    throw std::bad_alloc();
  }
  if (address == MAP_FAILED) {
    return {};
  }
  return {{static_cast<const std::byte*>(address), size},
          std::shared_ptr<const void>(address, [size](const void* begin) { munmap(const_cast<void*>(begin), size); })};
}
#endif

}  // namespace oplt::bindings

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

namespace oplt {

/// Temporary memory of type T, which is not copied when its owner is copied.
template <class T>
struct WorkingMemory : T {
  WorkingMemory() = default;
  WorkingMemory(const WorkingMemory&) : T() {}
  WorkingMemory(WorkingMemory&&) = default;
  WorkingMemory& operator=(const WorkingMemory&) { return *this; }
  WorkingMemory& operator=(WorkingMemory&&) = default;
  ~WorkingMemory() = default;
};

}  // namespace oplt

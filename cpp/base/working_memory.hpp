// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

namespace oplt {

/// A T that is of use only while something is being done: whoever copies its owner does not copy it.
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

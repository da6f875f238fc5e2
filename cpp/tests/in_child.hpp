// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Forking, for tests of the behaviour in a forked child.
#pragma once

#if __has_include(<unistd.h>)
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

#define OPLT_CAN_FORK 1

namespace oplt::test {

/// Forks. Returns 0 in the child, which is killed after a while if it hangs.
inline pid_t fork_here() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
  }
  return child;
}

/// Whether the child ended by _exit(0).
inline bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Forks, and returns whether work() returns true in the child.
template <class Work>
bool holds_in_child(Work work) {
  const pid_t child = fork_here();
  if (child == 0) {
    try {
      _exit(work() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  return ended_well(child);
}

}  // namespace oplt::test
#endif

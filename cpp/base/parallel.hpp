// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "base/interruption.hpp"

namespace oplt {

/// Calls work(i, worker) for every i in [0, n), on up to `threads` threads; worker < threads identifies the thread, and
/// 0 is the calling thread. The order of the calls is not defined. The first exception stops the hand-out of work and
/// is rethrown.
///
/// Long work should call interruption->check(worker) regularly. The calling thread does so while it waits for the
/// others. If a poll forks, the call in the child throws ForkedCall; whatever the workers write must be LeftInChild.
void parallel_for(std::size_t n, std::size_t threads,
                  const std::function<void(std::size_t i, std::size_t worker)>& work,
                  Interruption* interruption = nullptr);

}  // namespace oplt

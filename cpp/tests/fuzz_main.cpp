// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// libFuzzer's entry: one executable for each target, whose name OPLT_FUZZ_TARGET is. An exception ends the process.
#include "fuzz_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  oplt::test::OPLT_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}

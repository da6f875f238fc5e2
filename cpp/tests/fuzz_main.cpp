// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The entry point for libFuzzer. There is one executable per target, named by OPLT_FUZZ_TARGET. An exception aborts it.
#include "fuzz_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  oplt::test::OPLT_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}

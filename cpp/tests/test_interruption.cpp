// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <stdexcept>

#include "base/interruption.hpp"
#include "check.hpp"

using namespace oplt;

TEST("only the calling thread polls, and the others stop after it") {
  int polls = 0;
  bool interrupted = false;
  Interruption interruption([&] {
    ++polls;
    if (interrupted) {
      throw std::runtime_error("Ctrl-C");
    }
  });
  interruption.check(0);
  interruption.check(1);
  CHECK_EQ(polls, 1);
  interrupted = true;
  interruption.check(1);  // not interrupted yet
  CHECK_THROWS_WITH(std::runtime_error, "Ctrl-C", interruption.check(0));
  CHECK_THROWS(Interruption::Stopped, interruption.check(1));
  CHECK_EQ(polls, 2);
}

TEST("a meter checks after each fixed amount of work") {
  int checks = 0;
  WorkMeter meter([&] { ++checks; });
  for (int i = 0; i < 3; ++i) {
    meter.add(WorkMeter::kCheckEvery - 1);
    CHECK_EQ(checks, i);
    meter.add(1);
    CHECK_EQ(checks, i + 1);
  }
  meter.add(10 * WorkMeter::kCheckEvery);
  CHECK_EQ(checks, 4);
  WorkMeter().add(WorkMeter::kCheckEvery);  // without a function to call
}

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "base/shared.hpp"
#include "encode/text_features.hpp"
#include "model/turns.hpp"

namespace oplt::bindings {

/// Text features without a model. One thread at a time changes them; any number of threads read them. Reads and writes
/// must be short and must not run Python code: a signal handler could wait for a turn that its own thread holds.
class LockedTextFeatures {
 public:
  explicit LockedTextFeatures(TextFeatures features) : features_(std::move(features)) {}

  template <class Change>
  auto change(Change change) {
    struct Turn {
      explicit Turn(Turns& turns) : turns_(turns) { turns_.enter_writing(); }
      ~Turn() { turns_.leave_writing(); }
      Turns& turns_;
    };
    const Turn turn(turns_);
    return change(features_.write());
  }

  template <class Read>
  auto read(Read read) const {
    struct Turn {
      explicit Turn(Turns& turns) : turns_(turns) { turns_.enter_reading(); }
      ~Turn() { turns_.leave_reading(); }
      Turns& turns_;
    };
    const Turn turn(turns_);
    return read(features_);
  }

  /// The current features, for longer work. As long as a snapshot exists, learning copies the features first.
  Shared<TextFeatures> snapshot() const {
    return read([](const Shared<TextFeatures>& features) { return features; });
  }

  /// See OnlineModel.
  void hold() { turns_.hold(); }
  void release() { turns_.release(); }
  void release_in_child() { turns_.release_in_child(); }

 private:
  mutable Turns turns_;
  Shared<TextFeatures> features_;
};

}  // namespace oplt::bindings

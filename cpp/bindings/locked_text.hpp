// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "encode/text_features.hpp"

namespace oplt::bindings {

/// Text features on their own, without a model, whose lock they share otherwise. One thread learns, any number read.
class LockedTextFeatures {
 public:
  explicit LockedTextFeatures(TextFeatures features) : features_(std::move(features)) {}

  template <class Change>
  auto change(Change change) {
    const std::unique_lock lock(mutex_);
    return change(features_);
  }

  template <class Read>
  auto read(Read read) const {
    const std::shared_lock lock(mutex_);
    return read(features_);
  }

  TextFeatures copy() const {
    return read([](const TextFeatures& features) { return features; });
  }

 private:
  mutable std::shared_mutex mutex_;
  TextFeatures features_;
};

}  // namespace oplt::bindings

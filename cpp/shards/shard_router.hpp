// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "forest/subtrees.hpp"
#include "shards/messages.hpp"

namespace oplt {

/// What is due from a shard.
struct Ticket {
  std::uint32_t shard;
  std::uint64_t number;
};

/// Carries messages to shards. For each shard, messages must arrive in the order of the calls.
class ShardLinks {
 public:
  ShardLinks() = default;
  virtual ~ShardLinks() = default;
  ShardLinks(const ShardLinks&) = delete;
  ShardLinks& operator=(const ShardLinks&) = delete;

  /// Sends SentExamples. Need not wait until they have been learnt.
  virtual void learn(std::uint32_t shard, Message message) = 0;

  /// Sends SentQueries. Need not wait for the answer. Returns a number by which to get it.
  virtual std::uint64_t ask(std::uint32_t shard, Message message) = 0;

  /// Waits for answers, which are in the same order. Each is fetched once.
  virtual std::vector<Message> answers(std::span<const Ticket> tickets) = 0;
};

/// Routes what concerns a subtree to the shard that has it.
class ShardRouter : public Subtrees {
 public:
  /// `shard_of` is by subtree.
  ShardRouter(std::shared_ptr<ShardLinks> links, std::vector<std::uint32_t> shard_of)
      : links_(std::move(links)), shard_of_(std::move(shard_of)) {}

  std::uint32_t shard_of(std::uint32_t subtree) const override { return shard_of_[subtree]; }
  void learn(std::span<const SubtreeExample> examples) override;
  ShardAnswers ask(std::span<const RowView> rows, std::span<const ShardQuery> queries, const SearchParams& params,
                   bool ahead) override;

 private:
  std::shared_ptr<ShardLinks> links_;
  std::vector<std::uint32_t> shard_of_;
};

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "shards/shard_router.hpp"

#include <map>
#include <utility>

namespace oplt {

void ShardRouter::learn(std::span<const SubtreeExample> examples) {
  std::map<std::uint32_t, std::vector<SubtreeExample>> by_shard;
  for (const SubtreeExample& example : examples) {
    by_shard[shard_of(example.subtree)].push_back(example);
  }
  for (const auto& [shard, own] : by_shard) {
    links_->learn(shard, encode(own));
  }
}

std::vector<ShardFound> ShardRouter::search(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                                            const SearchParams& params, bool ahead) {
  std::map<std::uint32_t, std::vector<std::size_t>> by_shard;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    by_shard[queries[i].shard].push_back(i);
  }
  const FilterIds filter = params.filter != nullptr ? params.filter->ids() : FilterIds{};
  std::vector<std::pair<std::uint32_t, Message>> messages;
  for (const auto& [shard, numbers] : by_shard) {
    std::vector<ShardQuery> own;
    for (const std::size_t i : numbers) {
      own.push_back(queries[i]);
    }
    messages.emplace_back(shard, encode(rows, own, params, filter, ahead));
  }
  std::vector<ShardFound> found(queries.size());
  if (messages.empty()) {
    return found;
  }
  const std::vector<Message> answers = links_->search(std::move(messages));
  std::size_t next = 0;
  for (const auto& [shard, numbers] : by_shard) {
    std::vector<ShardFound> own = decode_found(ArrayReader(answers[next++], nullptr));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      found[numbers[i]] = std::move(own.at(i));
    }
  }
  return found;
}

}  // namespace oplt

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

ShardAnswers ShardRouter::ask(std::span<const RowView> rows, std::span<const ShardQuery> queries,
                              const SearchParams& params, bool ahead) {
  std::map<std::uint32_t, std::vector<std::size_t>> by_shard;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    by_shard[queries[i].shard].push_back(i);
  }
  const FilterIds filter = params.filter != nullptr ? params.filter->ids() : FilterIds{};
  std::vector<Ticket> tickets;
  std::vector<std::vector<std::size_t>> numbers;  // of the queries, by ticket
  for (auto& [shard, own_numbers] : by_shard) {
    std::vector<ShardQuery> own;
    for (const std::size_t i : own_numbers) {
      own.push_back(queries[i]);
    }
    tickets.push_back({shard, links_->ask(shard, encode(rows, own, params, filter, ahead))});
    numbers.push_back(std::move(own_numbers));
  }
  return [links = links_, n = queries.size(), tickets = std::move(tickets), numbers = std::move(numbers)] {
    std::vector<ShardFound> found(n);
    if (tickets.empty()) {
      return found;
    }
    const std::vector<Message> answers = links->answers(tickets);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      std::vector<ShardFound> own = decode_found(ArrayReader(answers[i], nullptr));
      for (std::size_t j = 0; j < numbers[i].size(); ++j) {
        found[numbers[i][j]] = std::move(own.at(j));
      }
    }
    return found;
  };
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// What the top of a cut tree and its shards send each other, as bytes in the form of io/array_file.hpp. Sender and
// receiver are the same version of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "forest/label_filter.hpp"
#include "forest/search.hpp"
#include "forest/subtrees.hpp"
#include "io/array_file.hpp"

namespace oplt {

using Message = std::vector<std::byte>;

/// Rows in a message.
struct SentRows {
  Buffer<std::int64_t> indptr;
  Buffer<FeatureId> features;
  Buffer<Real> values;
  std::vector<RowView> views;
};

/// Examples to be learnt, all of one shard.
Message encode(std::span<const SubtreeExample> examples);

struct SentExamples {
  explicit SentExamples(const ArrayReader& in);

  SentRows rows;
  Buffer<LabelId> labels;
  std::vector<SubtreeExample> examples;
};

/// Queries, all of one shard. `filter` are the ids of params.filter, if it is not null.
Message encode(std::span<const RowView> rows, std::span<const ShardQuery> queries, const SearchParams& params,
               const FilterIds& filter, bool ahead);

struct SentQueries {
  explicit SentQueries(const ArrayReader& in);

  SentRows rows;
  std::vector<ShardQuery> queries;  // their rows are those of the message
  SearchParams params;              // without a filter
  bool ahead = false;
  std::optional<FilterIds> filter;
};

/// The answers to queries.
Message encode(std::span<const ShardFound> found);
std::vector<ShardFound> decode_found(const ArrayReader& in);

}  // namespace oplt

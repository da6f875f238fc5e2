// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "shards/messages.hpp"

#include <string>
#include <utility>

namespace oplt {

namespace {

/// Collects what a writer writes.
template <class Write>
Message bytes_of(Write write) {
  Message bytes;
  ArrayWriter out([&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  write(out);
  out.finish();
  return bytes;
}

template <class T>
void put(ArrayWriter& out, const char* name, const std::vector<T>& values) {
  out.put<T>(name, values);
}

/// Rows that are sent once each, though several examples or queries refer to them, one after the other.
class RowsToSend {
 public:
  std::uint32_t add(std::uint32_t number, RowView x) {
    if (number != last_) {
      last_ = number;
      features_.insert(features_.end(), x.features.begin(), x.features.end());
      values_.insert(values_.end(), x.values.begin(), x.values.end());
      indptr_.push_back(static_cast<std::int64_t>(features_.size()));
    }
    return static_cast<std::uint32_t>(indptr_.size() - 2);
  }
  void write(ArrayWriter& out) const {
    put(out, "rows/indptr", indptr_);
    put(out, "rows/features", features_);
    put(out, "rows/values", values_);
  }

 private:
  std::uint32_t last_ = kNone;
  std::vector<std::int64_t> indptr_{0};
  std::vector<FeatureId> features_;
  std::vector<Real> values_;
};

SentRows read_rows(const ArrayReader& in) {
  SentRows rows{.indptr = in.get<std::int64_t>("rows/indptr"),
                .features = in.get<FeatureId>("rows/features"),
                .values = in.get<Real>("rows/values"),
                .views = {}};
  const RowBounds bounds{rows.indptr.view()};
  for (std::size_t i = 0; i < bounds.n_rows(); ++i) {
    rows.views.push_back({bounds.row(rows.features.view(), i), bounds.row(rows.values.view(), i)});
  }
  return rows;
}

/// The fixed parts of a SubtreeExample. As for the other records here, no padding.
struct ExampleRecord {
  std::uint32_t subtree;
  std::uint32_t row;
  NodeId first_key;
  Real weight;
  std::uint32_t n_labels;
};

struct QueryRecord {
  std::uint32_t row;
  Real least;
  std::uint32_t n_nodes;
};

struct ParamsRecord {
  std::uint64_t top_k;
  std::uint64_t beam;
  Real threshold;
  std::uint16_t filter;
  std::uint16_t ahead;
};
enum : std::uint16_t { kNoFilter, kDenied, kAllowed };  // ParamsRecord::filter

struct FoundRecord {
  std::uint32_t n_nodes;
  std::uint32_t n_labels;
};

}  // namespace

Message encode(std::span<const SubtreeExample> examples) {
  RowsToSend rows;
  std::vector<ExampleRecord> records;
  std::vector<LabelId> labels;
  for (const SubtreeExample& each : examples) {
    const std::span<const LabelId> own = each.example.labels;
    records.push_back({each.subtree, rows.add(each.row, each.example.x), each.first_key, each.example.weight,
                       static_cast<std::uint32_t>(own.size())});
    labels.insert(labels.end(), own.begin(), own.end());
  }
  return bytes_of([&](ArrayWriter& out) {
    rows.write(out);
    put(out, "examples", records);
    put(out, "labels", labels);
  });
}

SentExamples::SentExamples(const ArrayReader& in) : rows(read_rows(in)), labels(in.get<LabelId>("labels")) {
  std::size_t begin = 0;
  for (const ExampleRecord& each : in.get<ExampleRecord>("examples")) {
    const std::span<const LabelId> own = labels.view().subspan(begin, each.n_labels);
    begin += each.n_labels;
    examples.push_back({each.subtree, each.row, {rows.views.at(each.row), own, each.weight}, each.first_key});
  }
}

Message encode(std::span<const RowView> rows, std::span<const ShardQuery> queries, const SearchParams& params,
               const FilterIds& filter, bool ahead) {
  RowsToSend sent;
  std::vector<QueryRecord> records;
  std::vector<SubtreeNode> nodes;
  for (const ShardQuery& each : queries) {
    records.push_back({sent.add(each.row, rows[each.row]), each.least, static_cast<std::uint32_t>(each.nodes.size())});
    nodes.insert(nodes.end(), each.nodes.begin(), each.nodes.end());
  }
  const std::uint16_t kind = params.filter == nullptr ? kNoFilter : filter.are_allowed ? kAllowed : kDenied;
  return bytes_of([&](ArrayWriter& out) {
    sent.write(out);
    put(out, "queries", records);
    put(out, "nodes", nodes);
    out.put_one("params",
                ParamsRecord{params.top_k, params.beam, params.threshold, kind, static_cast<std::uint16_t>(ahead)});
    put(out, "filter", filter.labels);
  });
}

SentQueries::SentQueries(const ArrayReader& in) : rows(read_rows(in)) {
  const auto nodes = in.get<SubtreeNode>("nodes");
  std::size_t begin = 0;
  for (const QueryRecord& each : in.get<QueryRecord>("queries")) {
    const std::span<const SubtreeNode> own = nodes.view().subspan(begin, each.n_nodes);
    begin += each.n_nodes;
    queries.push_back({0, each.row, each.least, {own.begin(), own.end()}});
  }
  const auto record = in.get_one<ParamsRecord>("params");
  params.top_k = record.top_k;
  params.beam = record.beam;
  params.threshold = record.threshold;
  ahead = record.ahead != 0;
  if (record.filter != kNoFilter) {
    const auto labels = in.get<LabelId>("filter");
    filter = FilterIds{.are_allowed = record.filter == kAllowed, .labels = {labels.begin(), labels.end()}};
  }
}

Message encode(std::span<const ShardFound> found) {
  std::vector<FoundRecord> records;
  std::vector<FoundNode> nodes;
  std::vector<FoundLabel> labels;
  for (const ShardFound& each : found) {
    records.push_back({static_cast<std::uint32_t>(each.nodes.size()), static_cast<std::uint32_t>(each.labels.size())});
    nodes.insert(nodes.end(), each.nodes.begin(), each.nodes.end());
    labels.insert(labels.end(), each.labels.begin(), each.labels.end());
  }
  return bytes_of([&](ArrayWriter& out) {
    put(out, "found", records);
    put(out, "nodes", nodes);
    put(out, "labels", labels);
  });
}

std::vector<ShardFound> decode_found(const ArrayReader& in) {
  const auto nodes = in.get<FoundNode>("nodes");
  const auto labels = in.get<FoundLabel>("labels");
  std::vector<ShardFound> found;
  std::size_t node = 0;
  std::size_t label = 0;
  for (const FoundRecord& each : in.get<FoundRecord>("found")) {
    const std::span<const FoundNode> own_nodes = nodes.view().subspan(node, each.n_nodes);
    const std::span<const FoundLabel> own_labels = labels.view().subspan(label, each.n_labels);
    node += each.n_nodes;
    label += each.n_labels;
    found.push_back({{own_nodes.begin(), own_nodes.end()}, {own_labels.begin(), own_labels.end()}});
  }
  return found;
}

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// A tree that is cut into shards learns and finds, bit for bit, what the whole tree does.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "check.hpp"
#include "forest/plt.hpp"
#include "forest/search.hpp"
#include "helpers.hpp"
#include "learners.hpp"
#include "shards/messages.hpp"
#include "shards/shard.hpp"
#include "shards/shard_router.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;

namespace {

using Stream = std::vector<test::StreamExample>;

/// Shards in this process, which get real messages. Messages wait, in different orders, until an answer is needed.
class LocalShards : public ShardLinks {
 public:
  LocalShards(const ModelParams& params, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      shards.emplace_back(params.forest);
      waiting_.emplace_back();
    }
  }

  void learn(std::uint32_t shard, Message message) override { waiting_[shard].push_back({0, std::move(message)}); }

  std::uint64_t ask(std::uint32_t shard, Message message) override {
    waiting_[shard].push_back({++n_asked_, std::move(message)});
    return n_asked_;
  }

  std::vector<Message> answers(std::span<const Ticket> tickets) override {
    deliver();
    std::vector<Message> result;
    for (const Ticket& ticket : tickets) {
      result.push_back(answers_.extract(ticket.number).mapped());
    }
    return result;
  }

  void deliver() {
    for (std::size_t i = shards.size(); i-- > 0;) {
      for (const auto& [number, message] : std::exchange(waiting_[i], {})) {
        const ArrayReader in(message, nullptr);
        if (number > 0) {
          answers_[number] = answer(shards[i], SentQueries(in));
        } else {
          shards[i].learn(SentExamples(in).examples, 1 + i % 2);
        }
      }
    }
  }

  std::vector<Shard> shards;

 private:
  static Message answer(Shard& shard, SentQueries sent) {
    std::optional<LabelFilter> filter;
    if (sent.filter) {
      filter.emplace(filter_for(*sent.filter, shard.subtrees()));
      sent.params.filter = &*filter;
    }
    const std::vector<ShardFound> found = shard.search(sent.rows.views, sent.queries, sent.params, sent.ahead);
    for (const ShardFound& each : found) {  // answers about a single level have no more than the search can use
      CHECK(sent.ahead || sent.params.beam == 0 || each.nodes.size() <= sent.params.beam);
      CHECK(sent.ahead || sent.params.top_k == 0 || each.labels.size() <= sent.params.top_k);
    }
    return encode(found);
  }

  std::vector<std::vector<std::pair<std::uint64_t, Message>>> waiting_;  // with the number of a question, or 0
  std::uint64_t n_asked_ = 0;
  std::map<std::uint64_t, Message> answers_;
};

/// A tree that is cut after some examples.
class CutTree {
 public:
  CutTree(const ModelParams& params, std::size_t n_shards)
      : links_(std::make_shared<LocalShards>(params, n_shards)),
        plt_(LabelTree(), params.forest.tree.seed),
        learner_(params.forest.tree, params.forest.learning) {
    learner_.adopt(plt_);
  }

  bool can_cut() const { return learner_.can_cut(plt_); }

  void cut() {
    std::vector<Plt> subtrees = plt_.cut();
    std::vector<std::uint32_t> shard_of;
    for (std::uint32_t i = 0; i < subtrees.size(); ++i) {
      shard_of.push_back(i % links_->shards.size());
      links_->shards[shard_of.back()].add(i, std::move(subtrees[i]));
    }
    plt_.set_subtrees(std::make_shared<ShardRouter>(links_, shard_of));
  }

  void learn(std::span<const test::StreamExample> stream, std::size_t threads = 1) {
    HelperPool helpers(threads - 1);
    learner_.learn(plt_, test::views(stream), helpers);
    helpers.finish();
  }

  Plt joined() {
    links_->deliver();
    std::vector<const Plt*> parts(plt_.tree().n_children(LabelTree::kRoot));
    for (const Shard& shard : links_->shards) {
      for (const auto& [position, subtree] : shard.subtrees()) {
        parts[position] = &subtree;
      }
    }
    return Plt::joined(plt_, parts);
  }

  const Plt& operator*() const { return plt_; }

 private:
  std::shared_ptr<LocalShards> links_;
  Plt plt_;
  PltLearner learner_;
};

constexpr std::size_t kBatch = 37;

/// Learns in batches; cuts as soon as possible after `n_before` examples. Returns whether it was cut.
bool learn_and_cut(CutTree& tree, std::span<const test::StreamExample> stream, std::size_t n_before) {
  bool is_cut = false;
  for (std::size_t i = 0; i < stream.size(); i += kBatch) {
    if (!is_cut && i >= n_before && tree.can_cut()) {
      tree.cut();
      is_cut = true;
    }
    tree.learn(stream.subspan(i, std::min(kBatch, stream.size() - i)), 1 + i % 2);
  }
  return is_cut;
}

std::vector<SearchParams> questions() {
  std::vector<SearchParams> result;
  for (const std::size_t beam : {0, 1, 3, 16}) {
    for (const auto& [top_k, threshold] : {std::pair<std::size_t, Real>{5, 0}, {40, 0}, {1, 0.2F}, {0, 0.05F}}) {
      SearchParams params;
      params.top_k = top_k;
      params.threshold = threshold;
      params.beam = beam;
      result.push_back(params);
      params.beam_share = 0.3F;
      result.push_back(params);
    }
  }
  return result;
}

void check_equal_searches(const Plt& whole, const Plt& top, std::span<const test::StreamExample> examples) {
  std::vector<RowView> rows;
  for (const test::StreamExample& example : examples) {
    rows.push_back(example.view().x);
  }
  SearchScratch scratch;
  for (const SearchParams& params : questions()) {
    const LabelsOfRows expected = search(whole, rows, params, scratch);
    CHECK(search(top, rows, params, scratch) == expected);
    for (std::size_t i = 0; i < rows.size(); ++i) {  // a beam search for one row looks ahead
      CHECK(search(top, rows[i], params, scratch) == expected[i]);
    }
  }
}

ModelParams params_of(int kind) {
  switch (kind) {
    case 0:
      return make_params(Policy::kBestGreedy, 4, 6, test::arow(0.5F));
    case 1:
      return make_params(Policy::kBestGreedy, 2, 2, test::adagrad());
    case 2:
      return make_params(Policy::kBestGreedy, 8, 8, test::arow(0.5F));
    default:
      return make_params(Policy::kCpet, 2, 2, test::adagrad());
  }
}

}  // namespace

TEST("a cut tree learns and finds what the whole tree does, whatever the number of shards") {
  for (int kind = 0; kind < 4; ++kind) {
    const ModelParams params = params_of(kind);
    const Stream stream = test::random_stream(static_cast<std::uint64_t>(kind) + 1, 600, 150);
    test::OnlineTree whole(params);
    for (std::size_t i = 0; i < stream.size(); i += kBatch) {
      whole.learn(std::span(stream).subspan(i, std::min(kBatch, stream.size() - i)));
    }
    for (const std::size_t n_shards : {1, 2, 3, 7}) {
      CutTree cut(params, n_shards);
      CHECK(learn_and_cut(cut, stream, 100));
      check_equal_searches(*whole, *cut, std::span(stream).first(50));
      CHECK(saved_bytes(cut.joined()) == saved_bytes(*whole));
    }
  }
}

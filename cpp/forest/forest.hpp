// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/params.hpp"
#include "base/types.hpp"
#include "forest/kept_example.hpp"
#include "forest/online_plt.hpp"
#include "forest/reservoir.hpp"
#include "forest/search.hpp"
#include "io/archive.hpp"

namespace oplt {

/// Label trees that learn from the same stream and answer together: `params.trees` of them, most often one.
///
/// With a warm-up, the first `params.warm_up` examples are kept. When they have been learnt, each tree is made anew
/// over the labels that there are (label_clustering.hpp), and learns them again; they are forgotten, and the stream
/// goes on.
///
/// With replay, a sample of the stream is kept, and after each new example the trees learn `params.replay` of the
/// sample again. A new start, after a warm-up, starts the sample anew, too.
///
/// Each tree is proper by itself (OnlinePlt), with respect to all that it has learnt. Const members may be called from
/// many threads at once, learn() from one alone.
class Forest {
 public:
  /// Nothing is known ahead.
  explicit Forest(const TrainParams& params);

  /// A single tree is given: params.trees == 1 and params.warm_up == 0.
  Forest(const TrainParams& params, LabelTree tree);

  /// A single tree, trained elsewhere.
  explicit Forest(OnlinePlt tree);

  /// Learns n examples: example(0), example(1), … Several threads may ask for them, each in order. Their rows must live
  /// until learn() returns. It may call `ahead` beside, which may get examples ready. The result does not depend on
  /// `threads` nor on how a stream is cut.
  void learn(std::size_t n, const std::function<Example(std::size_t)>& example, std::size_t threads,
             const std::function<void()>& ahead = {});

  /// Throws FrozenModel if the model learns no more.
  void expect_unfrozen() const { first().expect_unfrozen(); }

  /// The labels that `params` asks for, most probable first; equally probable ones by ascending label id. A label's
  /// probability is its mean over the trees. Each tree names its best labels; one that it does not name counts as 0
  /// there.
  std::vector<ScoredLabel> search(RowView x, const PredictParams& params, SearchScratch& scratch) const;

  std::span<const OnlinePlt> trees() const { return trees_; }
  const OnlinePlt& first() const { return trees_.front(); }
  const TrainParams& params() const { return params_; }
  std::uint32_t n_labels() const { return first().n_labels(); }
  /// New ones, without those that were learnt again.
  std::uint64_t n_examples() const { return first().n_examples() / n_lessons(); }
  /// Of the deepest tree.
  std::uint32_t depth() const;
  /// Of all trees together, as is what follows.
  std::uint64_t n_updates() const;
  std::size_t n_cells() const;

  /// The parts of memory_bytes(): the trees with their classifiers, and the examples that are kept for a warm-up and
  /// for replay.
  std::size_t memory_of_trees() const;
  std::size_t memory_of_warm_up() const;
  std::size_t memory_of_replay() const { return reservoir_ ? reservoir_->memory_bytes() : 0; }
  std::size_t memory_bytes() const { return memory_of_trees() + memory_of_warm_up() + memory_of_replay(); }

  void save(Writer& out) const;
  /// Features of examples that are kept must be below n_features.
  static Forest load(const TrainParams& params, std::uint32_t n_features, Reader& in);

 private:
  using GetExample = std::function<Example(std::size_t)>;

  /// How often the trees learn for each example.
  std::uint64_t n_lessons() const { return 1 + std::uint64_t{params_.replay}; }
  void teach(std::size_t n, const GetExample& example, std::size_t threads, const std::function<void()>& ahead);
  void teach_trees(std::size_t n, const GetExample& example, std::size_t threads, const std::function<void()>& ahead);
  void start_reservoir();
  void finish_warm_up(std::size_t threads);
  std::uint64_t n_left_to_warm_up() const;

  TrainParams params_;
  std::vector<OnlinePlt> trees_;
  std::vector<KeptExample> warm_up_;    // all examples so far; empty when it is over
  std::optional<Reservoir> reservoir_;  // if there is replay
};

}  // namespace oplt

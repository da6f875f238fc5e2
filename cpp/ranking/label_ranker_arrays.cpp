// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// The part of LabelRanker that saves, loads and checks it.
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "ranking/label_ranker.hpp"

namespace oplt {

void LabelRanker::save(ArrayWriter& out, const std::string& prefix) const {
  memory_.save(out, prefix + "/memory");
  recent_.save(out, prefix + "/recent");
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i].save(out, prefix + "/models/" + std::to_string(i));
  }
  calibration_.save(out, prefix + "/calibration");
  passes_.save(out, prefix + "/passes");
  out.put_one(prefix + "/n_observed", n_observed_);
  out.put_one(prefix + "/n_looked_at", n_looked_at_);
  out.put_one(prefix + "/n_of_several", n_of_several_);
  out.put_one(prefix + "/mean_known", mean_known_);
}

LabelRanker LabelRanker::load(const ArrayReader& in, const std::string& prefix, std::uint32_t max_features) {
  LabelRanker ranker(max_features);
  ranker.memory_ = LabelMemory::load(in, prefix + "/memory", max_features);
  ranker.recent_ = RecentExamples::load(in, prefix + "/recent");
  for (std::size_t i = 0; i < ranker.models_.size(); ++i) {
    ranker.models_[i] = RankingModel::load(in, prefix + "/models/" + std::to_string(i));
  }
  ranker.calibration_ = ScoreCalibration::load(in, prefix + "/calibration");
  ranker.passes_ = PassDetector::load(in, prefix + "/passes");
  ranker.n_observed_ = in.get_one<std::uint64_t>(prefix + "/n_observed");
  ranker.n_looked_at_ = in.get_one<std::uint64_t>(prefix + "/n_looked_at");
  ranker.n_of_several_ = in.get_one<std::uint64_t>(prefix + "/n_of_several");
  ranker.mean_known_ = in.get_one<double>(prefix + "/mean_known");
  return ranker;
}

void LabelRanker::check(const LabelMemory::Limits& limits) const {
  memory_.check(limits);
  recent_.check(memory_);
  for (const RankingModel& model : models_) {
    model.check();
  }
  calibration_.check();
  passes_.check();
  expect_format(n_of_several_ <= limits.examples && n_looked_at_ <= limits.examples,
                "the ranking has seen more examples than the model");
  expect_format(mean_known_ >= 0 && mean_known_ <= static_cast<double>(limits.features),
                "the mean number of known features is out of range");
}

}  // namespace oplt

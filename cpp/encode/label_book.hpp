// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/types.hpp"
#include "encode/label_log.hpp"
#include "encode/vocabulary.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The labels of a model: their names, which of them may be predicted, and all operations on them.
///
/// Labels have dense ids in order of arrival. Usually each has one name, whose id in the vocabulary is that of the
/// label. No name is ever given to another label: a renamed label is still found by its old name, and the names of a
/// merged one lead to its successor. So the names of an example and its number determine its labels.
class LabelBook {
 public:
  LabelBook() = default;
  /// A label for each name.
  explicit LabelBook(Vocabulary names) : names_(std::move(names)) {}

  /// Number of ids, including those of labels that have *ended*: that have been removed, or merged into others.
  std::uint32_t size() const { return name_of_.empty() ? names_.size() : static_cast<std::uint32_t>(name_of_.size()); }
  /// Number of labels that have not ended.
  std::uint32_t n_present() const { return size() - n_ended_; }
  /// Number of labels that may be predicted.
  std::uint32_t n_shown() const { return n_present() - n_hidden_; }
  bool is_shown(LabelId label) const { return status(label) == Status::kShown; }
  bool is_hidden(LabelId label) const { return status(label) == Status::kHidden; }
  bool has_ended(LabelId label) const { return status(label) == Status::kEnded; }
  /// By label, whether it may not be predicted; later labels may be. Null if all may.
  const std::shared_ptr<const std::vector<bool>>& unshown() const { return unshown_; }

  /// The label to which a name leads, or kNone.
  LabelId find(const Name& name) const;
  Name name(LabelId label) const { return names_.name(name_of_.empty() ? label : name_of_[label]); }
  /// All further names, with the labels to which they lead, in order of arrival.
  std::vector<std::pair<LabelId, Name>> aliases() const;
  const Vocabulary& names() const { return names_; }

  /// The names of a training example. Unknown ones are added, each as a new label.
  void add_row(const NameList& names, std::size_t begin, std::size_t end, std::vector<NameId>& ids);

  /// Replaces the names of an example by its labels, ascending and distinct, without those that have been removed.
  /// `number` is that of the example; if it is larger, operations on the labels after the example count, too.
  void resolve(std::vector<NameId>& ids, std::uint64_t number) const;

  /// What an operation has changed.
  struct Change {
    LabelId label = kNone;  // kNone if nothing has changed
    LabelId into = kNone;   // if the label has been merged
  };

  /// Performs an operation and records it, unless it changes nothing. Throws InvalidInput if it is impossible, such as
  /// renaming an unknown label.
  Change apply(const LabelOperation& operation);

  const LabelLog& log() const { return log_; }
  std::size_t memory_bytes() const;
  std::size_t content_bytes() const {
    return names_.content_bytes() + label_of_.content_bytes() + name_of_.content_bytes() + fates_.content_bytes() +
           log_.content_bytes();
  }

  /// Equal books write equal arrays.
  void save(ArrayWriter& out, const std::string& prefix) const;
  static LabelBook load(const ArrayReader& in, const std::string& prefix);
  /// Full check. Throws FormatError unless every id refers to something, and every operation was possible in a model
  /// with this number of examples, of texts or of features.
  void check(std::uint64_t n_examples, bool of_texts) const;

 private:
  enum class Status : std::uint32_t { kShown, kHidden, kEnded };

  struct Fate {
    std::uint64_t ended_at = 0;  // number of examples before it ended
    LabelId successor = kNone;   // if it has been merged
    Status status = Status::kShown;
  };

  Status status(LabelId label) const { return label < fates_.size() ? fates_[label].status : Status::kShown; }
  bool names_are_labels() const { return label_of_.empty(); }
  LabelId label_of(NameId name, std::uint64_t number) const;
  bool leads_to(NameId name, LabelId label) const;
  LabelId expect_label(const Name& name) const;
  void give_own_ids();
  void give_name(const Name& name, LabelId label);
  void set_fate(LabelId label, const Fate& fate);
  void end(LabelId label, LabelId successor, std::uint64_t n_examples);
  Change add(const LabelOperation& operation);
  Change rename(const LabelOperation& operation);
  Change set_hidden(const LabelOperation& operation, bool hidden);
  Change merge(const LabelOperation& operation);
  Change perform(const LabelOperation& operation);
  void check_fates(std::uint64_t n_examples) const;

  Vocabulary names_;
  Buffer<LabelId> label_of_;  // by name: the label that got it; empty if ids of names are those of labels
  Buffer<NameId> name_of_;    // by label; likewise
  Buffer<Fate> fates_;        // by label; empty if all have always been shown
  std::uint32_t n_hidden_ = 0;
  std::uint32_t n_ended_ = 0;
  std::shared_ptr<const std::vector<bool>> unshown_;
  LabelLog log_;
};

/// Formats a name for messages.
std::string shown(const Name& name);

}  // namespace oplt

// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/label_book.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/span_pool.hpp"

namespace oplt {

namespace {

using Kind = LabelOperation::Kind;

constexpr std::uint64_t kNow = std::numeric_limits<std::uint64_t>::max();  // all operations so far count

}  // namespace

std::string shown(const Name& name) {
  return name.is_text() ? "'" + std::string(name.text) + "'" : std::to_string(name.number);
}

/// The label of the name in the example with this number; kNone if it has been removed.
LabelId LabelBook::label_of(NameId name, std::uint64_t number) const {
  LabelId label = names_are_labels() ? name : label_of_[name];
  while (label != kNone && has_ended(label) && fates_[label].ended_at <= number) {
    label = fates_[label].successor;
  }
  return label;
}

/// Whether the name leads to the label, or did so before the label ended.
bool LabelBook::leads_to(NameId name, LabelId label) const {
  LabelId next = label_of_[name];
  while (next != kNone && next != label && has_ended(next)) {
    next = fates_[next].successor;
  }
  return next == label;
}

LabelId LabelBook::find(const Name& name) const {
  const NameId id = names_.find(name);
  return id == kNone ? kNone : label_of(id, kNow);
}

std::vector<std::pair<LabelId, Name>> LabelBook::aliases() const {
  std::vector<std::pair<LabelId, Name>> found;
  for (NameId id = 0; id < names_.size() && (!names_are_labels() || n_ended_ > 0); ++id) {
    const LabelId label = label_of(id, kNow);
    if (label != kNone && name(label) != names_.name(id)) {
      found.emplace_back(label, names_.name(id));
    }
  }
  return found;
}

void LabelBook::add_row(const NameList& names, std::size_t begin, std::size_t end, std::vector<NameId>& ids) {
  const std::uint32_t n_before = names_.size();
  names_.add_row(names, begin, end, ids);
  if (!names_are_labels() && names_.size() > n_before) {
    label_of_.own();
    name_of_.own();
    for (NameId id = n_before; id < names_.size(); ++id) {
      label_of_.push_back(size());
      name_of_.push_back(id);
    }
  }
  if (!fates_.empty() && fates_.size() < size()) {
    fates_.own();
    fates_.resize(size());
  }
}

void LabelBook::resolve(std::vector<NameId>& ids, std::uint64_t number) const {
  if (!names_are_labels() || n_ended_ > 0) {
    for (NameId& id : ids) {
      id = label_of(id, number);
    }
    std::erase(ids, kNone);
  }
  sort_distinct(ids);
}

LabelId LabelBook::expect_label(const Name& name) const {
  const LabelId label = find(name);
  if (label == kNone && names_.find(name) == kNone) {
    throw LabelRefused("unknown-label", "the model knows no label " + shown(name), "Labels are case-sensitive.");
  }
  if (label == kNone) {
    throw LabelRefused("label-removed", "the label " + shown(name) + " has been removed",
                       "A removed label cannot come back; use another name. Labels that may come back can be hidden.");
  }
  return label;
}

/// Before a label gets a second name.
void LabelBook::give_own_ids() {
  label_of_.own();
  name_of_.own();
  if (names_are_labels()) {
    for (NameId id = 0; id < names_.size(); ++id) {
      label_of_.push_back(id);
      name_of_.push_back(id);
    }
  }
}

void LabelBook::give_name(const Name& name, LabelId label) {
  give_own_ids();
  std::vector<NameId> id;
  names_.add_row({.names = {&name, 1}, .numbers = {}}, 0, 1, id);
  label_of_.push_back(label);
}

void LabelBook::set_fate(LabelId label, const Fate& fate) {
  fates_.own();
  fates_.resize(size());  // at first, there are none
  fates_[label] = fate;
  std::vector<bool> unshown = unshown_ ? *unshown_ : std::vector<bool>();  // a copy, because filters hold the old one
  unshown.resize(fates_.size());
  unshown[label] = fate.status != Status::kShown;
  unshown_ = n_hidden_ + n_ended_ > 0 ? std::make_shared<const std::vector<bool>>(std::move(unshown)) : nullptr;
}

void LabelBook::end(LabelId label, LabelId successor, std::uint64_t n_examples) {
  n_hidden_ -= is_hidden(label) ? 1 : 0;
  ++n_ended_;
  set_fate(label, {.ended_at = n_examples, .successor = successor, .status = Status::kEnded});
}

LabelBook::Change LabelBook::add(const LabelOperation& operation) {
  if (names_.find(operation.label) == kNone) {
    std::vector<NameId> id;
    add_row({.names = {&operation.label, 1}, .numbers = {}}, 0, 1, id);
    return {.label = size() - 1};
  }
  const LabelId label = expect_label(operation.label);
  return {.label = operation.description ? label : kNone};
}

LabelBook::Change LabelBook::rename(const LabelOperation& operation) {
  const LabelId label = expect_label(operation.label);
  const NameId known = names_.find(operation.other);
  if (known == kNone) {
    give_name(operation.other, label);
    name_of_[label] = names_.size() - 1;
    return {.label = label};
  }
  if (expect_label(operation.other) != label) {
    throw LabelRefused("label-exists", "there is another label " + shown(operation.other),
                       "Merge the two labels to make them one, or choose another name.");
  }
  if (name(label) == operation.other) {
    return {};
  }
  give_own_ids();
  name_of_[label] = known;
  return {.label = label};
}

LabelBook::Change LabelBook::set_hidden(const LabelOperation& operation, bool hidden) {
  const LabelId label = expect_label(operation.label);
  if (is_hidden(label) == hidden) {
    return {};
  }
  hidden ? ++n_hidden_ : --n_hidden_;
  set_fate(label, {.status = hidden ? Status::kHidden : Status::kShown});
  return {.label = label};
}

LabelBook::Change LabelBook::merge(const LabelOperation& operation) {
  const LabelId into = expect_label(operation.other);
  if (names_.find(operation.label) == kNone) {
    give_name(operation.label, into);
    return {.label = into};
  }
  const LabelId label = expect_label(operation.label);
  if (label == into) {
    return {};
  }
  end(label, into, operation.n_examples);
  return {.label = label, .into = into};
}

LabelBook::Change LabelBook::perform(const LabelOperation& operation) {
  switch (operation.kind) {
    case Kind::kAdd:
      return add(operation);
    case Kind::kRename:
      return rename(operation);
    case Kind::kHide:
    case Kind::kUnhide:
      return set_hidden(operation, operation.kind == Kind::kHide);
    case Kind::kMerge:
      return merge(operation);
    case Kind::kRemove:
      break;
  }
  const LabelId label = expect_label(operation.label);
  end(label, kNone, operation.n_examples);
  return {.label = label};
}

LabelBook::Change LabelBook::apply(const LabelOperation& operation) {
  const Change change = perform(operation);
  if (change.label != kNone) {
    log_.append(operation);
  }
  return change;
}

std::size_t LabelBook::memory_bytes() const {
  return names_.memory_bytes() + label_of_.memory_bytes() + name_of_.memory_bytes() + fates_.memory_bytes() +
         log_.memory_bytes();
}

void LabelBook::save(ArrayWriter& out, const std::string& prefix) const {
  names_.save(out, prefix);
  out.put(prefix + "/label_of", label_of_);
  out.put(prefix + "/name_of", name_of_);
  out.put(prefix + "/fates", fates_);
  out.put_one(prefix + "/n_hidden", n_hidden_);
  out.put_one(prefix + "/n_ended", n_ended_);
  log_.save(out, prefix);
}

LabelBook LabelBook::load(const ArrayReader& in, const std::string& prefix) {
  LabelBook book(Vocabulary::load(in, prefix));
  book.label_of_ = in.get<LabelId>(prefix + "/label_of");
  book.name_of_ = in.get<NameId>(prefix + "/name_of");
  book.fates_ = in.get<Fate>(prefix + "/fates");
  book.log_ = LabelLog::load(in, prefix);
  const bool has_tables = !book.label_of_.empty();
  expect_format(has_tables == !book.name_of_.empty() && (!has_tables || book.label_of_.size() == book.names_.size()) &&
                    book.size() <= book.names_.size() && (book.fates_.empty() || book.fates_.size() == book.size()),
                "the arrays of labels differ in size");
  std::vector<bool> unshown;
  for (const Fate& fate : book.fates_) {
    book.n_hidden_ += fate.status == Status::kHidden ? 1 : 0;
    book.n_ended_ += fate.status == Status::kEnded ? 1 : 0;
    unshown.push_back(fate.status != Status::kShown);
  }
  expect_format(book.n_hidden_ == in.get_one<std::uint32_t>(prefix + "/n_hidden") &&
                    book.n_ended_ == in.get_one<std::uint32_t>(prefix + "/n_ended"),
                "the numbers of hidden, removed and merged labels are wrong");
  if (book.n_shown() < book.size()) {
    book.unshown_ = std::make_shared<const std::vector<bool>>(std::move(unshown));
  }
  return book;
}

void LabelBook::check(std::uint64_t n_examples, bool of_texts) const {
  names_.check();
  check_fates(n_examples);
  bool good = true;
  for (const LabelId label : label_of_) {
    good = good && label < size();
  }
  for (LabelId label = 0; label < name_of_.size() && good; ++label) {
    const NameId name = name_of_[label];
    good = name < names_.size() && leads_to(name, label);
  }
  expect_format(good, "a name has no label, or a label has no name");
  log_.check(n_examples, of_texts);
}

void LabelBook::check_fates(std::uint64_t n_examples) const {
  bool good = true;
  for (const auto& [ended_at, successor, status] : fates_) {
    const bool ended = status == Status::kEnded;
    good = good && status <= Status::kEnded && (successor == kNone || (ended && successor < size())) &&
           ended_at <= (ended ? n_examples : 0);
  }
  expect_format(good, "the fate of a label is impossible");
  std::vector<LabelId> seen_from(size(), kNone);  // the label from which the chain of successors was followed
  for (LabelId label = 0; label < fates_.size(); ++label) {
    LabelId next = label;
    while (next != kNone && has_ended(next) && seen_from[next] == kNone) {
      seen_from[next] = label;
      next = fates_[next].successor;
    }
    expect_format(next == kNone || !has_ended(next) || seen_from[next] != label, "labels were merged in a circle");
  }
}

}  // namespace oplt

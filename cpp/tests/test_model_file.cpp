// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Model files that are damaged, by accident or on purpose: they are refused, or do no harm.
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "helpers.hpp"
#include "labelled_texts.hpp"
#include "named_examples.hpp"

using namespace oplt;
using oplt::test::make_params;
using oplt::test::saved_bytes;
using oplt::test::started;

namespace {

constexpr std::byte kChanges[] = {std::byte{1}, std::byte{0x80}, std::byte{0xFF}};
constexpr std::size_t kLarge = 1000;  // bytes of arrays of so many equal things that each is changed in one way only
constexpr std::size_t kExamples = 7;  // in the file; as many again are learnt from it

struct Kind {
  ModelParams params;
  std::optional<TextParams> text;

  /// Of known features, and of new ones.
  Inputs questions() const { return text ? texts().inputs(4, 11) : named().rows(4, 7); }

  void teach(OnlineModel& model, std::size_t begin, std::size_t end) const {
    if (text) {
      texts().teach(model, begin, end, 1);
    } else {
      named().teach(model, begin, end - begin, 1);
    }
  }

  std::vector<std::byte> file() const {
    OnlineModel model(params, started(params, text));
    teach(model, 0, kExamples);
    return saved_bytes(model);
  }

 private:
  static const test::NamedExamples& named() {
    static const test::NamedExamples made(31, 2 * kExamples);
    return made;
  }
  static const test::LabelledTexts& texts() {
    static const test::LabelledTexts made(2 * kExamples);
    return made;
  }
};

/// One tree alone; all that a model of named features can have, during its warm-up; the same of texts, after it.
std::vector<Kind> kinds() {
  Kind all{make_params(Policy::kBestGreedy, 2, 3, 0.1F), {}};
  all.params.label_memory = 4;
  all.params.forest.trees = 2;
  Kind texts = all;
  texts.text = test::crowded_text();
  all.params.forest.warm_up = kExamples + 2;
  return {Kind{make_params(Policy::kComplete, 2, 3), {}}, all, texts};
}

bool are_probabilities(const Predictions& predictions) {
  return std::ranges::all_of(predictions.probabilities, [](Real p) { return p >= 0 && p <= 1; });  // NaN is not
}

/// Loads a file; if it passes the check, does with it all that can be done with a model. False if it is refused.
bool is_used(const Kind& kind, const std::vector<std::byte>& file) {
  std::optional<OnlineModel> model;
  try {
    model.emplace(kind.params, test::loaded(kind.params, file, kind.text));
  } catch (const FormatError&) {
    return false;
  }
  const ModelState before = model->snapshot();
  for (const SearchParams& params : {SearchParams{.top_k = 3}, SearchParams{.threshold = 0.01F}}) {
    CHECK(are_probabilities(before.predict(kind.questions(), params, 1)));
  }
  before.label_counts();
  CHECK(are_probabilities(before.for_prediction(0.01F).predict(kind.questions(), {.top_k = 3, .beam = 2}, 1)));
  kind.teach(*model, kExamples, 2 * kExamples);
  const ModelState after = model->snapshot();
  CHECK(are_probabilities(after.predict(kind.questions(), {.top_k = 3}, 1)));
  CHECK_EQ(after.n_examples(), before.n_examples() + kExamples);
  try {
    test::loaded(kind.params, saved_bytes(after), kind.text);
  } catch (const FormatError& error) {
    check::fail("what was learnt from a changed file is refused", error.what());
  }
  return true;
}

/// The file with an array changed, as if it had been written so.
std::vector<std::byte> forged(const ArrayReader& arrays, std::span<const std::byte> file, const ArrayEntry& changed,
                              std::span<const std::byte> bytes) {
  return test::file_of([&](ArrayWriter& out) {
    for (const ArrayEntry& entry : arrays.entries()) {
      out.put_bytes(entry.name, entry.value_bytes,
                    entry.name == changed.name ? bytes : file.subspan(entry.offset, entry.n_bytes));
    }
  });
}

/// The ranking has several models that nothing tells apart: to change the first one will do.
bool is_like_another(const ArrayEntry& entry) {
  return entry.name.starts_with("ranking/models/") && entry.name != "ranking/models/0";
}

std::vector<std::byte> bytes_of(std::span<const std::byte> file, const ArrayEntry& entry) {
  const auto bytes = file.subspan(entry.offset, entry.n_bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST("a model file with any changed byte is refused") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader whole = test::read_arrays(file);
    whole.verify();
    std::vector<std::byte> changed = file;
    for (std::byte& byte : changed) {
      for (const std::byte change : kChanges) {
        byte ^= change;
        CHECK_THROWS(FormatError, test::read_arrays(changed).verify());
        byte ^= change;
      }
    }
    CHECK(changed == file);
  }
}

TEST("a truncated or prolonged model file is refused wherever it ends") {
  for (const Kind& kind : kinds()) {
    std::vector<std::byte> file = kind.file();
    for (std::size_t n = 0; n < file.size(); ++n) {
      const std::vector<std::byte> first(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK_THROWS(FormatError, test::loaded(kind.params, first, kind.text));
    }
    file.push_back(std::byte{0});
    CHECK_THROWS(FormatError, test::loaded(kind.params, file, kind.text));
  }
}

TEST("a model file that lacks an array, or has it in another size, is refused or does no harm") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader arrays = test::read_arrays(file);
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      const auto without = test::file_of([&](ArrayWriter& out) {
        for (const ArrayEntry& other : arrays.entries()) {
          if (other.name != entry.name) {
            out.put_bytes(other.name, other.value_bytes, std::span(file).subspan(other.offset, other.n_bytes));
          }
        }
      });
      CHECK(!is_used(kind, without));
      const std::vector<std::byte> bytes = bytes_of(file, entry);
      for (std::size_t n = 0; n < bytes.size(); n += entry.value_bytes) {
        CHECK(!is_used(kind, forged(arrays, file, entry, std::span(bytes).first(n))));
      }
      std::vector<std::byte> longer = bytes;
      longer.resize(bytes.size() + entry.value_bytes);
      is_used(kind, forged(arrays, file, entry, longer));
      longer.resize(bytes.size());
      longer.insert(longer.end(), entry.value_bytes, std::byte{0xFF});
      is_used(kind, forged(arrays, file, entry, longer));
    }
  }
}

TEST("a model file with any changed byte and a right checksum is refused or does no harm") {
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    CHECK(is_used(kind, file));
    const ArrayReader arrays = test::read_arrays(file);
    std::size_t n_refused = 0;
    std::size_t n_used = 0;
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      std::vector<std::byte> bytes = bytes_of(file, entry);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (std::size_t way = 0; way < std::size(kChanges); ++way) {
          if (bytes.size() > kLarge && way != i % std::size(kChanges)) {
            continue;
          }
          bytes[i] ^= kChanges[way];
          ++(is_used(kind, forged(arrays, file, entry, bytes)) ? n_used : n_refused);
          bytes[i] ^= kChanges[way];
        }
      }
    }
    CHECK(n_refused > n_used / 4);
    CHECK(n_used > 0);
  }
}

TEST("a model file with other values, the extreme and the plausible ones, is refused or does no harm") {
  Random random(5);
  for (const Kind& kind : kinds()) {
    const std::vector<std::byte> file = kind.file();
    const ArrayReader arrays = test::read_arrays(file);
    for (const ArrayEntry& entry : arrays.entries()) {
      if (is_like_another(entry)) {
        continue;
      }
      const std::size_t width = entry.value_bytes % 8 == 0 ? 8 : entry.value_bytes % 4 == 0 ? 4 : 1;
      const std::size_t n = entry.n_bytes / width;
      for (std::size_t repetition = 0; repetition < std::min<std::size_t>(4 * n, 300); ++repetition) {
        std::vector<std::byte> bytes = bytes_of(file, entry);
        for (std::uint32_t more = 1 + random.below(2); more > 0; --more) {
          std::byte* const at = bytes.data() + width * random.below(static_cast<std::uint32_t>(n));
          const std::byte* const other = bytes.data() + width * random.below(static_cast<std::uint32_t>(n));
          std::uint64_t value = 0;
          std::memcpy(&value, at, width);
          switch (random.below(6)) {
            case 0:
              value = 0;
              break;
            case 1:
              value = ~std::uint64_t{0};
              break;
            case 2:
              ++value;
              break;
            case 3:
              --value;
              break;
            case 4:
              value = 0x7F7FFFFF7F7FFFFF;  // the largest number, twice
              break;
            default:
              std::memcpy(&value, other, width);
          }
          std::memcpy(at, &value, width);
        }
        is_used(kind, forged(arrays, file, entry, bytes));
      }
    }
  }
}

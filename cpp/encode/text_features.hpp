// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "encode/named_rows.hpp"
#include "encode/term_table.hpp"
#include "encode/words.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The defaults are defined in src/oplt/params.py.
struct TextParams {
  std::uint32_t min_words;  // word n-grams of this many words are terms; 0 and 0: none are
  std::uint32_t max_words;
  std::uint32_t
      min_chars;  // character n-grams of this many characters, including the spaces around a word; 0 and 0: none are
  std::uint32_t max_chars;
  bool idf;
  bool sublinear;
  std::uint32_t hash_bits;     // see TermTable
  std::uint32_t max_features;  // see TermTable
  WordRule words;              // what a word is; of what characters are taken, see TextFeatures

  void validate() const;
};

/// One text's features, in an unspecified order, and working memory to find them.
struct TextRow {
  std::vector<FeatureId> ids;
  std::vector<Real> values;

  Words words;
  Words chunks;  // what characters are taken of
  std::vector<Term> keys;
  std::vector<FeatureId> known;
  std::vector<Term> unknown;
  std::vector<std::pair<std::string, Real>> further;
};

/// Concatenated rows by feature id: row i is [indptr[i], indptr[i + 1]).
struct TextMatrix {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> ids;
  std::vector<Real> values;

  void append(const TextMatrix& other);
};

/// Examples as texts.
using Texts = std::span<const std::string_view>;

/// Maps texts to features, and grows with them: each term has an id and the number of texts that contain it.
///
/// The value of a term is tf · idf. tf is f, the number of occurrences in the text, or 1 + ln f if sublinear. idf is
/// 1 + ln((1 + n) / (1 + d)) for a term that occurs in d of the n texts learnt so far, or 1 without idf. Rows are not
/// scaled: RowBuilder does that.
///
/// Characters are taken of what lies between blanks, symbols included, if words may have symbols; else of the words.
class TextFeatures {
 public:
  explicit TextFeatures(const TextParams& params);

  const TextParams& params() const { return params_; }
  const TermTable& terms() const { return terms_; }

  /// Counts the terms of a text, new ones included, and computes its row from the updated counts.
  void learn(std::string_view text, TextRow& row);

  /// The row of a text from the present counts. Unknown terms are left out.
  void find(std::string_view text, TextRow& row) const;

  /// Adds further features of example i to the row of its text, which is scaled to norm 1 first. They are stored as
  /// terms that no text contains, and their values are used unchanged. The first function counts them with the text
  /// that was learnt last.
  void learn_further(const NamedRows& rows, std::size_t i, TextRow& row);
  void find_further(const NamedRows& rows, std::size_t i, TextRow& row) const;

  /// What the names of further features begin with among the terms.
  static constexpr char kFurther = '\x1d';

  /// The rows of many texts, ids ascending, scaled to norm 1 as a model does in training.
  TextMatrix learn_many(Texts texts);
  TextMatrix find_many(Texts texts) const;

  /// See TermTable. The params are not part of it.
  void save(ArrayWriter& out, const std::string& prefix) const { terms_.save(out, prefix); }
  static TextFeatures load(const ArrayReader& in, const std::string& prefix, const TextParams& params);
  void check() const { terms_.check(); }

 private:
  void read(std::string_view text, TextRow& row) const;
  void look_up(TextRow& row) const;
  void put(FeatureId id, std::size_t frequency, double log_n, TextRow& row) const;
  double idf(FeatureId id, double log_n) const;

  TextParams params_;
  TermTable terms_;
};

}  // namespace oplt

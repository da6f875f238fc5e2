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
#include "encode/encoded.hpp"
#include "encode/id_sorter.hpp"
#include "encode/named_rows.hpp"
#include "encode/term_table.hpp"
#include "encode/words.hpp"
#include "io/array_file.hpp"

namespace oplt {

/// The defaults are defined in src/oplt/params.py.
struct TextParams {
  std::uint32_t min_words;  // range of the lengths of word n-grams; 0 and 0: no word n-grams
  std::uint32_t max_words;
  std::uint32_t min_chars;  // likewise for character n-grams, which include the spaces around a word
  std::uint32_t max_chars;
  bool idf;
  bool sublinear;
  std::uint32_t hash_bits;     // see TermTable
  std::uint32_t max_features;  // see TermTable
  WordRule words;              // what counts as a word; for character n-grams, see TextFeatures

  void validate() const;
};

/// The features of one text, in an unspecified order, and working memory.
struct TextRow {
  std::vector<FeatureId> ids;
  std::vector<Real> values;
  std::vector<std::uint32_t> frequencies;  // number of occurrences in the text; 0 for a further feature
  std::uint64_t digest = 0;                // of all terms and further features of a text that was learnt

  Words words;
  Words chunks;  // the source of character n-grams
  std::vector<Term> keys;
  std::vector<FeatureId> known;
  IdSorter sorter;
  std::vector<Term> unknown;
  std::vector<std::string> further_names;
  std::vector<std::pair<Term, Real>> further;  // keys and values of further features

  /// Clears the features.
  void clear() {
    ids.clear();
    values.clear();
    frequencies.clear();
    digest = 0;
  }
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

/// Texts that were learnt before, by the terms that they consist of.
struct RecordedTexts {
  const TermTable& terms;  // to which the examples' ids refer
  std::span<const EncodedExample> examples;
};

/// Where a known term occurs in a text.
struct TermSpan {
  FeatureId feature;
  std::size_t begin;  // in bytes
  std::size_t end;
  std::string term;  // as the text has it, case folded
  bool is_chars;
};

/// Maps texts to features, and grows with them: each term has an id and the number of texts that contain it.
///
/// The value of a term is tf · idf. tf is f, the number of occurrences in the text, or 1 + ln f if sublinear. idf is
/// 1 + ln((1 + n) / (1 + d)) for a term that occurs in d of the n texts learnt so far, or 1 without idf. Rows are not
/// scaled: RowBuilder does that.
///
/// Character n-grams are taken from the words, or, if words may have symbols, from everything between two blanks.
class TextFeatures {
 public:
  explicit TextFeatures(const TextParams& params);

  const TextParams& params() const { return params_; }
  const TermTable& terms() const { return terms_; }

  /// Counts the terms of a text, new ones included, and computes its row from the updated counts.
  void learn(std::string_view text, TextRow& row);

  /// The same for a text, with its further features, that another TextFeatures with these params has learnt. That one
  /// must still know all its terms (TermTable::is_complete()).
  void learn(const RecordedTexts& texts, std::size_t i, TextRow& row);

  /// Computes the row of a text from the current counts. Unknown terms are left out.
  void find(std::string_view text, TextRow& row) const;

  /// All occurrences of known terms in a text. With hash_bits, this is how a term can be found again.
  std::vector<TermSpan> occurrences(std::string_view text) const;

  /// The ids of the further features of example i, in their order; kNone for those unknown.
  std::vector<FeatureId> further_ids(const NamedRows& rows, std::size_t i) const;

  /// Adds the further features of example i to the row of its text, which is scaled to norm 1 first. They are stored as
  /// terms that no text can contain, and their values are used unchanged. learn_further() counts them as part of the
  /// text that was learnt last.
  void learn_further(const NamedRows& rows, std::size_t i, TextRow& row);
  void find_further(const NamedRows& rows, std::size_t i, TextRow& row) const;

  /// Prefix of the names of further features among the terms.
  static constexpr char kFurther = '\x1d';

  /// The rows of many texts, ids ascending, scaled to norm 1 as a model does in training.
  TextMatrix learn_many(Texts texts);
  TextMatrix find_many(Texts texts) const;

  /// See TermTable. Does not save the params.
  void save(ArrayWriter& out, const std::string& prefix) const { terms_.save(out, prefix); }
  static TextFeatures load(const ArrayReader& in, const std::string& prefix, const TextParams& params);
  void check() const { terms_.check(); }

 private:
  template <class Take>
  void for_each_term(std::string_view text, TextRow& row, Take take) const;
  void read(std::string_view text, TextRow& row) const;
  void look_up(TextRow& row) const;
  void list_further(const NamedRows& rows, std::size_t i, TextRow& row) const;
  void learn_listed(TextRow& row);
  void put_known(double log_n, TextRow& row) const;
  void put(FeatureId id, std::size_t frequency, double log_n, TextRow& row) const;
  Real value(FeatureId id, std::uint32_t frequency, double log_n) const;
  double idf(FeatureId id, double log_n) const;

  TextParams params_;
  TermTable terms_;
};

}  // namespace oplt

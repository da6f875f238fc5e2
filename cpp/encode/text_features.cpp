// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include "encode/text_features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/random.hpp"
#include "encode/row_builder.hpp"
#include "encode/word_sources.hpp"

namespace oplt {

namespace {

constexpr std::uint64_t kSmallCounts = 4096;

constexpr std::array<double, kSmallCounts> kLogs = [] {
  std::array<double, kSmallCounts> logs{};
  for (std::size_t n = 1; n < kSmallCounts; ++n) {
    logs[n] = log_double(static_cast<double>(n));
  }
  return logs;
}();

double log_of_large(std::uint64_t count) {
  // count = 2^k head (1 + r) with head in [kSmallCounts / 2, kSmallCounts), so r < 2 / kSmallCounts and four terms of
  // the series suffice.
  const auto k = static_cast<int>(std::bit_width(count) - std::bit_width(kSmallCounts - 1));
  const std::uint64_t head = count >> k;
  const double r = static_cast<double>(count - (head << k)) / static_cast<double>(head << k);
  const double series = r * (1.0 - r * (1.0 / 2 - r * (1.0 / 3 - r * (1.0 / 4))));
  return k * 0.6931471805599453 + kLogs[head] + series;
}

/// ln of a count. It is needed for every feature of every text, so small counts are looked up in a table, and larger
/// ones are computed from it.
double log_of(std::uint64_t count) { return count < kSmallCounts ? kLogs[count] : log_of_large(count); }

/// With hash_bits, all texts are empty, and the hashes determine the order.
bool comes_before(const Term& a, const Term& b) {
  return std::tie(a.text, a.is_chars, a.hash) < std::tie(b.text, b.is_chars, b.hash);
}

/// Calls take(item, number of occurrences) for each distinct item of a sorted list.
template <class Item, class Take>
void for_each_distinct(const std::vector<Item>& sorted, Take take) {
  for (std::size_t i = 0, end = 0; i < sorted.size(); i = end) {
    end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[i]) {
      ++end;
    }
    take(sorted[i], end - i);
  }
}

constexpr std::uint32_t kMostFrequent = kNone - 1;  // frequencies saturate here

/// Lists the distinct ids of row.known, which is sorted, and their frequencies.
void count_known(TextRow& row) {
  row.ids.resize(row.known.size());
  row.frequencies.resize(row.known.size());
  std::size_t n = 0;
  FeatureId last = kNone;
  std::uint32_t frequency = 0;
  for (const FeatureId id : row.known) {  // without branches: which ids recur cannot be predicted
    const bool is_new = id != last;
    frequency = is_new ? 1 : frequency + (frequency < kMostFrequent ? 1 : 0);
    n += is_new ? 1 : 0;
    row.ids[n - 1] = last = id;
    row.frequencies[n - 1] = frequency;
  }
  row.ids.resize(n);
  row.frequencies.resize(n);
}

/// Calls take(term) for each word n-gram.
template <class Take>
void for_each_of_words(const Words& words, const TextParams& params, Take take) {
  for (std::size_t n = params.min_words; n <= params.max_words && n <= words.size() && n > 0; ++n) {
    for (std::size_t i = 0; i + n <= words.size(); ++i) {
      take(make_term_of_words(words.sequence(i, n), false));
    }
  }
}

bool begins_char(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// Calls take(term) for each character n-gram of a word, including the spaces around it.
template <class Take>
void for_each_of_chars(std::string_view padded, const TextParams& params, Take take) {
  const auto next = [&](std::size_t i) {
    do {
      ++i;
    } while (i < padded.size() && !begins_char(padded[i]));
    return i;
  };
  for (std::size_t begin = 0; begin < padded.size(); begin = next(begin)) {
    std::size_t end = begin;
    for (std::size_t n = 1; n <= params.max_chars && end < padded.size(); ++n) {
      end = next(end);
      if (n >= params.min_chars) {
        take(make_term_of_words(padded.substr(begin, end - begin), true));
      }
    }
  }
}

void scale_to_one(std::vector<Real>& values) {
  double squares = 0.0;
  for (const Real value : values) {
    squares += static_cast<double>(value) * value;
  }
  const double norm = squares > 0.0 ? std::sqrt(squares) : 1.0;
  for (Real& value : values) {
    value = static_cast<Real>(value / norm);
  }
}

/// A digest of a set is the sum of those of its members, so that their order does not matter.
std::uint64_t digest_of(const Term& key, std::uint32_t bits = 0) {
  return Random(Random(key.hash ^ (key.is_chars ? 1 : 0)).next() ^ bits).next();
}

/// Calls read(text, row) for each text and concatenates the scaled rows.
template <class Read>
TextMatrix scaled_rows(Texts texts, Read read) {
  constexpr RowParams kScaled{.bias = 0, .normalize = true};
  RowBuilder row_builder;
  TextRow features;
  TextMatrix result;
  result.indptr.reserve(texts.size() + 1);
  for (const std::string_view text : texts) {
    read(text, features);
    row_builder.clear();
    const RowView row = row_builder.build(features.ids, features.values, kScaled);
    result.ids.insert(result.ids.end(), row.features.begin(), row.features.end());
    result.values.insert(result.values.end(), row.values.begin(), row.values.end());
    result.indptr.push_back(static_cast<std::int64_t>(result.ids.size()));
  }
  return result;
}

void expect(bool holds, const char* name) {
  if (!holds) {
    throw InvalidParameter(std::string(name) + " is out of range");
  }
}

}  // namespace

void TextParams::validate() const {
  expect(max_words > 0 || max_chars > 0, "ngrams");
  expect(min_words <= max_words && (min_words > 0) == (max_words > 0), "ngrams");
  expect(min_chars <= max_chars && (min_chars > 0) == (max_chars > 0), "chars");
  expect(hash_bits <= 31, "hash_bits");
}

void TextMatrix::append(const TextMatrix& other) {
  const std::int64_t before = indptr.back();
  std::transform(other.indptr.begin() + 1, other.indptr.end(), std::back_inserter(indptr),
                 [&](std::int64_t end) { return before + end; });
  ids.insert(ids.end(), other.ids.begin(), other.ids.end());
  values.insert(values.end(), other.values.begin(), other.values.end());
}

TextFeatures::TextFeatures(const TextParams& params) : params_(params), terms_(params.hash_bits, params.max_features) {}

TextFeatures TextFeatures::load(const ArrayReader& in, const std::string& prefix, const TextParams& params) {
  TextFeatures features(params);
  features.terms_ = TermTable::load(in, prefix, params.hash_bits, params.max_features);
  return features;
}

/// Calls take(term) for each occurrence of a term in a text, known or not. The terms are views of row.words, or of
/// row.chunks for character n-grams of chunks.
template <class Take>
void TextFeatures::for_each_term(std::string_view text, TextRow& row, Take take) const {
  row.words.split(text, params_.words);
  const bool of_chunks = params_.max_chars > 0 && params_.words == WordRule::kSymbols;
  if (of_chunks) {
    row.chunks.split(text, WordRule::kBlanks);
  }
  const Words& spelt = of_chunks ? row.chunks : row.words;
  for_each_of_words(row.words, params_, take);
  for (std::size_t i = 0; params_.max_chars > 0 && i < spelt.size(); ++i) {
    for_each_of_chars(spelt.padded(i), params_, take);
  }
}

/// Finds the terms of a text. Sorts the known ones by id.
///
/// The table is larger than the CPU caches, and a lookup of one term after the other would mostly wait for memory. So
/// each step is done for all terms, prefetching what the next step reads.
void TextFeatures::read(std::string_view text, TextRow& row) const {
  row.keys.clear();
  for_each_term(text, row, [&](const Term& term) {
    row.keys.push_back(terms_.key(term));
    terms_.prefetch_slot(row.keys.back());
  });
  for (const Term& key : row.keys) {
    terms_.prefetch_entry(key);
  }
  for (const Term& key : row.keys) {
    terms_.prefetch_text(key);
  }
  look_up(row);
}

void TextFeatures::look_up(TextRow& row) const {
  row.clear();
  row.known.clear();
  row.unknown.clear();
  for (const Term& key : row.keys) {
    const FeatureId id = terms_.find(key);
    if (id == kNone) {
      row.unknown.push_back(key);
    } else {
      row.known.push_back(id);
    }
  }
  row.sorter.sort(row.known, terms_.size());
  count_known(row);
}

/// `log_n` is ln(1 + n), with the number n of texts so far.
double TextFeatures::idf(FeatureId id, double log_n) const {
  return params_.idf ? 1.0 + log_n - log_of(1 + std::uint64_t{terms_.n_texts_with(id)}) : 1.0;
}

/// The value of a term with this number of occurrences.
Real TextFeatures::value(FeatureId id, std::uint32_t frequency, double log_n) const {
  const double tf = params_.sublinear ? 1.0 + log_of(frequency) : frequency;
  return static_cast<Real>(tf * idf(id, log_n));
}

/// Computes the values of the terms that were known before.
void TextFeatures::put_known(double log_n, TextRow& row) const {
  row.values.resize(row.ids.size());
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    row.values[i] = value(row.ids[i], row.frequencies[i], log_n);
  }
}

void TextFeatures::put(FeatureId id, std::size_t frequency, double log_n, TextRow& row) const {
  row.ids.push_back(id);
  row.frequencies.push_back(static_cast<std::uint32_t>(std::min<std::size_t>(frequency, kMostFrequent)));
  row.values.push_back(value(id, row.frequencies.back(), log_n));
}

void TextFeatures::learn(std::string_view text, TextRow& row) {
  read(text, row);
  for (const Term& key : row.keys) {
    row.digest += digest_of(key);
  }
  terms_.next_text();
  const double log_n = log_of(1 + terms_.n_texts());
  for (const FeatureId id : row.ids) {
    terms_.count(id);
  }
  put_known(log_n, row);
  // In sorted order, so that ids do not depend on the order of the words. Known terms were counted first, so that new
  // ones do not replace them.
  std::sort(row.unknown.begin(), row.unknown.end(), comes_before);
  for_each_distinct(row.unknown, [&](const Term& key, std::size_t frequency) {
    if (const FeatureId id = terms_.add(key); id != kNone) {
      put(id, frequency, log_n, row);
    }
  });
}

void TextFeatures::learn(const RecordedTexts& texts, std::size_t i, TextRow& row) {
  const EncodedExample& example = texts.examples[i];
  row.clear();
  row.further.clear();
  terms_.next_text();
  const double log_n = log_of(1 + terms_.n_texts());
  std::vector<std::pair<FeatureId, std::uint32_t>> known;
  std::vector<std::pair<Term, std::uint32_t>> unknown;
  for (std::size_t j = 0; j < example.ids.size(); ++j) {
    const Term key = texts.terms.term(example.ids[j]);
    const std::uint32_t frequency = example.frequencies[j];
    row.digest += frequency * digest_of(key);
    if (frequency == 0) {
      row.further.emplace_back(key, example.values[j]);
    } else if (const FeatureId id = terms_.find(key); id != kNone) {
      known.emplace_back(id, frequency);
    } else {
      unknown.emplace_back(key, frequency);
    }
  }
  std::sort(known.begin(), known.end());  // in the order of learn(), on which the norm depends
  for (const auto& [id, frequency] : known) {
    terms_.count(id);
    put(id, frequency, log_n, row);
  }
  std::sort(unknown.begin(), unknown.end(),
            [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
  for (const auto& [key, frequency] : unknown) {
    if (const FeatureId id = terms_.add(key); id != kNone) {
      put(id, frequency, log_n, row);
    }
  }
  if (!row.further.empty()) {
    learn_listed(row);
  }
}

void TextFeatures::find(std::string_view text, TextRow& row) const {
  read(text, row);
  put_known(log_of(1 + terms_.n_texts()), row);
}

/// The names of further features as keys, and their values. Integers and strings are distinguished.
void TextFeatures::list_further(const NamedRows& rows, std::size_t i, TextRow& row) const {
  row.further_names.clear();
  row.further.clear();
  for (std::size_t k = rows.bounds.begin(i); k < rows.bounds.end(i); ++k) {
    const Name name = rows.names[k];
    std::string& text = row.further_names.emplace_back(1, kFurther);
    text += name.is_text() ? std::string(name.text) : kFurther + std::to_string(name.number);
  }
  for (std::size_t j = 0; j < row.further_names.size(); ++j) {  // after all names, which may move while there are more
    row.further.emplace_back(terms_.key(make_term(row.further_names[j], false)), rows.values[rows.bounds.begin(i) + j]);
  }
}

void TextFeatures::learn_further(const NamedRows& rows, std::size_t i, TextRow& row) {
  list_further(rows, i, row);
  learn_listed(row);
}

/// As for a text: in sorted order, and known ones first, so that new ones do not replace them. Hashed terms may share
/// an id, which is counted once.
void TextFeatures::learn_listed(TextRow& row) {
  scale_to_one(row.values);
  std::sort(row.further.begin(), row.further.end(), [](const auto& a, const auto& b) {
    return comes_before(a.first, b.first) || (!comes_before(b.first, a.first) && a.second < b.second);
  });
  for (const auto& [key, value] : row.further) {
    row.digest += digest_of(key, std::bit_cast<std::uint32_t>(value));
    const FeatureId id = terms_.find(key);
    if (id != kNone && !terms_.is_of_this_text(id)) {
      terms_.count(id);
    }
  }
  for (const auto& [key, value] : row.further) {
    const FeatureId known = terms_.find(key);
    if (const FeatureId id = known == kNone ? terms_.add(key) : known; id != kNone) {
      row.ids.push_back(id);
      row.values.push_back(value);
      row.frequencies.push_back(0);
    }
  }
}

void TextFeatures::find_further(const NamedRows& rows, std::size_t i, TextRow& row) const {
  scale_to_one(row.values);
  list_further(rows, i, row);
  for (const auto& [key, value] : row.further) {
    if (const FeatureId id = terms_.find(key); id != kNone) {
      row.ids.push_back(id);
      row.values.push_back(value);
      row.frequencies.push_back(0);
    }
  }
}

std::vector<TermSpan> TextFeatures::occurrences(std::string_view text) const {
  TextRow row;
  std::vector<std::pair<Term, FeatureId>> known;
  for_each_term(text, row, [&](const Term& term) {
    if (const FeatureId id = terms_.find(terms_.key(term)); id != kNone) {
      known.emplace_back(term, id);
    }
  });
  const WordSources of_words(text, row.words);
  const bool of_chunks = row.chunks.size() > 0;
  const WordSources of_spelt(text, of_chunks ? row.chunks : row.words);
  std::vector<TermSpan> found;
  for (const auto& [term, id] : known) {
    const auto [begin, end] = (term.is_chars ? of_spelt : of_words).of(term.text);
    found.push_back({id, begin, end, std::string(term.text), term.is_chars});
  }
  return found;
}

std::vector<FeatureId> TextFeatures::further_ids(const NamedRows& rows, std::size_t i) const {
  TextRow row;
  list_further(rows, i, row);
  std::vector<FeatureId> ids;
  for (const auto& [key, value] : row.further) {
    ids.push_back(terms_.find(key));
  }
  return ids;
}

TextMatrix TextFeatures::learn_many(Texts texts) {
  return scaled_rows(texts, [&](std::string_view text, TextRow& row) { learn(text, row); });
}

TextMatrix TextFeatures::find_many(Texts texts) const {
  return scaled_rows(texts, [&](std::string_view text, TextRow& row) { find(text, row); });
}

}  // namespace oplt

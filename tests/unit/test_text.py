# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts as features."""

from __future__ import annotations

import copy
import pickle
import sys
import unicodedata
from typing import Any

import numpy as np
import pytest

from oplt import InvalidInputError, InvalidParameterError, ModelFormatError
from oplt.text import TextFeatures
from tests.reference import text_reference as reference
from tests.unit.texts import SETTINGS, TEXTS, as_dicts, texts_and_labels


def names_of(text: str, **settings: Any) -> set[Any]:
    return set(TextFeatures(**settings).learn([text]).names)


# --- Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Heap-Overflow in v1.4.2_40!", {"heap", "overflow", "in", "v1", "4", "2_40"}),
        ("ÄRGER Ärger ärger", {"ärger"}),
        ("ΟΔΥΣΣΕΥΣ οδυσσευς", {"οδυσσευσ"}),  # a final sigma is a sigma
        ("STRASSE Straße", {"strasse", "straße"}),  # one letter stays one
        ("ПРИВЕТ, мир", {"привет", "мир"}),
        ("東京タワー", {"東", "京", "タワー"}),
        ("한국어 텍스트", {"한국어", "텍스트"}),
        ("हिन्दी में", {"हिन्दी", "में"}),
        ("ภาษา", {"ภ", "า", "ษ"}),
        ("cafe\u0301 café", {"cafe\u0301", "café"}),
        ("co\u00adoperate می\u200cخواهم", {"cooperate", "میخواهم"}),
        ("❤\ufe0f 👩\u200d💻 ok", {"❤", "👩", "💻", "ok"}),
        ("a\ud800b \udfff", {"a", "b"}),  # lone surrogates are not characters
        ("nul\0byte", {"nul", "byte"}),
        ("𝒳 𐐀", {"𝒳", "𐐨"}),
        ("", set()),
        (" .,;\n", set()),
    ],
)
def test_words_of_all_scripts_are_found(text: str, words: set[str]) -> None:
    assert names_of(text) == words


@pytest.mark.parametrize("symbols", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_old_character_is_what_python_says_it_is(*, symbols: bool) -> None:
    """Only characters of Unicode 3.2, because newer versions of Python know more than the library."""
    old = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs")]
    texts = [f"a{c}b {c}{c} {c}\u0301 {c.upper()}" for c in old]
    features = TextFeatures(idf=False, sublinear=False, symbols=symbols)
    found = as_dicts(features, features.learn_transform(texts))
    for text, row in zip(texts, found, strict=True):
        assert set(row) == set(reference.words(text, symbols=symbols)), ascii(text)


@pytest.mark.parametrize("settings", [*SETTINGS, *({**settings, "symbols": False} for settings in SETTINGS)], ids=str)
def test_rows_and_counts_are_those_of_the_plain_version(settings: dict[str, Any]) -> None:
    features, plain = TextFeatures(**settings), reference.TextFeatures(**settings)
    texts = TEXTS + texts_and_labels(60)[0]
    for text in texts:
        (row,) = as_dicts(features, features.learn_transform([text]))
        assert row == pytest.approx(plain.learn(text), rel=1e-6)
    assert features.names == plain.names
    assert features.counts.tolist() == [s - i for s, i in zip(plain.scores, plain.inherited, strict=True)]
    for text, row in zip(texts, as_dicts(features, features.transform(texts)), strict=True):
        assert row == pytest.approx(plain.transform(text), rel=1e-6)


def test_a_word_and_characters_of_a_word_are_told_apart() -> None:
    assert {"the", "~the"} <= names_of("the mother", chars=(3, 3))


def test_words_of_one_text_may_come_in_any_order() -> None:
    one, other = TextFeatures().learn(["c b a b"]), TextFeatures().learn(["a, b, b. C"])
    assert one.names == other.names == ["a", "b", "c"]
    assert (one.transform(TEXTS) != other.transform(TEXTS)).nnz == 0


# --- Rows -------------------------------------------------------------------------------------------------------------


def test_rows_are_canonical_and_of_norm_1() -> None:
    features = TextFeatures(ngrams=(1, 2)).learn(TEXTS)
    rows = features.transform([*TEXTS, "unknown words"])
    assert rows.shape == (7, features.n_features)
    assert rows.has_canonical_format
    norms = np.sqrt(rows.multiply(rows).sum(axis=1))
    assert norms == pytest.approx([1, 1, 1, 0, 1, 1, 0], abs=1e-6)
    assert rows.dtype == np.float32


def test_transforming_changes_nothing_and_ignores_unknown_terms() -> None:
    features = TextFeatures().learn(TEXTS)
    before = pickle.dumps(features)
    assert (features.transform(["heap of unknown things"]) != features.transform(["heap"])).nnz == 0
    assert pickle.dumps(features) == before


def test_learn_in_any_parts_is_the_same() -> None:
    texts, _ = texts_and_labels(200)
    for settings in SETTINGS:
        at_once, in_parts = TextFeatures(**settings).learn(texts), TextFeatures(**settings)
        for begin in range(0, 200, 37):
            in_parts = pickle.loads(pickle.dumps(in_parts)).learn(iter(texts[begin : begin + 37]))
        assert pickle.dumps(in_parts) == pickle.dumps(at_once)


def test_hashing_bounds_the_features_and_adds_up_what_collides() -> None:
    texts, _ = texts_and_labels(300)
    features = TextFeatures(hash_bits=4, idf=False, sublinear=False).learn(texts)
    assert features.n_features == 16
    assert sorted(features.names) == list(range(16))
    wide = TextFeatures(hash_bits=31, idf=False, sublinear=False).learn(texts)
    plain = TextFeatures(idf=False, sublinear=False).learn(texts)
    assert wide.n_features == plain.n_features  # so few terms do not collide
    assert np.sort(wide.transform(texts).data) == pytest.approx(np.sort(plain.transform(texts).data))


def test_the_names_of_hashed_features_never_change() -> None:
    assert TextFeatures(hash_bits=20).learn(["heap overflow"]).names == [434181, 575148]


def test_a_bounded_vocabulary_keeps_what_is_frequent_and_follows_the_stream() -> None:
    features = TextFeatures(max_features=30)
    for day in range(2):
        features.learn(f"day{day} often{day} w{i} v{i}" for i in range(500))
        assert features.n_features == 30
        assert {f"day{day}", f"often{day}"} <= set(features.names)
    features.learn(f"new{i % 5} x{i} y{i} z{i}" for i in range(6000))
    assert {f"new{i}" for i in range(5)} <= set(features.names)
    assert "day0" not in features.names
    assert features.n_texts == 7000


def test_copies_are_apart() -> None:
    features = TextFeatures(chars=(2, 2)).learn(TEXTS)
    other = copy.deepcopy(features).learn(["new"])
    assert (features.n_texts, other.n_texts) == (6, 7)
    assert other.settings == features.settings
    assert repr(features) == f"<TextFeatures(chars=(2, 2)): {features.n_features} features, 6 texts>"
    assert other.memory_bytes > 0


def test_a_damaged_pickle_is_refused() -> None:
    _, (cls, settings, data) = TextFeatures().learn(TEXTS).__reduce__()
    make = TextFeatures().__reduce__()[0]
    assert make(cls, settings, data).n_texts == 6
    for damaged in (data[:-1], data + b"0"):
        with pytest.raises(ModelFormatError):
            make(cls, settings, damaged)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ngrams": None}, "ngrams and chars cannot both be None: no text would have any features"),
        ({"ngrams": 2}, r"ngrams must be a pair \(minimum, maximum\), such as \(1, 2\), or None, got 2"),
        ({"ngrams": (2, 1)}, r"ngrams must be a pair \(minimum, maximum\) with minimum <= maximum, got \(2, 1\)"),
        ({"ngrams": (0, 1)}, "ngrams must be at least 1, got 0"),
        ({"chars": "35"}, r"chars must be a pair \(minimum, maximum\)"),
        ({"chars": (1, 256)}, "chars must be at most 255, got 256"),
        ({"idf": 1}, "idf must be True or False"),
        ({"sublinear": None}, "sublinear must be True or False"),
        ({"hash_bits": 0}, "hash_bits must be at least 1, got 0"),
        ({"hash_bits": 32}, "hash_bits must be at most 31, got 32"),
        ({"max_features": 0}, "max_features must be at least 1, got 0"),
    ],
)
def test_a_bad_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TextFeatures(**settings)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("text", "X must hold many texts, got one str"),
        ({"a": 1}, "X must hold many texts, got one dict"),
        (5, "X must be a list of texts, got int"),
        (["a", None], r"row 1 of X must be a text \(str\), got None"),
        ([b"a"], r"row 0 of X must be a text \(str\), got b'a'"),
        (np.eye(2), r"row 0 of X must be a text"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts: Any, message: str) -> None:
    features = TextFeatures()
    for method in (features.learn, features.transform, features.learn_transform):
        with pytest.raises(InvalidInputError, match=message):
            method(texts)
    assert features.n_texts == 0

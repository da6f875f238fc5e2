# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Texts as features, and models that take texts."""

from __future__ import annotations

import copy
import pickle
import random
import sys
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import (
    Ensemble,
    FrozenModelError,
    InvalidInputError,
    InvalidParameterError,
    ModelFormatError,
    OnlinePLT,
    trees,
)
from oplt.evaluate import progressive
from oplt.text import TextFeatures
from tests.reference import text_reference as reference

TEXTS = [
    "Heap overflow in the Linux kernel",
    "Cross-site scripting (XSS) in WordPress 4.7.2",
    "The Linux kernel before 5.1 allows a heap overflow, heap corruption",
    "",
    "SQL injection in WordPress plug-in",
    "Überlauf im Kernel: 日本語 и русский ТЕКСТ",
]
LABELS = [["linux:kernel"], ["wordpress:wordpress", "xss"], ["linux:kernel"], [], ["wordpress:wordpress"], ["other", 7]]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"ngrams": (1, 2)},
    {"ngrams": None, "chars": (3, 4)},
    {"chars": (2, 3), "idf": False},
    {"sublinear": False, "max_features": 15},
    {"ngrams": (1, 3), "max_features": 20},
]


def texts_and_labels(n: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Make texts whose words tell their labels, and in which new words and labels keep coming."""
    source = random.Random(seed)  # noqa: S311 (no secrets here)
    texts, labels = [], []
    for i in range(n):
        topic = source.randrange(3 + i // 20)
        words = [f"Topic{topic}-{source.randrange(6)}" for _ in range(5)] + [f"noise{source.randrange(10 + i)}"]
        texts.append(" ".join(words))
        labels.append([f"label {topic}"] if source.random() < 0.95 else [])
    return texts, labels


def as_dicts(features: TextFeatures, matrix: Any) -> list[dict[Any, float]]:
    names = features.names
    rows = np.split(np.arange(matrix.nnz), matrix.indptr[1:-1])
    return [{names[matrix.indices[i]]: float(matrix.data[i]) for i in row} for row in rows]


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
        ("❤\ufe0f 👩\u200d💻 ok", {"ok"}),
        ("a\ud800b \udfff", {"a", "b"}),  # lone surrogates are no characters
        ("nul\0byte", {"nul", "byte"}),
        ("𝒳 𐐀", {"𝒳", "𐐨"}),
        ("", set()),
        (" .,;\n", set()),
    ],
)
def test_words_of_all_scripts_are_found(text: str, words: set[str]) -> None:
    assert names_of(text) == words


def test_every_old_character_is_what_python_says_it_is() -> None:
    """Of the characters of Unicode 3.2, since newer versions of Python know more than the library does."""
    old = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs")]
    texts = [f"a{c}b {c}{c} {c}\u0301 {c.upper()}" for c in old]
    features = TextFeatures(idf=False, sublinear=False)
    found = as_dicts(features, features.learn_transform(texts))
    for text, row in zip(texts, found, strict=True):
        assert set(row) == set(reference.words(text)), ascii(text)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
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
    assert wide.n_features == plain.n_features  # no two of so few collide
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
        ({"ngrams": None}, "there must be ngrams or chars"),
        ({"ngrams": 2}, r"ngrams must be \(least, most\), such as \(1, 2\), or None, got 2"),
        ({"ngrams": (2, 1)}, r"ngrams must be \(least, most\), but 2 is more than 1"),
        ({"ngrams": (0, 1)}, "ngrams must be at least 1, got 0"),
        ({"chars": "35"}, r"chars must be \(least, most\)"),
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


# --- Models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [*SETTINGS[:3], {"sublinear": False, "max_features": 10_000}], ids=str)
def test_a_model_of_texts_is_the_model_of_their_features(settings: dict[str, Any]) -> None:
    """To the bit, as long as features keep their names, and names sort as terms do: not with words and characters."""
    texts, labels = texts_and_labels(300)
    model = OnlinePLT(features=TextFeatures(**settings), label_memory=64)
    other = OnlinePLT(normalize=False, label_memory=64)
    features = TextFeatures(**settings)
    for text, own in zip(texts, labels, strict=True):
        (asked,) = as_dicts(features, features.transform([text]))
        assert model.predict_one(text, k=3) == other.predict_one(asked, k=3)
        (row,) = as_dicts(features, features.learn_transform([text]))
        model.learn_one(text, own)
        other.learn_one(row, own)
    assert (model.n_features, model.n_cells) == (other.n_features, other.n_cells)
    assert pickle.dumps(model.features) == pickle.dumps(features)


@pytest.mark.parametrize("settings", [*SETTINGS, {"hash_bits": 6}], ids=str)
def test_any_batches_and_threads_equal_one_by_one(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oplt.model._CHUNK", 64)
    texts, labels = texts_and_labels(300)
    expected = OnlinePLT(features=TextFeatures(**settings), label_memory=32)
    for text, own in zip(texts, labels, strict=True):
        expected.learn_one(text, own)
    for threads, cut in [(1, 300), (2, 100), (5, 1)]:
        model = OnlinePLT(features=TextFeatures(**settings), label_memory=32, threads=threads)
        model.learn_many(texts[:cut], labels[:cut])
        model.learn_many(texts[cut:], labels[cut:])
        assert model.fingerprint() == expected.fingerprint()
        assert list(model.predict_many(texts, k=3)) == [expected.predict_one(text, k=3) for text in texts]


@pytest.mark.parametrize("settings", [*SETTINGS, {"hash_bits": 6}], ids=str)
def test_a_saved_model_goes_on_with_its_text_features(settings: dict[str, Any], tmp_path: Path) -> None:
    texts, labels = texts_and_labels(200)
    model = OnlinePLT(features=TextFeatures(**settings), label_memory=32)
    model.learn_many(texts[:100], labels[:100])
    model.save(tmp_path / "m.oplt")
    copies = [OnlinePLT.load(tmp_path / "m.oplt"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.learn_many(texts[100:], labels[100:])
    for other in copies:
        assert other.settings == model.settings
        other.learn_many(texts[100:], labels[100:])
        assert other.fingerprint() == model.fingerprint()


def test_the_text_state_is_part_of_the_fingerprint() -> None:
    one, other = OnlinePLT(features="text"), OnlinePLT(features=TextFeatures().learn(["something"]))
    assert one.fingerprint() != other.fingerprint()
    assert one.settings == other.settings
    assert one.fingerprint() == OnlinePLT(**one.settings).fingerprint()


def test_features_that_have_learnt_are_copied() -> None:
    features = TextFeatures().learn(["some words"])
    model = OnlinePLT(features=features)
    model.learn_one("other words", "x")
    assert features.n_texts == 1
    found = model.features
    assert found is not None
    assert (found.n_texts, found.names) == (2, ["some", "words", "other"])
    found.learn(["more"])
    assert model.n_features == 3
    assert OnlinePLT().features is None


def test_a_model_learns_texts() -> None:
    texts, labels = texts_and_labels(1500)
    *_, report = progressive(OnlinePLT(features="text"), zip(texts, labels, strict=True))
    assert report.total["P@1"] > 0.5  # 0.66, of which every twentieth text has no label; chance is below 0.1
    model = OnlinePLT(features="text")
    assert model.predict_one("anything") == []
    assert "features={'ngrams': (1, 1)" in repr(model)


def test_replaced_terms_hand_on_their_weights() -> None:
    """What the documentation says of max_features, on the smallest model there is."""
    model = OnlinePLT(features=TextFeatures(max_features=1), gate=0)
    for _ in range(5):
        model.learn_many(["yes", ""], ["x", "y"])
    known = model.predict_one("yes", k=2)
    assert model.predict_one("other", k=2) == model.predict_one("", k=2) != known
    model.learn_one("other", [])
    assert model.n_features == 1
    assert model.predict_one("yes", k=2) == model.predict_one("", k=2)
    assert model.predict_one("other", k=1)[0][0] == "x"


BAD_CALLS: dict[str, tuple[Callable[[OnlinePLT], Any], str]] = {
    "features to learn": (lambda m: m.learn_one({"a": 1.0}, "x"), r"x must be a text .*is made without features="),
    "features to predict": (lambda m: m.predict_one({"a": 1.0}), r"x must be a text \(str\), got {'a': 1.0}"),
    "rows to learn": (lambda m: m.learn_many([{"a": 1.0}], ["x"]), r"row 0 of X must be a text"),
    "a matrix": (lambda m: m.predict_many(np.eye(2)), r"row 0 of X must be a text"),
    "one text for many": (lambda m: m.learn_many("text", ["x"]), r"use learn_one or predict_one"),
    "None": (lambda m: m.learn_many(["new words", None], ["x", "y"]), r"row 1 of X must be a text \(str\), got None"),
    "a bad label": (lambda m: m.learn_one("new words", [None]), r"label 0 of row 0 is None"),
    "a bad label of many": (lambda m: m.learn_many(["new", "words"], ["x", 1.5]), r"label 0 of row 1 is 1.5"),
    "too few labels": (lambda m: m.learn_many(["new", "words"], ["x"]), r"X has 2 rows but Y has 1"),
    "a bad weight": (lambda m: m.learn_one("new words", "x", weight=-1), r"weight of row 0 is -1"),
    "bytes": (lambda m: m.learn_one(b"new words", "x"), r"got b'new words'"),
}


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_a_bad_call_is_refused_and_changes_nothing(call: Callable[[OnlinePLT], Any], message: str) -> None:
    model = OnlinePLT(features="text")
    model.learn_many(TEXTS, LABELS)
    before = model.fingerprint()
    with pytest.raises(InvalidInputError, match=message):
        call(model)
    assert model.fingerprint() == before


def test_a_text_for_a_model_of_features_is_refused_saying_how_to_make_one() -> None:
    hint = r'a model that takes texts is made with features="text"'
    for call in (
        lambda m: m.learn_one("text", "x"),
        lambda m: m.predict_one("text"),
        lambda m: m.learn_many(["text"], ["x"]),
        lambda m: m.predict_many(["text"]),
    ):
        with pytest.raises(InvalidInputError, match=hint):
            call(OnlinePLT())
    with pytest.raises(InvalidInputError, match=hint):
        trees.kmeans(["text"], ["x"])


@pytest.mark.parametrize(
    ("features", "got"), [("texts", "'texts'"), (5, "5"), (TextFeatures, "the class TextFeatures: make one")]
)
def test_what_are_no_text_features_is_refused(features: Any, got: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf'features must be "text", .* or None, got {got}'):
        OnlinePLT(features=features)


def test_lone_surrogates_are_taken_by_models_too() -> None:
    model, expected = OnlinePLT(features="text"), OnlinePLT(features="text")
    model.learn_one("a\ud800b", "x")
    model.learn_many(["c\udfff"], ["y"])
    expected.learn_many(["a b", "c"], ["x", "y"])
    assert model.fingerprint() == expected.fingerprint()
    assert model.predict_one("\ud800a") == expected.predict_one("a")


def test_training_at_once_counts_all_texts_first() -> None:
    texts, labels = texts_and_labels(200)
    model = OnlinePLT.fit_batch(iter(texts), labels, features=TextFeatures(ngrams=(1, 2)))
    features = TextFeatures(ngrams=(1, 2)).learn(texts)
    assert pickle.dumps(model.features) == pickle.dumps(features)
    other = OnlinePLT.fit_batch(features.transform(texts), labels)
    assert model.tree == other.tree
    found, expected = model.predict_many(texts, k=1), other.predict_many(features.transform(texts), k=1)
    assert found.scores == pytest.approx(expected.scores, abs=1e-4)  # rows of theirs are scaled twice: rounding
    with pytest.raises(FrozenModelError):
        model.learn_one("more", "x")
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


def test_a_warm_start_and_a_known_tree_take_texts() -> None:
    texts, labels = texts_and_labels(200)
    given = TextFeatures(chars=(3, 3))
    model = OnlinePLT.warm_start(texts, labels, features=given, arity=2, max_leaves=4)
    assert given.n_texts == 0
    rows = TextFeatures(chars=(3, 3)).learn(texts).transform(texts)
    tree = trees.kmeans(rows, labels, arity=2, max_leaves=4)
    other = OnlinePLT.from_tree(tree, features=TextFeatures(chars=(3, 3)), arity=2, max_leaves=4)
    other.learn_many(texts, labels)
    assert model.fingerprint() == other.fingerprint()


def test_an_ensemble_takes_texts_if_all_its_models_do(tmp_path: Path) -> None:
    texts, labels = texts_and_labels(200)
    models = [OnlinePLT(features=features, policy="random") for features in ("text", TextFeatures(ngrams=(1, 2)))]
    for model in models:
        model.learn_many(texts, labels)
    ensemble = Ensemble(models)
    found = ensemble.predict_many(texts[:5], k=1)
    assert [ensemble.predict_one(text, k=1) for text in texts[:5]] == list(found)
    ensemble.save(tmp_path / "e.oplt")
    assert list(Ensemble.load(tmp_path / "e.oplt").predict_many(texts[:5], k=1)) == list(found)
    with pytest.raises(InvalidInputError, match="all take texts or all take features"):
        Ensemble([OnlinePLT(), *models])


def test_threads_may_predict_and_save_while_one_learns() -> None:
    """Every saved model is one after a whole number of texts, of which features and classifiers know the same."""
    texts, labels = texts_and_labels(400)
    model = OnlinePLT(features=TextFeatures(max_features=50))
    problems: list[str] = []
    barrier = threading.Barrier(3)

    def look() -> None:
        barrier.wait()
        seen = 0
        while seen < len(texts):
            seen = model.predict_many(texts[:5], k=1).n_examples
            saved = copy.deepcopy(model)
            features = saved.features
            if features is None or features.n_texts != saved.n_examples:
                problems.append("half a text")

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    barrier.wait()
    for begin in range(0, 400, 20):
        model.learn_many(texts[begin : begin + 20], labels[begin : begin + 20])
    for reader in readers:
        reader.join(timeout=60)
    assert problems == []
    alone = OnlinePLT(features=TextFeatures(max_features=50))
    alone.learn_many(texts, labels)
    assert model.fingerprint() == alone.fingerprint()

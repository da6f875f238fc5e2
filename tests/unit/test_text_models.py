# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Models that take texts."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.evaluate import progressive
from oplt.text import TextFeatures
from oplt.tree import kmeans
from tests.unit.texts import LABELS, SETTINGS, TEXTS, as_dicts, texts_and_labels


@pytest.mark.parametrize("settings", [*SETTINGS[:3], {"sublinear": False, "max_features": 10_000}], ids=str)
def test_a_model_of_texts_is_the_model_of_their_features(settings: dict[str, Any]) -> None:
    """Bit for bit, as long as features keep their names, and names sort as terms do: not with words and chars."""
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
    monkeypatch.setattr("oplt.learning._CHUNK", 64)
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
    """What the documentation says about max_features, on the smallest possible model."""
    model = OnlinePLT(features=TextFeatures(max_features=1))
    for _ in range(5):
        model.learn_many(["yes", ""], ["x", "y"])
    known = model.predict_one("yes", k=2)
    assert model.predict_one("other", k=2) == model.predict_one("", k=2) != known
    model.learn_one("other", [])
    assert model.n_features == 1
    assert model.predict_one("yes", k=2) == model.predict_one("", k=2)
    assert model.predict_one("other", k=1)[0][0] == "x"


BAD_CALLS: dict[str, tuple[Callable[[OnlinePLT], Any], str]] = {
    "features to learn": (
        lambda m: m.learn_one({"a": 1.0}, "x"),
        r"x must be a text .*create the model without features=",
    ),
    "features to predict": (lambda m: m.predict_one({"a": 1.0}), r"x must be a text \(str\), got {'a': 1.0}"),
    "rows to learn": (lambda m: m.learn_many([{"a": 1.0}], ["x"]), r"row 0 of X must be a text"),
    "a matrix": (lambda m: m.predict_many(np.eye(2)), r"row 0 of X must be a text"),
    "one text for many": (lambda m: m.learn_many("text", ["x"]), "X must hold many texts, got one str"),
    "None": (lambda m: m.learn_many(["new words", None], ["x", "y"]), r"row 1 of X must be a text \(str\), got None"),
    "a bad label": (lambda m: m.learn_one("new words", [None]), "label 0 must be a non-empty string or an integer"),
    "a bad label of many": (
        lambda m: m.learn_many(["new", "words"], ["x", 1.5]),
        "row 1 of Y: label 0 must be a non-empty string or an integer",
    ),
    "too few labels": (lambda m: m.learn_many(["new", "words"], ["x"]), r"X has 2 rows but Y has 1"),
    "a bad weight": (
        lambda m: m.learn_one("new words", "x", weight=-1),
        r"the weight must be a number above 0 and at most 1e\+06",
    ),
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
    hint = """must be a mapping from feature names to values, got 'text'. To train on texts, create the model with"""
    for call in (
        lambda m: m.learn_one("text", "x"),
        lambda m: m.predict_one("text"),
        lambda m: m.learn_many(["text"], ["x"]),
        lambda m: m.predict_many(["text"]),
    ):
        with pytest.raises(InvalidInputError, match=hint):
            call(OnlinePLT())
    with pytest.raises(InvalidInputError, match=hint):
        kmeans(["text"], ["x"])


@pytest.mark.parametrize(
    ("features", "got"), [("texts", "'texts'"), (5, "5"), (TextFeatures, "the class TextFeatures. Pass an instance")]
)
def test_what_are_no_text_features_is_refused(features: Any, got: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf'features must be "text", .* or None, got {got}'):
        OnlinePLT(features=features)


def test_lone_surrogates_are_taken_by_models_too() -> None:
    model, expected = OnlinePLT(features="text"), OnlinePLT(features="text")
    model.learn_one("a\ud800b", "x")
    model.learn_many(["c\udfff"], ["y"])
    expected.learn_many(["a\ud800b"], ["x"])
    expected.learn_one("c\udfff", "y")
    assert model.fingerprint() == expected.fingerprint()
    assert model.features.names == ["a", "b", "c"]
    assert model.predict_one("\ud800a") == expected.predict_one("a")


def test_batch_training_counts_all_texts_first() -> None:
    texts, labels = texts_and_labels(200)
    model = PLT.fit(iter(texts), labels, features=TextFeatures(ngrams=(1, 2)))
    features = TextFeatures(ngrams=(1, 2)).learn(texts)
    assert pickle.dumps(model.features) == pickle.dumps(features)
    other = PLT.fit(features.transform(texts), labels)
    assert model.tree == other.tree
    found, expected = model.predict_many(texts, k=1), other.predict_many(features.transform(texts), k=1)
    assert found.scores == pytest.approx(expected.scores, abs=1e-4)  # rows of the latter are scaled twice: rounding
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


def test_a_warm_start_and_a_known_tree_take_texts() -> None:
    texts, labels = texts_and_labels(200)
    given = TextFeatures(chars=(3, 3))
    model = OnlinePLT.warm_start(texts, labels, features=given, arity=2, max_leaves=4)
    assert given.n_texts == 0
    rows = TextFeatures(chars=(3, 3)).learn(texts).transform(texts)
    tree = kmeans(rows, labels, arity=2, max_leaves=4)
    other = OnlinePLT.from_tree(tree, features=TextFeatures(chars=(3, 3)), arity=2, max_leaves=4)
    other.learn_many(texts, labels)
    assert model.fingerprint() == other.fingerprint()


def test_threads_may_predict_and_save_while_one_learns() -> None:
    """Every saved model is that after a whole number of texts, the same for features and classifiers."""
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

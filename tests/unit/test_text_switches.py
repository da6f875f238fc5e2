# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Models that take texts, with a label memory, several trees, a history."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from oplt import OnlinePLT
from oplt.text import TextFeatures
from tests.unit.texts import as_dicts, texts_and_labels

N_TEXTS, N_CUT = 300, 120

SWITCHES: dict[str, dict[str, Any]] = {
    "tree alone": {"label_memory": 0},
    "memory": {"label_memory": 64},
    "trees": {"label_memory": 0, "trees": 3},
    "no history": {"label_memory": 0, "history": 0},
    "all": {"label_memory": 64, "trees": 2},
}
TEXT_SETTINGS: list[dict[str, Any]] = [{}, {"ngrams": (1, 2), "max_features": 20}, {"hash_bits": 6}]

CASES = pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES)
TEXT_CASES = pytest.mark.parametrize("settings", TEXT_SETTINGS, ids=str)


def make(settings: dict[str, Any], switches: dict[str, Any], threads: int = 1) -> OnlinePLT:
    return OnlinePLT(features=TextFeatures(**settings), arity=2, max_leaves=4, threads=threads, **switches)


@CASES
@TEXT_CASES
def test_any_batches_and_threads_equal_one_by_one(settings: dict[str, Any], switches: dict[str, Any]) -> None:
    texts, labels = texts_and_labels(N_TEXTS)
    expected = make(settings, switches)
    for text, own in zip(texts, labels, strict=True):
        expected.learn_one(text, own)
    for threads, cuts in [(1, [0, N_TEXTS]), (3, [0, 1, N_CUT - 1, N_CUT + 1, 200, N_TEXTS])]:
        model = make(settings, switches, threads)
        for begin, end in pairwise(cuts):
            model.learn_many(texts[begin:end], labels[begin:end])
        assert model.fingerprint() == expected.fingerprint()
        assert list(model.predict_many(texts, k=3)) == [expected.predict_one(text, k=3) for text in texts]


@CASES
@TEXT_CASES
@pytest.mark.parametrize("at", [0, 50, N_CUT - 1, N_CUT, 200])
def test_a_saved_model_goes_on_as_if_it_had_not_been(
    settings: dict[str, Any], switches: dict[str, Any], at: int, tmp_path: Path
) -> None:
    texts, labels = texts_and_labels(N_TEXTS)
    model = make(settings, switches)
    model.learn_many(texts[:at], labels[:at])
    model.save(tmp_path / "m.oplt")
    again = [OnlinePLT.load(tmp_path / "m.oplt"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.learn_many(texts[at:], labels[at:])
    for other in again:
        other.learn_many(texts[at:], labels[at:])
        assert other.fingerprint() == model.fingerprint()
        assert other.settings == model.settings


@CASES
@pytest.mark.parametrize("settings", [{}, {"idf": False}], ids=str)
def test_a_model_of_texts_is_the_model_of_their_rows_at_the_time(
    settings: dict[str, Any], switches: dict[str, Any]
) -> None:
    """So an example that is learnt again has its original row, even if idf has changed since."""
    texts, labels = texts_and_labels(N_TEXTS)
    model, features = make(settings, switches), TextFeatures(**settings)
    other = OnlinePLT(normalize=False, arity=2, max_leaves=4, **switches)
    for text, own in zip(texts, labels, strict=True):
        (asked,) = as_dicts(features, features.transform([text]))
        assert model.predict_one(text, k=3) == other.predict_one(asked, k=3)
        model.learn_one(text, own)
        other.learn_one(*as_dicts(features, features.learn_transform([text])), own)
    assert (model.n_features, model.n_cells) == (other.n_features, other.n_cells)
    assert model._state().n_updates == other._state().n_updates
    assert (model.n_examples, model.n_labels) == (N_TEXTS, other.n_labels)


def test_texts_are_counted_once_however_often_they_are_learnt() -> None:
    texts, labels = texts_and_labels(N_TEXTS)
    model, alone = make({}, SWITCHES["all"]), TextFeatures().learn(texts)
    model.learn_many(texts, labels)
    features = model.features
    assert features is not None
    assert (features.n_texts, features.names) == (N_TEXTS, alone.names)
    assert features.counts.tolist() == alone.counts.tolist()

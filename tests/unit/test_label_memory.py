# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Ranking by tree and label memory together."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from oplt import InvalidParameterError, OnlinePLT
from oplt.datasets import make_stream
from oplt.metrics import Scores, precision_at_k
from tests.property.proper import assert_models_proper

N_EXAMPLES, N_LABELS = 3000, 400

Example = tuple[dict[str, float], list[str]]


@pytest.fixture(scope="module")
def stream() -> list[Example]:
    return list(make_stream(N_EXAMPLES, n_labels=N_LABELS, seed=3))


def taught(stream: list[Example], **settings: Any) -> OnlinePLT:
    model = OnlinePLT(**{"label_memory": 64, **settings})
    model.learn_many([x for x, _ in stream], [y for _, y in stream])
    return model


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_model_is_the_same_on_any_number_of_threads(stream: list[Example], threads: int) -> None:
    assert taught(stream, threads=threads).fingerprint() == taught(stream).fingerprint()


def test_the_model_is_the_same_however_the_stream_is_cut(stream: list[Example]) -> None:
    one_by_one = OnlinePLT(label_memory=64)
    for x, labels in stream:
        one_by_one.learn_one(x, labels)
    assert one_by_one.fingerprint() == taught(stream).fingerprint()


def test_the_tree_underneath_is_that_of_a_model_without_memory(stream: list[Example]) -> None:
    model, alone = taught(stream), taught(stream, label_memory=0)
    assert model.tree == alone.tree
    assert_models_proper(model, alone)


def test_a_saved_model_goes_on_as_if_it_had_not_been(stream: list[Example], tmp_path: Path) -> None:
    model = taught(stream[:2000])
    model.save(tmp_path / "model.oplt")
    for again in (OnlinePLT.load(tmp_path / "model.oplt"), pickle.loads(pickle.dumps(model))):
        again.learn_many([x for x, _ in stream[2000:]], [y for _, y in stream[2000:]])
        assert again.fingerprint() == taught(stream).fingerprint()
        assert again.predict_one(stream[0][0], k=5) == taught(stream).predict_one(stream[0][0], k=5)


def test_rare_labels_are_found_better_than_by_the_tree_alone() -> None:
    stream = list(make_stream(1500, n_labels=1000, seed=5))
    rows, labels = [x for x, _ in stream], [y for _, y in stream]
    scores = []
    for size in (0, 64):
        model = OnlinePLT(label_memory=size)
        model.learn_many(rows[:1000], labels[:1000])
        scores.append(precision_at_k(model.predict_many(rows[1000:], k=1), labels[1000:], 1))
    assert scores[1] > scores[0]


def test_one_example_is_enough_to_find_a_label_again(stream: list[Example]) -> None:
    model = taught(stream)
    model.learn_one({"quokka": 1.0, "selfie": 1.0}, "zoology")
    assert model.predict_one({"quokka": 1.0}, k=1)[0][0] == "zoology"


def test_answers_are_probabilities_and_hold_what_was_asked_for(stream: list[Example]) -> None:
    model = taught(stream)
    for x, _ in stream[:50]:
        found = model.predict_one(x, k=8)
        assert len(found) == 8
        probabilities = [probability for _, probability in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 <= probabilities[-1] <= probabilities[0] <= 1
        assert len({label for label, _ in found}) == 8
        assert model.predict_one(x, k=3) == found[:3]
        assert all(probability >= 0.3 for _, probability in model.predict_one(x, threshold=0.3))
    assert [model.predict_one(x, k=2) for x, _ in stream[:50]] == list(
        model.predict_many([x for x, _ in stream[:50]], k=2)
    )


def test_the_best_ten_do_not_depend_on_how_many_are_asked_for(stream: list[Example]) -> None:
    model = taught(stream)
    for x, _ in stream[:50]:
        ten = model.predict_one(x, k=10)
        assert model.predict_one(x, k=3) == ten[:3]
        assert model.predict_one(x, k=60)[:10] == ten
        assert model.predict_one(x, threshold=0.0)[:10] == ten


@pytest.mark.parametrize("size", [1e-30, 1e11])  # the largest valid value is 1e12
def test_features_may_be_of_any_size(stream: list[Example], size: float) -> None:
    rows, labels = zip(*stream[:300], strict=True)
    model = OnlinePLT(normalize=False)
    model.learn_many([{name: value * size for name, value in x.items()} for x in rows[:200]], labels[:200])
    for x in rows[200:]:
        found = model.predict_one({name: value * size for name, value in x.items()}, k=5)
        assert len(found) == 5
        assert all(0 <= probability <= 1 for _, probability in found)


@pytest.mark.parametrize("weight", [1e-45, 1e-30, 1e6])  # including the smallest and the largest valid weight
def test_weights_may_be_of_any_size(stream: list[Example], weight: float) -> None:
    rows, labels = zip(*stream[:300], strict=True)
    model = OnlinePLT()
    model.learn_many(rows[:200], labels[:200], weights=[weight] * 200)
    for found in model.predict_many(rows[200:], k=5):
        assert len(found) == 5
        assert all(0 <= probability <= 1 for _, probability in found)


def test_an_untaught_model_and_examples_without_features_do_no_harm() -> None:
    model = OnlinePLT(label_memory=64)
    assert model.predict_one({"a": 1.0}) == []
    model.learn_many([{}, {"a": 1.0}, {}], [["x"], [], []])
    assert [label for label, _ in model.predict_one({})] == ["x"]
    assert [label for label, _ in model.predict_one({"a": 1.0})] == ["x"]


def test_that_no_label_applies_is_learnt(stream: list[Example]) -> None:
    marked = [({**x, "draft": 2.0}, []) if i % 2 else (x, y) for i, (x, y) in enumerate(stream)]
    model = taught(marked[:2500])
    best = [model.predict_one(x, k=1)[0][1] for x, _ in marked[2500:]]
    without, with_labels = best[1::2], best[::2]
    assert sum(without) / len(without) < 0.1
    assert sum(with_labels) / len(with_labels) > 0.7


def test_probabilities_come_true(stream: list[Example]) -> None:
    """They are better than those of the tree, and well calibrated."""
    losses, errors = [], []
    for size in (0, 64):
        scores = Scores(k=5)
        model = OnlinePLT(label_memory=size)
        for begin in range(0, N_EXAMPLES, 100):
            rows, labels = zip(*stream[begin : begin + 100], strict=True)
            if begin >= N_EXAMPLES / 2:
                scores.add(model.predict_many(rows, k=5), labels)
            model.learn_many(rows, labels)
        losses.append(scores.log_loss(5))
        errors.append(scores.ece(5))
    assert losses[1] < losses[0]
    assert errors[1] < min(0.05, errors[0])


def test_memory_is_bounded(stream: list[Example]) -> None:
    """Vectors that grow may be twice as large as needed.

    A feature of a label takes 12 bytes and its posting 8; a recent example takes 8 for each of at most 64 features, 4
    for each label, and what it takes to find it.
    """
    sizes = {size: taught(stream, label_memory=size).memory_bytes for size in (0, 4, 16, 64)}
    assert sizes[0] < sizes[4] < sizes[16] < sizes[64]
    recent = sum(2 * (8 * min(len(x), 64) + 8 * len(labels)) + 60 for x, labels in stream)
    for size in (4, 16):
        n_features = taught(stream, label_memory=size).n_features
        assert sizes[size] - sizes[0] < N_LABELS * (40 * size + 80) + 80 * n_features + recent


@pytest.mark.parametrize("size", [-1, 2**20 + 1, 0.5, True, "many"])
def test_a_bad_size_is_refused(size: Any) -> None:
    with pytest.raises(InvalidParameterError, match="label_memory"):
        OnlinePLT(label_memory=size)


def test_the_paper_has_none() -> None:
    assert OnlinePLT.paper().settings["label_memory"] == 0

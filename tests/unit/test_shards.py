# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A model that is cut into shards learns and predicts bit for bit what the whole model does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, ModelFormatError, OnlinePLT, _core, persistence
from tests.local_shards import LocalShards, random_stream

N = 1000
BATCH = 100
SMALL = {"arity": 4, "max_leaves": 6, "history": 0}
KINDS: dict[str, dict[str, Any]] = {
    "defaults": SMALL,
    "tree alone": {**SMALL, "label_memory": 0},
    "adagrad": {**SMALL, "label_memory": 0, "learner": "adagrad", "alpha": 0.3, "max_leaves": 4},
    "cpet": {**SMALL, "label_memory": 0, "policy": "cpet"},
    "after a history": {**SMALL, "history": 600},
}
QUESTIONS: list[dict[str, Any]] = [
    {"k": 5},
    {"k": 30},
    {"threshold": 0.05},
    {"k": 3, "beam": 2},
    {"k": 4, "allow": [f"l{i}" for i in range(0, 300, 9)]},
    {"k": 4, "deny": [f"l{i}" for i in range(0, 300, 3)]},
    {"k": 300},
]


def learn_twice(settings: dict[str, Any], n_shards: int, cut_at: int = 300) -> tuple[OnlinePLT, OnlinePLT, LocalShards]:
    """Train a model as a whole, and another one that is cut on the way, on the same stream."""
    X, Y = random_stream(N, 300)
    whole, cut = OnlinePLT(**settings), OnlinePLT(**settings)
    shards: LocalShards | None = None
    for begin in range(0, N, BATCH):
        if shards is None and begin >= cut_at and _core.can_cut(cut._core):
            shards = LocalShards(cut, n_shards)
        for model in (whole, cut):
            model.learn_many(X[begin : begin + BATCH], Y[begin : begin + BATCH])
    assert shards is not None
    return whole, cut, shards


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_learning_and_predicting_equal_those_of_one_model(kind: str, n_shards: int) -> None:
    whole, cut, shards = learn_twice(KINDS[kind], n_shards)
    X, _ = random_stream(100, 300, seed=1)
    for question in QUESTIONS:
        assert list(cut.predict_many(X, **question)) == list(whole.predict_many(X, **question)), question
    for x in X[:10]:  # few rows take fewer rounds, by another way
        assert list(cut.predict_many([x])) == list(whole.predict_many([x]))
    assert shards.fingerprint() == whole.fingerprint()


def test_labels_can_be_changed_after_the_cut() -> None:
    whole, cut, shards = learn_twice(SMALL, 3)
    X, Y = random_stream(N, 300, seed=2)
    for model in (whole, cut):
        model.labels.hide("l5")
        model.labels.merge("l6", into="l7")
        model.labels.remove("l8")
        model.labels.add("new", features={"f1": 1.0, "f2": 2.0})
        model.learn_many(X, Y)
    assert list(cut.predict_many(X[:50], k=20)) == list(whole.predict_many(X[:50], k=20))
    assert shards.fingerprint() == whole.fingerprint()


def test_subtrees_can_move_and_be_saved() -> None:
    whole, cut, shards = learn_twice(SMALL, 2)
    for seed, change in enumerate([lambda: shards.move(0, 1), shards.save_and_load, lambda: shards.move(0, 0)]):
        change()
        X, Y = random_stream(300, 400, seed=seed)
        for model in (whole, cut):
            model.learn_many(X, Y)
        assert shards.fingerprint() == whole.fingerprint()


def test_texts() -> None:
    rows, Y = random_stream(N, 300)
    texts = [" ".join(row) for row in rows]
    whole, cut = (OnlinePLT(features="text", **SMALL) for _ in range(2))
    for model in (whole, cut):
        model.learn_many(texts[:500], Y[:500])
    shards = LocalShards(cut, 3)
    for model in (whole, cut):
        model.learn_many(texts[500:], Y[500:])
    assert list(cut.predict_many(texts[:50])) == list(whole.predict_many(texts[:50]))
    assert shards.fingerprint() == whole.fingerprint()


def test_a_given_tree_that_never_grows() -> None:
    X, Y = random_stream(N, 300)
    grown = OnlinePLT(**SMALL)
    grown.learn_many(X, Y)
    whole, cut = (OnlinePLT.from_tree(grown.tree, policy="fixed") for _ in range(2))
    shards = LocalShards(cut, 2)
    for model in (whole, cut):
        model.learn_many(X, Y)
    assert list(cut.predict_many(X[:50])) == list(whole.predict_many(X[:50]))
    assert shards.fingerprint() == whole.fingerprint()


def test_the_joined_model_goes_on_learning(tmp_path: Any) -> None:
    whole, _, shards = learn_twice(SMALL, 3)
    persistence.write(shards.saved(), tmp_path / "joined.oplt")
    joined = OnlinePLT.load(tmp_path / "joined.oplt")
    X, Y = random_stream(300, 400, seed=5)
    for model in (whole, joined):
        model.learn_many(X, Y)
    assert joined.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize(
    "settings", [{"policy": "random"}, {"policy": "flat"}, {"policy": "complete"}, {"trees": 2}, {"max_memory": "1GB"}]
)
def test_what_cannot_be_cut(settings: dict[str, Any]) -> None:
    X, Y = random_stream(500, 200)
    model = OnlinePLT(**{"arity": 4, "max_leaves": 6, "history": 0, **settings})
    model.learn_many(X, Y)
    assert not _core.can_cut(model._core)
    with pytest.raises(InvalidInputError, match="cannot be cut"):
        _core.cut(model._core)


def test_a_model_with_a_history_is_not_cut_before_the_history_ends() -> None:
    X, Y = random_stream(601, 200)
    model = OnlinePLT(arity=4, max_leaves=6, history=600)
    model.learn_many(X[:600], Y[:600])
    assert not _core.can_cut(model._core)
    model.learn_many(X[600:], Y[600:])
    assert _core.can_cut(model._core)


def test_a_part_is_not_opened_as_a_model(tmp_path: Any) -> None:
    X, Y = random_stream(500, 200)
    model = OnlinePLT(**SMALL)
    model.learn_many(X, Y)
    subtrees = _core.cut(model._core)
    persistence.write(model._saved(), tmp_path / "top.oplt")
    for load in (PLT.load, OnlinePLT.load):
        with pytest.raises(ModelFormatError, match=r"part of a sharded model.*ShardedPLT\.open"):
            load(tmp_path / "top.oplt")
    assert sum(subtrees.n_labels.values()) == model.n_labels


def test_parts_that_do_not_match_are_refused() -> None:
    models = []
    for seed in range(2):
        X, Y = random_stream(500, 200 + 50 * seed, seed=seed)
        models.append(OnlinePLT(**SMALL))
        models[-1].learn_many(X, Y)
    subtrees = [_core.cut(model._core) for model in models]
    with pytest.raises(ModelFormatError, match="does not have the labels"):
        _core.joined(models[0]._core.snapshot(), [subtrees[1]])
    few = subtrees[0].chosen([0, 1])
    with pytest.raises(ModelFormatError, match="do not match the top"):
        _core.joined(models[0]._core.snapshot(), [few])


def test_predictions_of_many_rows_do_not_depend_on_each_other() -> None:
    whole, cut, _ = learn_twice({**SMALL, "label_memory": 0}, 3)
    X, _ = random_stream(200, 300, seed=3)
    together = cut.predict_many(X, k=3)
    assert [cut.predict_many([x], k=3)[0] for x in X] == list(together) == list(whole.predict_many(X, k=3))
    assert np.all(np.diff(together.indptr) == 3)


@pytest.mark.parametrize("label_memory", [0, 100])
@pytest.mark.parametrize("threads", [1, 2])
def test_observed_examples_do_not_wait_one_by_one(label_memory: int, threads: int) -> None:
    X, Y = random_stream(N, 300)
    whole, cut = (OnlinePLT(**SMALL, label_memory=label_memory, threads=threads) for _ in range(2))
    for model in (whole, cut):
        model.learn_many(X[:300], Y[:300])
    shards = LocalShards(cut, 3)
    for model in (whole, cut):
        model.learn_many(X[300:], Y[300:])
    assert shards.n_rounds < 30  # of 700 examples, about half are observed
    assert shards.fingerprint() == whole.fingerprint()
    cut.labels.hide("l3")  # hidden labels are no candidates, so a search may have to be repeated at once
    whole.labels.hide("l3")
    for model in (whole, cut):
        model.learn_many(X[:300], Y[:300])
    assert shards.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_ranking_follows_later_whatever_it_observes(threads: int) -> None:
    X, Y = random_stream(3 * N, 300)
    for i in range(3 * N):
        if i % 7 == 3:  # no feature that the label memory knows: the ranking does not use such an example
            X[i] = {f"unknown {i}": 1.0}
        if i % 11 == 4:
            X[i] = {}
        if i % 500 > 400:  # repeated examples are not observed
            X[i], Y[i] = X[i - 350], Y[i - 350]
    X, Y = X + X[:N], Y + Y[:N]  # a second pass
    whole, cut = (OnlinePLT(**SMALL, threads=threads) for _ in range(2))
    for model in (whole, cut):
        model.learn_many(X[:300], Y[:300])
    shards = LocalShards(cut, 3)
    for begin, end in ((300, 301), (301, 1000), (1000, 1033), (1033, 4 * N)):
        for model in (whole, cut):
            model.learn_many(X[begin:end], Y[begin:end])
        assert shards.fingerprint() == whole.fingerprint()

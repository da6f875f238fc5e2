# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Several trees."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oplt import InvalidParameterError, LabelTree, ModelFormatError, OnlinePLT
from oplt.datasets import make_stream
from tests.property.proper import assert_models_proper

SWITCHES: dict[str, dict[str, Any]] = {
    "trees": {"trees": 3, "history": 0},
    "regrown": {"trees": 2},
    "regrown with memory": {"trees": 2, "label_memory": 64},
    "random": {"trees": 3, "policy": "random"},
}
CASES = pytest.mark.parametrize("settings", SWITCHES.values(), ids=SWITCHES)

Example = tuple[dict[str, float], list[str]]


@pytest.fixture(scope="module")
def stream() -> list[Example]:
    return list(make_stream(2000, n_labels=300, seed=3))


def update(model: OnlinePLT, stream: list[Example]) -> OnlinePLT:
    model.learn_many([x for x, _ in stream], [labels for _, labels in stream])
    return model


def core_tree(model: OnlinePLT, number: int) -> tuple[list[int], list[int]]:
    parents, labels = model._state().tree(number)
    return parents.tolist(), labels.tolist()


# --- All switches -----------------------------------------------------------------------------------------------------


@CASES
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_model_is_the_same_on_any_number_of_threads(
    stream: list[Example], settings: dict[str, Any], threads: int
) -> None:
    alone, together = OnlinePLT(**settings), OnlinePLT(**settings, threads=threads)
    assert update(together, stream).fingerprint() == update(alone, stream).fingerprint()
    rows = [x for x, _ in stream[:100]]
    assert list(together.predict_many(rows)) == list(alone.predict_many(rows))


@CASES
def test_the_model_is_the_same_however_the_stream_is_cut(stream: list[Example], settings: dict[str, Any]) -> None:
    in_parts, singly = OnlinePLT(**settings, threads=2), OnlinePLT(**settings)
    for begin, end in pairwise([0, 1, 100, 1279, 1281, 1500, 2000]):
        update(in_parts, stream[begin:end])
    for x, labels in stream:
        singly.learn_one(x, labels)
    expected = update(OnlinePLT(**settings), stream).fingerprint()
    assert in_parts.fingerprint() == singly.fingerprint() == expected


@CASES
@pytest.mark.parametrize("at", [0, 400, 1200, 1280])
def test_a_saved_model_goes_on_as_if_it_had_not_been(
    stream: list[Example], settings: dict[str, Any], at: int, tmp_path: Path
) -> None:
    model = update(OnlinePLT(**settings), stream[:at])
    model.save(tmp_path / "model.oplt")
    again = [OnlinePLT.load(tmp_path / "model.oplt"), pickle.loads(pickle.dumps(model))]
    expected = update(model, stream[at:])
    for other in again:
        assert update(other, stream[at:]).fingerprint() == expected.fingerprint()
        assert other.settings == expected.settings
        assert other.predict_one(stream[0][0]) == expected.predict_one(stream[0][0])


@CASES
def test_counts_are_of_new_examples_and_of_all_labels(stream: list[Example], settings: dict[str, Any]) -> None:
    model = OnlinePLT(**settings)
    for begin in (0, 1000):
        update(model, stream[begin : begin + 1000])
        assert model.n_examples == begin + 1000
        assert model.n_labels == len({label for _, labels in stream[: begin + 1000] for label in labels})
        assert model.predict_many([{}]).n_examples == begin + 1000


@CASES
def test_it_predicts_from_the_first_example_on(stream: list[Example], settings: dict[str, Any]) -> None:
    model = OnlinePLT(**settings)
    assert model.predict_one({"a": 1.0}) == []
    for i, (x, labels) in enumerate(stream[:20]):
        model.learn_one(x, labels)
        known = {label for _, past in stream[: i + 1] for label in past}
        found = model.predict_one(x, k=3)
        assert len(found) == min(3, len(known))
        assert {label for label, _ in found} <= known


@pytest.mark.parametrize("keep", [100, 5000, -60, -33])
def test_a_cut_off_model_is_refused(stream: list[Example], tmp_path: Path, keep: int) -> None:
    settings = {"trees": 2}
    path = tmp_path / "m.oplt"
    update(OnlinePLT(**settings), stream[:100]).save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFormatError):
        OnlinePLT.load(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": 0}, "trees must be at least 1, got 0"),
        ({"trees": 33}, "trees must be at most 32, got 33"),
        ({"trees": True}, "trees must be an integer"),
        ({"trees": 2, "policy": "flat"}, "trees must be 1 unless the policy is best-greedy or random.*got 2"),
    ],
)
def test_a_bad_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        OnlinePLT(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": 3}, "starts from one tree, so trees must be 1, got 3"),
        ({"trees": 2, "policy": "fixed"}, "trees must be 1 unless the policy is"),
    ],
)
def test_a_tree_that_is_known_ahead_is_one_and_stays(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        OnlinePLT.from_tree(LabelTree.from_nested(["a", "b"]), **settings)
    with pytest.raises(InvalidParameterError, match=message):
        OnlinePLT.warm_start([{"x": 1.0}], ["a"], **settings)


# --- Trees ------------------------------------------------------------------------------------------------------------


def test_the_first_tree_is_that_of_a_model_with_one(stream: list[Example]) -> None:
    three, one = update(OnlinePLT(trees=3), stream), update(OnlinePLT(), stream)
    assert three.tree == one.tree
    assert_models_proper(three, one)
    assert len({str(core_tree(three, number)) for number in range(3)}) == 3
    assert three.n_cells > 2 * one.n_cells
    assert three.depth >= one.depth
    assert three.memory_bytes > 2 * one.memory_bytes


def test_the_label_memory_is_the_same_beside_any_trees(stream: list[Example]) -> None:
    def memory_bytes(**settings: Any) -> int:
        with_memory, without = (OnlinePLT(label_memory=size, **settings) for size in (64, 0))
        return update(with_memory, stream).memory_bytes - update(without, stream).memory_bytes

    assert memory_bytes() == memory_bytes(trees=3)


def test_probabilities_are_the_mean_of_the_trees(stream: list[Example]) -> None:
    settings: dict[str, Any] = {"policy": "random", "label_memory": 0, "learner": "adagrad"}
    forest = update(OnlinePLT(**settings, trees=2, seed=5, arity=8, max_leaves=10), stream)
    alone = [
        update(OnlinePLT(**settings, seed=5, arity=8, max_leaves=10), stream),
        update(OnlinePLT(**settings, seed=6, arity=4, max_leaves=11), stream),
    ]
    for x, _ in stream[:20]:
        first, second = (dict(model.predict_one(x, threshold=0.0)) for model in alone)
        means = {label: float(np.float32((first[label] + second[label]) / 2)) for label in first}
        assert dict(forest.predict_one(x, threshold=0.0)) == means
        best = forest.predict_one(x, k=4)
        assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)
        assert all(p <= means[label] for label, p in best)  # less if a tree does not return it

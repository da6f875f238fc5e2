# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Tree search equals brute force over all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import LabelTree, OnlinePLT
from tests.property.proper import core_classifiers
from tests.property.strategies import (
    POLICIES,
    SHAPES,
    Settings,
    Stream,
    long_stream,
    rows,
    streams,
    trained_tree,
    tree_settings,
)
from tests.reference import oplt_classifiers, oplt_examples

Predicted = list[tuple[Any, float]]


def all_labels(model: OnlinePLT, x: dict[Any, float]) -> Predicted:
    """Return the probabilities of all labels, found without pruning."""
    return model.predict_one(x, threshold=0.0)


def node_probabilities(model: OnlinePLT, settings: Settings, stream: Stream, x: dict[Any, float]) -> list[float]:
    """P(some label below is relevant | x) of all nodes, multiplied along the path from the core's classifiers."""
    as_reference = oplt_examples.Settings(**settings)
    reader, learner = oplt_examples.Reader(as_reference), oplt_classifiers.a_online_of(as_reference)
    for example in stream:
        reader.example(*example)
    row = reader.row(x)
    estimates = {
        node: learner.estimate({feature: list(cell) for feature, cell in cells.items()}, row)
        for node, cells in core_classifiers(model).items()
    }

    def probability(node: int) -> float:
        parent = int(model.tree.parents[node])
        return estimates[node] * (1.0 if parent < 0 else probability(parent))

    return [probability(node) for node in range(model.tree.n_nodes)]


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_probabilities_are_products_along_the_path(policy: str, data: st.DataObject) -> None:
    """Those of AROW are calibrated."""
    settings, stream, x = data.draw(tree_settings(policy, learner="adagrad")), data.draw(streams()), data.draw(rows())
    model = trained_tree(settings, stream)
    nodes = node_probabilities(model, settings, stream, x)
    expected = {label: p for label, p in zip(model.tree.labels, nodes, strict=True) if label is not None}
    # The core rounds each score and product to float32; here they are doubles. See the tests against the reference.
    assert dict(all_labels(model, x)) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(tree_settings(learner="adagrad"), streams(), rows())
def test_probabilities_never_increase_downwards(settings: Settings, stream: Stream, x: dict[Any, float]) -> None:
    model = trained_tree(settings, stream)
    nodes = node_probabilities(model, settings, stream, x)
    predicted = dict(all_labels(model, x))
    for node, label in enumerate(model.tree.labels):
        parent = int(model.tree.parents[node])
        if parent >= 0:
            assert nodes[node] <= nodes[parent]
        if parent >= 0 and label is not None:
            assert predicted[label] <= nodes[parent] * (1 + 1e-4) + 1e-6  # rounding


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data())
def test_the_best_k_are_the_first_k_of_all(policy: str, data: st.DataObject) -> None:
    settings, stream, x = data.draw(tree_settings(policy)), data.draw(streams()), data.draw(rows())
    model = trained_tree(settings, stream)
    expected = all_labels(model, x)
    assert len(expected) == model.n_labels
    assert len({label for label, _ in expected}) == model.n_labels
    assert [p for _, p in expected] == sorted((p for _, p in expected), reverse=True)
    for k in range(1, model.n_labels + 2):
        assert model.predict_one(x, k=k) == expected[:k]


@given(tree_settings(), streams(), rows(), st.data())
def test_threshold(settings: Settings, stream: Stream, x: dict[Any, float], data: st.DataObject) -> None:
    model = trained_tree(settings, stream)
    expected = all_labels(model, x)
    # Use a probability that occurs as the threshold: labels that just reach it belong to the result.
    threshold = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, *(p for _, p in expected)]))
    k = data.draw(st.integers(1, 6))
    above = [(label, p) for label, p in expected if p >= np.float32(threshold)]
    assert model.predict_one(x, threshold=threshold) == above
    assert model.predict_one(x, k=k, threshold=threshold) == above[:k]


@given(tree_settings(), streams(), rows(), st.integers(1, 6))
def test_a_beam_wide_enough_is_exact(settings: Settings, stream: Stream, x: dict[Any, float], k: int) -> None:
    model = trained_tree(settings, stream)
    width = max(1, model.tree.n_nodes)
    assert model.predict_one(x, k=k, beam=width) == model.predict_one(x, k=k)
    assert model.predict_one(x, threshold=0.1, beam=width) == model.predict_one(x, threshold=0.1)


@given(tree_settings(learner="adagrad"), streams(), rows(), st.integers(1, 3))
def test_a_narrow_beam_finds_true_probabilities(
    settings: Settings, stream: Stream, x: dict[Any, float], beam: int
) -> None:
    model = trained_tree(settings, stream)
    exact = all_labels(model, x)
    found = model.predict_one(x, k=4, beam=beam)
    assert set(found) <= set(exact)
    assert found == sorted(found, key=exact.index)


@pytest.mark.parametrize(("policy", "arity", "max_leaves"), SHAPES)
def test_the_best_k_of_many_labels(policy: str, arity: int, max_leaves: int) -> None:
    stream = long_stream(seed=7)
    model = trained_tree({"policy": policy, "arity": arity, "max_leaves": max_leaves}, stream)
    for example in stream[::50]:
        expected = all_labels(model, example.x)
        assert len(expected) == model.n_labels
        for k in (1, 3, 10, 77):
            assert model.predict_one(example.x, k=k) == expected[:k]


# --- Ties -------------------------------------------------------------------------------------------------------------


def test_ties_are_in_order_of_arrival() -> None:
    """A complete tree of 2^n labels has all leaves on one level, and without a known feature all nodes give 1/2."""
    arrived = [f"label {(5 * i) % 16}" for i in range(16)]
    model = OnlinePLT(policy="complete", arity=2, max_leaves=2, bias=False, label_memory=0, learner="adagrad")
    for label in arrived:
        model.learn_one({f"feature of {label}": 1.0}, [label])
    for k in range(1, 17):
        predicted = model.predict_one({"never seen": 1.0}, k=k)
        assert predicted == [(label, 0.5**5) for label in arrived[:k]]
        assert model.predict_one({"never seen": 1.0}, k=k, beam=16) == predicted


@pytest.mark.parametrize("k", [1, 3, 8])
def test_ties_in_a_fresh_tree_are_in_order_of_its_leaves(k: int) -> None:
    tree = LabelTree.from_nested([[["h", "b"], ["a", "z"]], [["c", "y"], ["x", "d"]]])
    predicted = OnlinePLT.from_tree(tree, label_memory=0, learner="adagrad").predict_one({}, k=k)
    assert predicted == [(label, 0.5**4) for label in ["h", "b", "a", "z", "c", "y", "x", "d"][:k]]


@pytest.mark.parametrize("beam", [None, 3])
def test_before_the_first_label_nothing_is_predicted(beam: int | None) -> None:
    model = OnlinePLT(label_memory=0)
    assert model.predict_one({"a": 1.0}, beam=beam) == []
    model.learn_one({"a": 1.0}, [])
    assert model.predict_one({"a": 1.0}, beam=beam) == []

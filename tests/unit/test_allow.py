# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Predictions of some labels only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, OnlinePLT
from oplt.datasets import make_stream
from oplt.thresholds import Thresholds

SETTINGS: list[dict[str, Any]] = [{}, {"label_memory": 0}, {"trees": 3}, {"label_memory": 0, "trees": 2}]


@pytest.fixture(scope="module")
def stream() -> tuple[list[dict[str, float]], list[list[str]]]:
    X, Y = zip(*make_stream(1500, n_labels=200, seed=5), strict=True)
    return list(X), list(Y)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def model(request: pytest.FixtureRequest, stream: tuple[list[Any], list[Any]]) -> OnlinePLT:
    model = OnlinePLT(**request.param)
    model.learn_many(stream[0][:1400], stream[1][:1400])
    return model


def test_k_allowed_labels_are_returned(model: OnlinePLT, stream: tuple[list[Any], list[Any]]) -> None:
    allowed = list(model.labels)[::7]
    for found in model.predict_many(stream[0][1400:], k=5, allow=allowed):
        assert len(found) == 5
        assert {label for label, _ in found} <= set(allowed)
    for found in model.predict_many(stream[0][1400:], k=5, deny=allowed):
        assert len(found) == 5
        assert not {label for label, _ in found} & set(allowed)


def test_probabilities_do_not_depend_on_what_is_allowed(model: OnlinePLT, stream: tuple[list[Any], list[Any]]) -> None:
    allowed = list(model.labels)[::3]
    for x in stream[0][1400:1450]:
        ten = [pair for pair in model.predict_one(x, k=10) if pair[0] in set(allowed)]
        found = model.predict_one(x, k=10, allow=allowed)
        if model.settings["label_memory"] > 0 or model.settings["trees"] == 1:
            assert found[: len(ten)] == ten
        else:  # a label counts as 0 in each tree that does not return it; with fewer allowed labels, more trees do
            assert all(probability <= dict(found).get(label, 1) for label, probability in ten)


def test_exact_search_equals_the_filtered_ranking(stream: tuple[list[Any], list[Any]]) -> None:
    model = PLT.fit(stream[0], stream[1])
    allowed = list(model.labels)[::5]
    for x in stream[0][:50]:
        everything = model.predict_one(x, k=model.n_labels)
        assert model.predict_one(x, k=4, allow=allowed) == [p for p in everything if p[0] in set(allowed)][:4]
        assert model.predict_one(x, k=4, deny=allowed) == [p for p in everything if p[0] not in set(allowed)][:4]


def test_both_can_be_given(model: OnlinePLT, stream: tuple[list[Any], list[Any]]) -> None:
    first, second, third = list(model.labels)[:3]
    found = model.predict_one(stream[0][0], allow=[first, second, third], deny={second})
    assert {label for label, _ in found} == {first, third}


def test_one_and_many_agree(model: OnlinePLT, stream: tuple[list[Any], list[Any]]) -> None:
    allowed = list(model.labels)[::4]
    many = model.predict_many(stream[0][1400:1420], k=3, allow=allowed)
    assert [model.predict_one(x, k=3, allow=allowed) for x in stream[0][1400:1420]] == list(many)


@pytest.mark.parametrize("threshold", [0.01, Thresholds(0.01, {"label 3": 0.2})])
def test_thresholds_apply_to_allowed_labels(
    model: OnlinePLT, stream: tuple[list[Any], list[Any]], threshold: Any
) -> None:
    allowed = list(model.labels)[::2]
    for x in stream[0][1400:1420]:
        found = dict(model.predict_one(x, threshold=threshold, allow=allowed))
        assert set(found) <= set(allowed)
        assert all(p >= 0.01 for p in found.values())


def test_unknown_labels_are_ignored(model: OnlinePLT, stream: tuple[list[Any], list[Any]]) -> None:
    known = model.labels[0]
    assert [label for label, _ in model.predict_one(stream[0][0], allow=["never seen", known])] == [known]
    assert model.predict_one(stream[0][0], allow=["never seen"]) == []
    assert model.predict_one(stream[0][0], allow=[]) == []
    assert model.predict_one(stream[0][0], deny=["never seen"]) == model.predict_one(stream[0][0])


def test_any_names_and_containers() -> None:
    model = OnlinePLT()
    model.learn_many(np.eye(4), np.array([7, 8, 9, 7]))
    assert [label for label, _ in model.predict_one({0: 1.0}, allow=np.array([8, 9]))] != []
    assert {label for label, _ in model.predict_one({0: 1.0}, allow=iter([np.int64(8), 9]))} == {8, 9}
    assert [label for label, _ in model.predict_one({0: 1.0}, allow=8)] == [8]
    assert OnlinePLT().predict_one({"x": 1}, allow=["cat"]) == []


@pytest.mark.parametrize("option", ["allow", "deny"])
def test_a_bad_label_is_refused(option: str) -> None:
    model = OnlinePLT()
    model.learn_one({"x": 1}, "cat")
    with pytest.raises(InvalidInputError, match=f"{option}.*label 1 must be a non-empty string"):
        model.predict_one({"x": 1}, **{option: ["cat", 1.5]})

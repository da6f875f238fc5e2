# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Labels that are probably mistakes: which ones cause a warning, which an error, and which neither."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from oplt import PLT, InvalidInputError, OnlinePLT, OpltWarning
from oplt.metrics import Scores
from oplt.predictions import Predictions

ANIMALS = ["cat", "dog", "bird", "fish", "horse", "cow"]


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", OpltWarning)
        yield


@contextmanager
def warns(code: str) -> Iterator[list[warnings.WarningMessage]]:
    with pytest.warns(OpltWarning) as told:
        yield told.list
    assert [warning.message.code for warning in told.list] == [code]


def rows(n: int) -> list[dict[str, float]]:
    return [{f"feature-{i % 7}": 1.0, f"other-{i % 3}": 2.0} for i in range(n)]


def learn(labels: list[Any], model: OnlinePLT | None = None) -> OnlinePLT:
    model = model or OnlinePLT()
    model.learn_many(rows(len(labels)), labels)
    return model


@pytest.mark.parametrize("separator", ["|", ";", ",", ", "])
def test_labels_that_consist_of_other_labels_are_told(separator: str) -> None:
    with warns("labels-joined") as told:
        learn([f"cat{separator}dog", "cat", "dog"])
    assert f"'cat{separator}dog'" in str(told[0].message)
    assert f"label.split({separator.strip()!r})" in str(told[0].message)
    assert told[0].filename == __file__


def test_a_model_tells_it_once_and_learns_the_labels_as_they_are() -> None:
    with warns("labels-joined"):
        model = learn(["cat|dog", "cat", "dog"])
    with no_warning():
        learn(["bird|dog", "bird", "dog|bird|cat"], model)
    assert "dog|bird|cat" in model.tree.leaves()[1]


def test_labels_that_are_all_joined_are_told() -> None:
    joined = ["|".join(some) for n in (2, 3) for some in permutations(ANIMALS, n)]
    with warns("labels-joined"):
        learn(joined[::7])


TAGS = ["vpn", "network", "wifi", "printer", "mail", "login", "badge", "laptop", "screen"]


def test_joined_labels_beside_single_ones_are_told_if_they_consist_of_a_few_pieces() -> None:
    joined = [", ".join(pair) for pair in permutations(TAGS, 2)][::3]  # 24 of them, but 3 of the tags never occur alone
    with warns("labels-joined") as told:
        learn([*TAGS[:6], *joined, *(f"other {i}" for i in range(30))] * 5)
    assert "24 labels with ',' share their parts" in str(told[0].message)


def test_names_are_not_told_however_often_their_parts_recur() -> None:
    families, first_names = [f"family {i}" for i in range(15)], [f"name {i}" for i in range(12)]
    names = [f"{family}, {name}" for family in families for name in first_names]
    with no_warning():
        learn([*names, *(f"town {i}" for i in range(30))])


def test_single_examples_are_looked_at() -> None:
    model = OnlinePLT()
    with warns("labels-joined"):
        for label in ("cat", "dog", "bird", "cat|dog", "dog|bird", "cat|bird", "bird", "cat"):
            model.learn_one({"a": 1.0}, label)


def test_batch_training_looks_at_labels() -> None:
    with warns("labels-joined"):
        PLT.fit(rows(3), ["cat|dog", "cat", "dog"])


@pytest.mark.parametrize(
    "labels",
    [
        ["Smith, John", "Smith, Mary", "Miller, John", "Miller, Jane", "Brown, James", "Brown, Mary", "Lee, Jane"],
        ["Paris, Texas", "Paris", "Texas", "Austin, Texas", "Dallas, Texas", "London, Ontario", "Rome, Georgia"],
        ["microsoft:windows_10", "apache:http_server", "google:android", "foo:bar,baz"],
        ["Animals", "Animals|Cats", "Animals|Cats|Siamese", "Animals|Dogs", "Animals|Dogs|Poodle", "Plants|Trees"],
        ["Finance; insurance; real estate", "Health", "Transport; storage"],
        ["[sic]", "[1]", "(none)", "{}", "a,", ",b"],
        [1, 2, 3, "x", "y"],
        ["1", "2", "01"],
    ],
)
def test_ordinary_labels_are_not_told(labels: list[Any]) -> None:
    with no_warning():
        model = learn(labels * 3)
        for label in labels:
            model.learn_one({"a": 1.0}, label)


def test_names_with_commas_are_not_told_even_if_some_consist_of_labels() -> None:
    towns = [f"town {i}, state {i % 50}" for i in range(500)]
    with no_warning():
        learn([*towns, *(f"town {i}" for i in range(0, 500, 5)), *(f"state {i}" for i in range(50))])


@pytest.mark.parametrize("label", ["['cat', 'dog']", '["cat"]', "('cat', 'dog')", "{'cat'}"])
def test_a_list_that_is_a_text_is_told(label: str) -> None:
    with warns("label-is-a-list"):
        learn([label, "bird"])


@pytest.mark.parametrize("label", ["NaN", "nan", "None", "null", "N/A"])
def test_a_missing_value_is_told(label: str) -> None:
    with warns("label-is-missing-value") as told:
        learn(["cat", label, "None"])
    assert f"the label {label!r} looks like a missing value, but is treated as a label" in str(told[0].message)
    with no_warning():
        learn(["none", "Nan", "NULL island", "na"])


def test_a_number_and_its_text_are_told() -> None:
    with warns("labels-of-two-types") as told:
        learn([1, "1", 2])
    assert "1 and '1'" in str(told[0].message)


def test_a_number_and_its_text_are_told_whenever_they_come() -> None:
    model = learn([1, 2, 3] * 10)
    with warns("labels-of-two-types"):
        learn(["2"], model)
    model = learn(["1", "2"] * 10)
    with warns("labels-of-two-types"):
        model.learn_many(rows(2), np.eye(2, 3))


@pytest.mark.parametrize(
    "matrix", [np.eye(4), np.eye(3)[[0, 2, 1, 0]], np.array([[1, 1], [0, 1], [0, 0], [1, 0]]), np.eye(2)[[0, 1, 1, 0]]]
)
def test_rows_of_an_indicator_matrix_as_lists_are_refused(matrix: np.ndarray[Any, Any]) -> None:
    model = OnlinePLT()
    with pytest.raises(InvalidInputError, match="indicator matrix") as caught:
        learn(matrix.astype(int).tolist(), model)
    assert caught.value.code == "indicator-as-list"
    assert model.n_examples == 0
    learn(matrix, model)
    assert model.n_examples == 4


def test_a_row_of_an_indicator_matrix_is_refused_for_one_example() -> None:
    model = OnlinePLT()
    with pytest.raises(InvalidInputError, match="0 and 1"):
        model.learn_one({"a": 1.0}, [1, 0, 0])
    assert model.n_examples == 0


def test_booleans_and_floats_as_labels_are_refused_with_a_hint() -> None:
    for row in ([True, False, True], [1.0, 0.0, 0.0]):
        with pytest.raises(InvalidInputError, match=r"numpy.array\(Y\)"):
            learn([row])


def test_lists_of_the_labels_0_and_1_are_labels() -> None:
    with no_warning():
        model = learn([[0, 1], [1], [0], [1, 0], []])
    assert model.n_labels == 2


@pytest.mark.parametrize(("predicted", "true"), [(3, "3"), ("3", 3)])
def test_integers_are_never_measured_against_strings(predicted: Any, true: Any) -> None:
    with pytest.raises(InvalidInputError, match="none can match"):
        Scores(1).add(Predictions.from_rows([[(predicted, 0.5)]]), [[true]])


def test_features_beside_a_text_that_outweigh_it_are_told() -> None:
    model = OnlinePLT(features="text")
    with warns("feature-outweighs-text"):
        model.learn_one({"text": "some words", "year": 2020}, "a")
    with no_warning():
        OnlinePLT(features="text").learn_one({"text": "some words", "year": "2020"}, "a")


def test_single_examples_that_come_late_are_looked_at_by_what_is_new_to_the_model() -> None:
    model = OnlinePLT()
    for i in range(300):
        model.learn_one({"a": 1.0}, f"label {i % 9}")
    with warns("labels-of-two-types"):
        for i in range(3000):
            model.learn_one({"a": 1.0}, 7 if i == 100 else "7" if i == 200 else "label 1")


@pytest.mark.parametrize("n", [1, 10, 40, 200])
def test_nothing_of_an_example_is_kept(n: int) -> None:
    class Labels(list):  # type: ignore[type-arg]
        pass

    model = OnlinePLT()
    labels = [Labels([f"label {i}"]) for i in range(n)]
    gone = [weakref.ref(row) for row in labels]
    for row in labels:
        model.learn_one({"a": 1.0}, row)
    del row, labels
    gc.collect()
    assert all(ref() is None for ref in gone)
    mine = ["x"]
    model.learn_one({"a": 1.0}, mine)
    mine.extend(["y|z", "y", "z"])  # after it was learnt
    with no_warning():
        for _ in range(1200):
            model.learn_one({"a": 1.0}, "x")


def test_values_without_names_are_an_example_only_if_there_are_any() -> None:
    model = OnlinePLT()
    for empty in ([], (), np.zeros(0)):
        with pytest.raises(InvalidInputError, match="must be a mapping"):
            model.learn_one(empty, "a")
    assert model.n_examples == 0


def test_what_comes_late_is_told_too() -> None:
    """However many labels there are by then."""
    many = [f"l{i}" for i in range(1000)]
    with warns("labels-joined"):
        learn([f"{a}|{b}" for a, b in pairwise(many)], learn(many))
    numbers = learn(["x"], learn(list(range(1000))))
    with warns("labels-of-two-types"):
        learn([str(i) for i in range(500)], numbers)


@pytest.mark.parametrize("label", ["[1, 2]", "[cat, dog]", "['cat']", "('cat', 'dog')"])
def test_lists_that_were_written_as_texts_are_told(label: str) -> None:
    with warns("label-is-a-list"):
        learn([label, "cat"])

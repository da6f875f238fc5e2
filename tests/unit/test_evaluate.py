# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections import deque
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oplt import InvalidInputError, InvalidParameterError, OnlinePLT, Predictions
from oplt.datasets import make_stream
from oplt.evaluate import Bucket, Report, progressive
from oplt.metrics import Scores
from tests.property.strategies import Stream, streams

Label = str | int


class Parrot:
    """Predicts the labels in reverse order of learning, and logs its calls."""

    def __init__(self) -> None:
        self.said: deque[Label] = deque()
        self.calls: list[tuple[Any, ...]] = []

    def predict_one(self, x: Any, k: int) -> list[tuple[Label, float]]:
        self.calls.append(("predict", x))
        return [(label, 0.5) for label in list(dict.fromkeys(self.said))[:k]]

    def learn_one(self, x: Any, labels: Any, **weight: float) -> None:
        self.calls.append(("learn", x, *weight.values()))
        self.said.extendleft([labels] if isinstance(labels, str) else labels)


def last(reports: Any) -> Report:
    *_, report = reports
    assert isinstance(report, Report)
    return report


def same(one: dict[str, float], other: dict[str, float]) -> bool:
    return {name: value.hex() for name, value in one.items()} == {name: value.hex() for name, value in other.items()}


@given(stream=streams(), delay=st.integers(0, 5), every=st.integers(1, 7), window=st.integers(1, 7))
def test_it_is_a_loop_of_predict_one_and_learn_one(stream: Stream, delay: int, every: int, window: int) -> None:
    model, by_hand = OnlinePLT(), OnlinePLT()
    reports = list(progressive(model, stream, k=3, window=window, every=every, delay=delay))

    rows: list[list[tuple[Label, float]]] = []
    for t, (x, _, _) in enumerate(stream):
        if t > delay:
            by_hand.learn_one(*stream[t - delay - 1][:2], weight=stream[t - delay - 1].weight)
        rows.append(by_hand.predict_one(x, k=3))
    for x, labels, weight in stream[max(0, len(stream) - delay - 1) :]:
        by_hand.learn_one(x, labels, weight=weight)

    assert model.fingerprint() == by_hand.fingerprint()
    ends = [report.n_examples for report in reports]
    assert ends == sorted({*range(every, len(stream) + 1, every), len(stream)})
    for report, end in zip(reports, ends, strict=True):
        for found, begin in ((report.total, 0), (report.window, max(0, end - window))):
            expected = Scores((1, 3))
            expected.add(Predictions.from_rows(rows[begin:end]), [example.labels for example in stream[begin:end]])
            assert same(found, expected.result())
        assert report.n_labels == len({label for example in stream[:end] for label in example.labels})


def test_rows_that_are_scored_in_chunks_make_the_same_reports() -> None:
    stream = list(make_stream(50, n_labels=9))
    whole = list(progressive(OnlinePLT(), stream, every=20))
    with mock.patch("oplt.reports._CHUNK", 3):
        assert list(progressive(OnlinePLT(), stream, every=20)) == whole


def test_the_order_of_calls_with_late_labels() -> None:
    model = Parrot()
    stream = [("x0", "a"), ("x1", "b", 2.0), ("x2", ["c"]), ("x3", [])]
    last(progressive(model, stream, delay=2))
    assert model.calls == [
        ("predict", "x0"),
        ("predict", "x1"),
        ("predict", "x2"),
        ("learn", "x0"),  # after two further examples were predicted
        ("predict", "x3"),
        ("learn", "x1", 2.0),
        ("learn", "x2"),  # at the end: the pending ones
        ("learn", "x3"),
    ]


def test_a_report_comes_after_its_last_example_was_learnt() -> None:
    model = OnlinePLT()
    n_learnt = [model.n_examples for _ in progressive(model, make_stream(25), every=10)]
    assert n_learnt == [10, 20, 25]
    model = OnlinePLT()
    n_learnt = [model.n_examples for _ in progressive(model, make_stream(25), every=10, delay=4)]
    assert n_learnt == [6, 16, 25]


def test_ages_and_frequencies_by_hand() -> None:
    """The parrot, k = 1, says what came last: nothing, a, b, b, a, a."""
    stream = [({}, labels) for labels in ("a", "b", ["b"], ["c", "a"], ["a"], [])]
    report = last(progressive(Parrot(), stream, k=1, window=2, frequencies=(1, 2)))

    # t  predicted  true  occurrences before (age)
    # 0  -          a     a 0 (0)
    # 1  a          b     a 1 (1), b 0 (0)
    # 2  b          b     b 1 (1), found
    # 3  b          c a   b 2 (2), c 0 (0), a 1 (3)
    # 4  a          a     a 2 (4), found
    # 5  a          -     a 3 (5)
    assert report.total["P@1"] == 2 / 6
    assert report.window["P@1"] == 1 / 2
    assert report.by_occurrences == (
        Bucket(0, 1, n_true=3, n_predicted=0, n_hits=0),
        Bucket(1, 2, n_true=2, n_predicted=2, n_hits=1),
        Bucket(2, 4, n_true=1, n_predicted=3, n_hits=1),
    )
    assert report.by_age == (
        Bucket(0, 1, n_true=3, n_predicted=0, n_hits=0),
        Bucket(1, 2, n_true=1, n_predicted=2, n_hits=1),
        Bucket(2, 4, n_true=1, n_predicted=1, n_hits=0),
        Bucket(4, 8, n_true=1, n_predicted=2, n_hits=1),
    )
    assert report.tail == Bucket(0, 1, n_true=3, n_predicted=0, n_hits=0)
    assert report.torso == Bucket(1, 2, n_true=2, n_predicted=2, n_hits=1)
    assert report.head == Bucket(2, None, n_true=1, n_predicted=3, n_hits=1)
    assert (report.torso.recall, report.torso.precision) == (1 / 2, 1 / 2)
    assert report.tail.recall == 0
    assert math.isnan(report.tail.precision)
    assert (report.n_labels, report.new_labels, report.window_new_labels) == (3, 3 / 6, 0)


def test_the_rate_of_new_labels_in_the_window() -> None:
    stream = [({}, ["a"]), ({}, ["a"]), ({}, ["b", "c"]), ({}, ["c", "c"])]
    reports = progressive(Parrot(), stream, window=2, every=2)
    assert [(r.new_labels, r.window_new_labels) for r in reports] == [(1 / 2, 1 / 2), (3 / 4, 2 / 2)]


def test_an_empty_stream_has_one_report_of_nothing() -> None:
    (report,) = progressive(OnlinePLT(), [])
    assert (report.n_examples, report.n_labels, report.by_age) == (0, 0, ())
    assert math.isnan(report.total["P@1"])
    assert math.isnan(report.new_labels)
    assert str(report) == "0 examples, 0 labels: P@1 nan, P@3 nan, P@5 nan"


@pytest.mark.parametrize("form", [sp.csr_array, np.asarray])
def test_matrices_are_learnt_as_learn_many_learns_them(form: Any) -> None:
    rng = np.random.default_rng(0)
    X = form(rng.integers(0, 3, (40, 8)) / 3)
    Y = form((rng.random((40, 6)) < 0.3).astype(np.float32))
    model, expected = OnlinePLT(), OnlinePLT()
    report = last(progressive(model, (X, Y), every=16))
    expected.learn_many(X, Y)
    assert report.n_examples == 40
    assert model.fingerprint() == expected.fingerprint()


COLUMNS = {"text": ["It purrs", "It barks", "purrs"], "label": ["cat", "dog", "cat"], "size": [1.0, 3.0, 1.5]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_and_labels_come_as_lists_or_columns(frame: Any) -> None:
    expected = OnlinePLT(features="text")
    expected.learn_many(COLUMNS["text"], COLUMNS["label"])
    table = frame(COLUMNS)
    for X, Y in ((COLUMNS["text"], COLUMNS["label"]), (table["text"], table["label"])):
        model = OnlinePLT(features="text")
        assert last(progressive(model, (X, Y))).n_examples == 3
        assert model.fingerprint() == expected.fingerprint()
    last(
        progressive(
            by_frame := OnlinePLT(), (table.select(["size"]) if frame is pa.table else table[["size"]], table["label"])
        )
    )
    assert by_frame.n_features == 1


def test_mappings_and_labels_come_as_lists() -> None:
    model = OnlinePLT()
    report = last(progressive(model, ([{"a": 1.0}, {"b": 1.0}, {"a": 2.0}], ["x", ["y", "z"], []])))
    assert (report.n_examples, model.n_labels, model.n_features) == (3, 3, 2)


def test_names_of_columns_reach_a_model_as_plain_integers() -> None:
    model = Parrot()
    last(progressive(model, (np.eye(3), np.eye(3, dtype=int))))
    assert [x for kind, x in model.calls if kind == "learn"] == [{0: 1.0}, {1: 1.0}, {2: 1.0}]
    assert {type(label) for label in model.said} == {type(name) for _, x in model.calls for name in x} == {int}


def test_labels_in_an_iterator_are_scored_and_learnt() -> None:
    model = OnlinePLT()
    report = last(progressive(model, (({"x": 1.0}, iter(["a", "b"])) for _ in range(3)), k=2))
    assert model.n_labels == report.n_labels == 2
    assert report.total["P@2"] == 2 / 3


def test_measures_are_at_1_3_5_and_k() -> None:
    names = last(progressive(Parrot(), [({}, "a")], k=4)).total
    assert [name for name in names if name.startswith("P@")] == ["P@1", "P@3", "P@4"]


def test_a_model_that_says_too_much_is_cut() -> None:
    class Chatty(Parrot):
        def predict_one(self, x: Any, k: int) -> list[tuple[Label, float]]:
            return super().predict_one(x, k + 10)

    stream = [({}, ["a", "b", "c"]), ({}, ["a"])]
    report = last(progressive(Chatty(), stream, k=1))
    assert sum(bucket.n_predicted for bucket in report.by_age) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 0},
        {"window": 0},
        {"every": 0},
        {"delay": -1},
        {"frequencies": (5, 5)},
        {"frequencies": (0, 5)},
        {"frequencies": 5},
        {"frequencies": (1, 5, 10)},
        {"frequencies": None},
    ],
)
def test_bad_settings_are_refused_at_once(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        progressive(OnlinePLT(), [], **settings)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            {"x": 1.0},
            r"example 1 of the stream: an example must be \(x, labels\) or \(x, labels, weight\), got \{'x': 1.0\}",
        ),
        (
            ({"x": 1.0},),
            r"example 1 of the stream: an example must be \(x, labels\) or .*, got \(\{'x': 1.0\},\)",
        ),
        (({"x": 1.0}, [""]), "example 1 of the stream: label 0 must be a non-empty string.*got an empty string"),
        (
            ({"x": 1.0}, "a", 0),
            r"example 1 of the stream: the weight must be a number above 0 and at most 1e\+06, got 0",
        ),
        (
            ({"x": 1.0}, "a", "2"),
            r"example 1 of the stream: the weight must be a number above 0 and at most 1e\+06, got '2'",
        ),
        (
            ({"x": 1.0}, "a", None),
            r"example 1 of the stream: the weight must be a number above 0 and at most 1e\+06, got None",
        ),
    ],
)
def test_a_bad_example_is_named_and_neither_predicted_nor_learnt(example: Any, message: str) -> None:
    model = Parrot()
    with pytest.raises(InvalidInputError, match=message):
        last(progressive(model, [({}, "a"), example]))
    assert model.calls == [("predict", {}), ("learn", {})]


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("value", [float("nan"), None])
def test_what_a_model_refuses_is_named_by_its_place_in_the_stream(value: Any, delay: int) -> None:
    stream = [({"x": 1.0}, "a"), ({"x": 1.0}, "b"), ({"x": value}, "c")]
    with pytest.raises(
        InvalidInputError, match=r"^example 2 of the stream: the value of feature 'x' must be .*, got (nan|None)"
    ):
        last(progressive(OnlinePLT(), stream, delay=delay))


def test_an_example_that_cannot_be_learnt_is_named_though_later_ones_were_predicted() -> None:
    class Picky(Parrot):
        def learn_one(self, _: Any, labels: Any, **__: float) -> None:
            if labels == "c":
                raise InvalidInputError("no-reason", "not this one")

    with pytest.raises(InvalidInputError, match="^example 2 of the stream: not this one"):
        last(progressive(Picky(), [({}, label) for label in "abcdef"], delay=2))


class Mute:
    def predict_one(self, _: Any, k: int) -> list[Any]:
        return [None] * k


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (5, r"has the method predict_one\(x, k\), got int"),
        (Mute(), r"has the method learn_one\(x, labels\), got Mute"),
        (
            OnlinePLT,
            r"model must be an object that has the method predict_one\(x, k\), got the class OnlinePLT. Pass an",
        ),
    ],
)
def test_what_is_no_model_is_refused_at_once(model: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        progressive(model, [])


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (5, r"such as zip\(X, Y\), or a tuple \(X, Y\), got int"),
        ({"x": "a"}, "got dict"),
        ("xa", "got str"),
        (np.eye(2), "got ndarray"),
        (sp.csr_array(np.eye(2)), "got csr_array"),
        ((np.eye(2), ["a"]), "X has 2 rows but Y has 1"),
        ((["a text", "another", "a third"], ["a", "b"]), "X has 3 rows but Y has 2"),
        ((["a text", 5], ["a", "b"]), "row 1 of X must be a text"),
        ((np.array([[1.0, np.nan]]), ["a"]), r"the value of feature 1 must be finite and at most 1e\+12.*, got nan"),
    ],
)
def test_what_is_no_stream_is_refused_at_once(stream: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        progressive(OnlinePLT(), stream)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"must be a list of \(label, probability\), got None"),
        ({"ab": 1.0}, r"must be a list of \(label, probability\), got {'ab': 1.0}"),
        (["a", "b"], r"must be a list of \(label, probability\), got \['a', 'b'\]"),
        ([("a", "high")], "must be a list of"),
        ([("a", 0.5), (None, 0.4)], "what predict_one returns: label 1 must be a non-empty string.*got None"),
        ([("a", 0.5), ("a", 0.4)], "each label once and no NaN, got .*'a', 0.4"),
        ([("a", float("nan"))], "each label once and no NaN"),
    ],
)
def test_an_answer_in_another_form_is_refused_where_it_is_given(answer: Any, message: str) -> None:
    class Odd(Parrot):
        def predict_one(self, x: Any, k: int) -> Any:
            return answer if len(self.said) == 2 else super().predict_one(x, k)

    with pytest.raises(InvalidInputError, match=f"^example 2 of the stream: .*{message}"):
        last(progressive(Odd(), [({}, label) for label in "abc"]))

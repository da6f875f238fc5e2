# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oplt import InvalidInputError, InvalidParameterError, MissingPackageError, Predictions

ROWS = [[("a", 0.75), (2, 0.5)], [], [("b", 0.25)], [("c", 1.0), ("a", 0.5), ("d", 0.0)]]
FOUND = Predictions.from_rows(ROWS, n_examples=7)

PLACES = st.none() | st.integers(-6, 6)


def test_rows_there_and_back() -> None:
    assert list(FOUND) == ROWS
    assert [FOUND[i] for i in range(-4, 4)] == ROWS * 2
    assert (len(FOUND), FOUND.n_examples, repr(FOUND)) == (4, 7, "<Predictions for 4 examples: 6 labels>")
    for outside in (4, -5):
        with pytest.raises(IndexError, match=f"row {outside} of 4 predictions"):
            FOUND[outside]


@given(start=PLACES, stop=PLACES, step=PLACES.filter(lambda step: step != 0))
def test_a_slice_is_the_predictions_for_some_examples(start: int | None, stop: int | None, step: int | None) -> None:
    some = FOUND[start:stop:step]
    assert list(some) == ROWS[start:stop:step]
    assert some.n_examples == 7
    assert (some.scores.dtype, some.indptr.dtype) == (FOUND.scores.dtype, FOUND.indptr.dtype)


def test_rows_come_from_iterators_with_numbers_of_any_kind() -> None:
    def rows() -> Iterator[Any]:
        yield iter([("a", np.float32(0.5)), ["b", 1]])
        yield ()

    assert list(Predictions.from_rows(rows())) == [[("a", 0.5), ("b", 1.0)], []]


def test_infinite_scores_are_ranked_as_such() -> None:
    assert Predictions.from_rows([[("a", 1e300), ("b", -np.inf)]])[0] == [("a", np.inf), ("b", -np.inf)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (5, r"rows must be lists of \(label, probability\), one for each example, got 5"),
        ([("a", 0.5)], r"row 0 must be a list of \(label, probability\), got \('a', 0.5\)"),
        ([[], {"ab": 0.5}], "row 1 must be a list of .* got {'ab': 0.5}"),
        ([["a"]], r"row 0 must be a list of .* got \['a'\]"),
        ([[("a", "0.5")]], "row 0 must be a list of"),
        ([[("a", 0.5, 1)]], "row 0 must be a list of"),
        ([3], "row 0 must be a list of .* got 3"),
        ([[("a", 0.5)], [("b", 0.5), ("c", float("nan"))]], "the score of label 'c' must be a number"),
    ],
)
def test_rows_of_another_form_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Predictions.from_rows(rows)


LABELS, SCORES, INDPTR = np.array(["a", "b"], dtype=object), np.ones(2, dtype=np.float32), np.array([0, 1, 2])


@pytest.mark.parametrize(
    ("labels", "scores", "indptr", "message"),
    [
        (["a", "b"], SCORES, INDPTR, "labels of predictions must be a 1-D array of objects.* Predictions.from_rows"),
        (LABELS, SCORES.reshape(1, 2), INDPTR, "scores of predictions must be a 1-D array of floats"),
        (LABELS, SCORES, INDPTR.astype(float), "indptr of predictions must be a 1-D array of integers"),
        (LABELS, SCORES[:1], INDPTR, "2 labels but 1 scores"),
        (LABELS, SCORES, INDPTR[:0], "indptr must increase from 0 to the number of labels, 2"),
        (LABELS, SCORES, INDPTR[1:], "indptr must increase"),
        (LABELS, SCORES, INDPTR[:2], "indptr must increase"),
        (LABELS, SCORES, np.array([0, 3, 2]), r"indptr must increase .* got array\(\[0, 3, 2\]\)"),
        (LABELS, np.array([1, np.nan]), INDPTR, "the score of label 'b' must be a number"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(labels: Any, scores: Any, indptr: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Predictions(labels, scores, indptr, 0)


def test_a_negative_number_of_examples_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="n_examples must be at least 0, got -1"):
        Predictions.from_rows([], n_examples=-1)


def test_dicts_have_labels_and_probabilities() -> None:
    assert FOUND.to_dicts() == [dict(row) for row in ROWS]
    assert list(FOUND.to_dicts()[3]) == ["c", "a", "d"]  # most probable first


def test_a_matrix_has_a_column_for_each_label() -> None:
    matrix, labels = FOUND.to_csr()
    assert labels == ["a", 2, "b", "c", "d"]
    assert matrix.shape == (4, 5)
    assert matrix.dtype == np.float32
    assert matrix.nnz == len(FOUND.labels)  # including those of probability 0
    assert matrix.toarray().tolist() == [[dict(row).get(label, 0) for label in labels] for row in ROWS]
    wider, given_labels = FOUND.to_csr(labels=["z", "d", "c", "b", 2, "a"])
    assert given_labels == ["z", "d", "c", "b", 2, "a"]
    assert wider.toarray()[:, :0:-1].tolist() == matrix.toarray().tolist()
    matrix.data[:] = 7
    assert FOUND.scores.max() == 1  # it is a copy
    empty, none = Predictions.from_rows([[], []]).to_csr()
    assert (empty.shape, none) == ((2, 0), [])


def test_columns_must_be_those_of_the_predicted_labels() -> None:
    with pytest.raises(InvalidInputError, match="label 2 is not among the 2 labels") as raised:
        FOUND.to_csr(labels=["a", "b"])
    assert raised.value.code == "unknown-label"
    with pytest.raises(InvalidInputError, match="the labels of the columns must be distinct, got 'a' twice"):
        FOUND.to_csr(labels=["a", "b", "a"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], []])
def test_a_frame_has_a_row_for_each_predicted_label(backend: str, labels: list[Any]) -> None:
    pytest.importorskip(backend)
    frame = Predictions.from_rows([[], [(label, 0.5) for label in labels], []]).to_frame(backend)
    assert type(frame).__module__.partition(".")[0] == backend
    found = frame.to_pydict() if backend == "pyarrow" else {name: list(frame[name]) for name in frame.columns}
    assert found == {"example": [1] * len(labels), "label": labels, "probability": [0.5] * len(labels)}


def test_a_frame_without_rows_has_columns_of_the_usual_types() -> None:
    schemas = [nw.from_native(Predictions.from_rows(rows).to_frame("polars")).schema for rows in ([[]], [[("a", 0.5)]])]
    assert schemas[0] == schemas[1]


def test_labels_of_both_kinds_are_for_pandas_only() -> None:
    assert FOUND.to_frame()["label"].tolist() == ["a", 2, "b", "c", "a", "d"]
    with pytest.raises(InvalidInputError, match="some labels are strings and others integers.* polars") as raised:
        FOUND.to_frame("polars")
    assert raised.value.code == "label-types-mixed"


def test_a_frame_of_another_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidParameterError, match="backend must be one of 'pandas', 'polars', 'pyarrow', got 'dask'"):
        FOUND.to_frame("dask")

    def not_installed(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError

    monkeypatch.setattr(nw, "from_dict", not_installed)
    with pytest.raises(MissingPackageError, match=r"the package polars.* \(pip install polars\)"):
        Predictions.from_rows([[("a", 0.5)]]).to_frame("polars")

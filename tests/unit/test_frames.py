# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Frames of pandas, Polars and Arrow give the same model as plain lists."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from oplt import InvalidInputError, OnlinePLT
from oplt.features import join

Make = Callable[[dict[str, Any]], Any]


def arrow(columns: dict[str, Any]) -> Any:
    return pa.table(columns)


def polars(columns: dict[str, Any]) -> Any:
    return pl.DataFrame(columns, strict=False)


LIBRARIES = pytest.mark.parametrize("make", [pd.DataFrame, polars, arrow], ids=["pandas", "polars", "arrow"])


def learnt(X: Any, Y: Any, weights: Any = None) -> str:
    model = OnlinePLT()
    model.learn_many(X, Y, weights=weights)
    return model.fingerprint()


def refused(X: Any, Y: Any, weights: Any = None) -> str:
    with pytest.raises(InvalidInputError) as caught:
        learnt(X, Y, weights)
    return str(caught.value)


ROWS = [{"a": 1.0, "b": 1.0}, {"a": 2.0, "c": -0.5}, {"c": 3.0, "b": 1.0}]
COLUMNS = {"a": [1, 2, None], "b": [True, False, True], "c": [0.0, -0.5, 3.0]}


@LIBRARIES
def test_columns_are_features_and_labels(make: Make) -> None:
    frame = make({**COLUMNS, "label": ["x", "y", "x"], "n": [1.0, 0.5, 2.0]})
    X = frame.select(["a", "b", "c"]) if hasattr(frame, "select") else frame[["a", "b", "c"]]
    assert learnt(X, frame["label"], frame["n"]) == learnt(ROWS, ["x", "y", "x"], [1.0, 0.5, 2.0])


@LIBRARIES
def test_a_column_may_hold_lists_of_labels(make: Make) -> None:
    lists = [["x", "y"], [], ["z"]]
    frame = make({**COLUMNS, "labels": lists})
    X = make(COLUMNS)
    assert learnt(X, frame["labels"]) == learnt(ROWS, lists)
    assert learnt(X, make({"labels": lists})) == learnt(ROWS, lists)  # a frame of one column
    assert learnt(X, make({"label": [3, 1, 3]})["label"]) == learnt(ROWS, [3, 1, 3])


@LIBRARIES
def test_columns_of_zeros_and_ones_are_indicators(make: Make) -> None:
    Y = make({"sports": [1, 0, 1], "politics": [False, False, True]})
    assert learnt(make(COLUMNS), Y) == learnt(ROWS, [["sports"], [], ["politics", "sports"]])
    wrong = make({"sports": [1, 0, 2], "politics": [0, 0, 1]})
    assert "row 2, column 0 of Y: a matrix of labels must contain only 0 and 1, got 2.0" in refused(
        make(COLUMNS), wrong
    )
    unknown = make({"sports": [1, 0, 1], "politics": [0, None, 1]})  # a missing value is not a negative label
    message = refused(make(COLUMNS), unknown)
    assert message.startswith("row 1 of column 'politics' of Y: the value is null. Drop the row, or fill in 0 if")


CATEGORICAL = {
    pd.DataFrame: lambda values: pd.DataFrame({"k": pd.Categorical(values)}),
    polars: lambda values: pl.DataFrame({"k": pl.Series(values, dtype=pl.Categorical)}),
    arrow: lambda values: pa.table({"k": pa.array(values).dictionary_encode()}),
}


@LIBRARIES
def test_categories_are_features(make: Make) -> None:
    frame = CATEGORICAL[make](["red", None, "blue"])
    same = learnt([{"k=red": 1}, {}, {"k=blue": 1}], ["blue", "x", "red"])
    assert learnt(frame, ["blue", "x", "red"]) == same
    labels = CATEGORICAL[make](["red", "blue", "red"])
    assert learnt(ROWS, labels["k"]) == learnt(ROWS, labels) == learnt(ROWS, ["red", "blue", "red"])


@LIBRARIES
def test_lists_of_numbers_are_features(make: Make) -> None:
    frame = make({"e": [[0.5, 1.0], None, [2.0]], "a": [1, 2, 3]})
    rows = [{"e[0]": 0.5, "e[1]": 1.0, "a": 1}, {"a": 2}, {"e[0]": 2.0, "a": 3}]
    assert learnt(frame, ["x", "y", "z"]) == learnt(rows, ["x", "y", "z"])


@LIBRARIES
def test_nulls(make: Make) -> None:
    nothing = make({"a": [None, 1.0], "b": [None, True]})
    assert learnt(nothing, ["x", "y"]) == learnt([{}, {"a": 1, "b": 1}], ["x", "y"])
    with_null = make({"labels": ["x", None, "y"], "n": [1.0, None, 1.0]})
    message = "row 1 of {}: the value is null. Drop the row, or fill in {}."
    assert refused(ROWS, with_null["labels"]) == message.format("Y", "[] if there are no labels")
    assert refused(ROWS, ["x", "y", "z"], with_null["n"]) == message.format("weights", "what it should be")


@pytest.mark.parametrize("make", [polars, arrow])
def test_nan_is_no_null(make: Make) -> None:
    frame = make({"a": [1.0, float("nan")]})
    assert refused(frame, ["x", "y"]).startswith("row 1 of X: the value of feature 'a' must be finite")


@LIBRARIES
def test_values_that_are_too_large_are_refused_by_the_name_of_the_column(make: Make) -> None:
    message = "row 1 of X: the value of feature 'b' must be finite and at most 1e+12 in size, got 2e+12"
    assert refused(make({"a": [1.0, 1.0], "b": [1.0, 2e12]}), ["x", "y"]) == message
    assert refused(make({"b": np.array([2**64 - 1], dtype=np.uint64)}), ["x"]).startswith(
        ("row 0 of X: the value of feature 'b' must be", "column 'b' of X: the column has integers beyond")
    )


def test_what_to_do_with_columns_that_are_no_features() -> None:
    objects = pd.DataFrame({"a": pd.Series([1, 2.5], dtype=object)})
    assert "numbers, categories or lists of numbers, got the type Object" in refused(objects, ["x", "y"])
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(np.eye(2)))
    assert "got the type Unknown. If it is sparse, make it dense or pass df.sparse.to_coo()" in refused(sparse, "xy")


@LIBRARIES
def test_what_is_no_feature_is_refused(make: Make) -> None:
    assert "numbers, categories or lists of numbers, got the type String" in refused(make({"t": ["a"]}), ["x"])
    dates = make({"t": [datetime.datetime(2026, 1, 1)]})  # noqa: DTZ001
    assert "got the type Datetime" in refused(dates, ["x"])
    assert "X is a single column. Pass a frame, such as df[['name']]" in refused(make({"t": [1]})["t"], ["x"])
    assert "row 0 of column 't' of X: a list that is a feature must hold numbers, got ['a']" in refused(
        make({"t": [["a"]]}), ["x"]
    )


@LIBRARIES
def test_labels_that_can_be_misunderstood_are_refused(make: Make) -> None:
    message = refused(ROWS, make({"label": [0, 1, 1]}))
    assert message == "Y is a frame with one column of numbers. Pass the column itself, df['label']."
    assert "Y must be one column, but it has the columns ['a', 'b']. Pass one of them" in refused(
        ROWS, make({"a": ["x"] * 3, "b": ["y"] * 3})
    )
    assert "row 0 of Y: label 0 must be a non-empty string or an integer, got 1.5" in refused(
        ROWS, make({"label": [1.5, 1.0, 2.0]})["label"]
    )
    assert "X has 3 rows but Y has 2" in refused(ROWS, make({"label": ["a", "b"]})["label"])


def test_other_things_of_these_libraries() -> None:
    assert learnt(ROWS, pd.Index(["a", "b", "c"])) == learnt(ROWS, ["a", "b", "c"])
    assert learnt(ROWS, pd.Categorical(["a", "b", "a"])) == learnt(ROWS, ["a", "b", "a"])
    assert learnt(ROWS, pa.array(["a", "b", "c"])) == learnt(ROWS, ["a", "b", "c"])
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert learnt(batch, ["x", "y"]) == learnt([{"a": 1}, {"a": 2}], ["x", "y"])
    assert learnt(pd.Series(ROWS), ["a", "b", "c"]) == learnt(ROWS, ["a", "b", "c"])
    assert "got polars" in refused(pl.LazyFrame(COLUMNS), ["a", "b", "c"])
    assert "X must be a frame or a column of one, got polars.lazyframe.frame.LazyFrame" in refused(
        pl.LazyFrame(COLUMNS), ["a", "b", "c"]
    )


def test_columns_called_by_numbers_are_those_of_a_matrix() -> None:
    matrix = np.array([[1.0, 0.0], [0.5, 2.0]])
    assert learnt(pd.DataFrame(matrix), ["x", "y"]) == learnt(matrix, ["x", "y"])


def test_prediction_takes_frames_with_other_columns_and_any_index() -> None:
    model = OnlinePLT()
    model.learn_many(pd.DataFrame(COLUMNS, index=[7, 7, 9]), pd.Series(["x", "y", "z"], index=[1, 2, 3]))
    frame = pl.DataFrame({"c": [3.0], "new": [1]})
    assert model.predict_many(frame)[0] == model.predict_one({"c": 3.0, "new": 1.0})


def test_two_columns_of_one_name_are_refused() -> None:
    twice = refused(pd.DataFrame([[1, 2]], columns=["a", "a"]), ["x"])
    assert twice == "X: two columns have the same name, 'a'. Rename or drop one of them."
    assert "X: column 0 must be a non-empty string or an integer, got ('a', 1)" in refused(
        pd.DataFrame({("a", 1): [1]}), ["x"]
    )


def test_an_empty_frame() -> None:
    assert learnt(pd.DataFrame({"a": []}), pd.Series([], dtype=str)) == OnlinePLT().fingerprint()


def test_narwhals_is_imported_only_for_frames() -> None:
    code = "import sys, oplt; oplt.OnlinePLT().learn_many([{'a': 1}], ['x']); print('narwhals' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603
    assert done.stdout.strip() == "False"


def test_features_of_several_kinds_are_joined() -> None:
    words = [{"heap": 1.0, 3: 0.5}, {}, {"image:0": 1.0}]
    images = sp.csr_array([[0.0, 2.0], [1.0, 0.0], [4.0, 0.0]])
    frame = pd.DataFrame({"price": [1, 2, 0]})
    rows = [
        {"heap": 1.0, 3: 0.5, "image:1": 2.0, "f:price": 1.0},
        {"image:0": 1.0, "f:price": 2.0},
        {"image:0": 5.0},
    ]
    joined = join(words, image=images, f=frame)
    assert len(joined) == 3
    assert learnt(joined, ["x", "y", "z"]) == learnt(rows, ["x", "y", "z"])


def test_what_is_joined_must_fit() -> None:
    with pytest.raises(InvalidInputError, match="parts to join must have the same number of rows, got 1, 2"):
        join([{"a": 1}], b=np.eye(2))
    with pytest.raises(InvalidInputError, match="the same number of rows, got none"):
        join()


# --- Texts ------------------------------------------------------------------------------------------------------------


@LIBRARIES
def test_a_column_of_texts_is_for_a_model_that_takes_texts(make: Make) -> None:
    texts, labels = ["heap overflow", "script injection", "heap"], ["x", "y", "x"]
    frame = make({"text": texts, "label": labels})
    model, expected = OnlinePLT(features="text"), OnlinePLT(features="text")
    model.learn_many(frame["text"], frame["label"])
    expected.learn_many(texts, labels)
    assert model.fingerprint() == expected.fingerprint()
    assert list(model.predict_many(make({"text": texts}))) == list(expected.predict_many(texts))


@LIBRARIES
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"title": ["a", "b"], "label": ["x", "y"]},
            r"X must be one column, but it has the columns \['title', 'label'\]",
        ),
        ({"text": ["a", "b"], "label": ["x", "y"]}, "column 'label' of X: the column must hold numbers, categories"),
        ({"text": ["a", None]}, "row 1 of X: the value is null. Drop the row, or fill in what it should be."),
        ({"list": [["a"], ["b"]]}, r"row 0 of X must be a text \(str\)"),
    ],
    ids=["several columns", "a column of strings", "a null", "no texts"],
)
def test_what_is_no_column_of_texts_is_refused(make: Make, columns: dict[str, Any], message: str) -> None:
    model = OnlinePLT(features="text")
    with pytest.raises(InvalidInputError, match=message):
        model.predict_many(make(columns))

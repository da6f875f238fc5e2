# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A BatchPredictor adds what predict_many returns to tables of all kinds, and opens a model once per process."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oplt import PLT, InvalidInputError, InvalidParameterError, OnlinePLT
from oplt.batch_prediction import BatchPredictor, _open
from oplt.thresholds import Thresholds

TEXTS = ["Heap overflow in the kernel", "Script injection in a form", "Use after free", "Form of the log"]
LABELS = [["kernel", "memory"], ["web"], ["memory"], []]
FEATURES = [{1: 1.0, 2: 0.5}, {}, {3: 2.0}, {1: 0.25, 3: 1.0}]

KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": lambda columns: pd.DataFrame(columns, index=range(7, 7 + len(next(iter(columns.values()))))),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = OnlinePLT(features="text")
    model.learn_many(TEXTS, LABELS)
    model.save(tmp_path / "tags.oplt")
    return tmp_path / "tags.oplt"


@pytest.fixture
def path_of_features(tmp_path: Path) -> Path:
    model = OnlinePLT()
    model.learn_many(FEATURES, [[10, 20], [], [30], [10]])
    model.save(tmp_path / "numbers.oplt")
    return tmp_path / "numbers.oplt"


def column(batch: Any, name: str) -> list[Any]:
    values = batch[name]
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values.to_list())


def rows(batch: Any) -> list[list[tuple[Any, float]]]:
    pairs = zip(column(batch, "predicted_labels"), column(batch, "probabilities"), strict=True)
    return [list(zip(labels, scores, strict=True)) for labels, scores in pairs]


@pytest.mark.parametrize("options", [{}, {"k": 1}, {"threshold": 0.3}, {"k": 3, "beam": 1, "deny": ["web"]}])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_predicted_as_by_predict_many(path: Path, kind: str, options: dict[str, Any]) -> None:
    batch = KINDS[kind]({"id": [1, 2, 3, 4], "text": TEXTS})
    found = BatchPredictor(path, "text", **options)(batch)
    assert type(found) is type(batch)
    assert rows(found) == list(PLT.load(path).predict_many(TEXTS, **options))
    assert column(found, "id") == [1, 2, 3, 4]
    assert column(found, "text") == TEXTS


def test_a_pandas_frame_keeps_its_index(path: Path) -> None:
    batch = KINDS["pandas"]({"text": TEXTS})
    assert BatchPredictor(path)(batch).index.equals(batch.index)


@pytest.mark.parametrize(
    "batch",
    [
        pd.DataFrame({"x": FEATURES}),
        pd.DataFrame({"x": [list(row.items()) for row in FEATURES]}),
        pa.table({"x": pa.array([list(row.items()) for row in FEATURES], pa.map_(pa.int64(), pa.float64()))}),
    ],
    ids=["mappings", "pairs", "Arrow map"],
)
def test_sparse_features_are_predicted_as_by_predict_many(path_of_features: Path, batch: Any) -> None:
    found = BatchPredictor(path_of_features, "x", k=2)(batch)
    assert rows(found) == list(PLT.load(path_of_features).predict_many(FEATURES, k=2))


def test_a_batch_of_rows_without_features(path_of_features: Path) -> None:
    batch = pa.table({"x": pa.array([[], []], pa.map_(pa.int64(), pa.float64()))})
    expected = PLT.load(path_of_features).predict_many([{}, {}], k=2)
    assert rows(BatchPredictor(path_of_features, "x", k=2)(batch)) == list(expected)


def test_absent_fields_of_structs_are_absent_features(tmp_path: Path) -> None:
    model = OnlinePLT()
    model.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    model.save(tmp_path / "m.oplt")
    batch = pa.table({"features": [{"a": 1.0, "b": None}, {"a": None, "b": 2.0}]})
    found = BatchPredictor(tmp_path / "m.oplt", "features")(batch)
    assert rows(found) == list(model.predict_many([{"a": 1.0}, {"b": 2.0}]))


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_numbers_are_rows_of_a_matrix(tmp_path: Path, kind: str) -> None:
    X = np.array([[0.5, 1.0], [2.0, 0.25], [1.0, 0.0]])
    model = OnlinePLT()
    model.learn_many(X, ["a", "b", "a"])
    model.save(tmp_path / "m.oplt")
    found = BatchPredictor(tmp_path / "m.oplt", "embedding")(KINDS[kind]({"embedding": X.tolist()}))
    assert rows(found) == list(model.predict_many(X))


@pytest.mark.parametrize("kind", KINDS)
def test_several_columns_are_features_together(tmp_path: Path, kind: str) -> None:
    columns = {"width": [2.0, 40.0], "striped": [True, False], "id": [1, 2]}
    batch = KINDS[kind](columns)
    model = OnlinePLT()
    frame = pd.DataFrame(columns)[["width", "striped"]]
    model.learn_many(frame, ["cat", "cow"])
    model.save(tmp_path / "m.oplt")
    found = BatchPredictor(tmp_path / "m.oplt", ["width", "striped"])(batch)
    assert rows(found) == list(model.predict_many(frame))


@pytest.mark.parametrize("kind", ["polars", "arrow", "record batch"])
def test_the_types_of_the_new_columns_depend_on_the_model_alone(path: Path, path_of_features: Path, kind: str) -> None:
    batch = KINDS[kind]({"text": TEXTS, "x": [[0.0, 1.0, 0.5, 0.0]] * 4})
    for file, name in ((path, "text"), (path_of_features, "x")):
        full = BatchPredictor(file, name)(batch)
        for other in (BatchPredictor(file, name)(batch[:0]), BatchPredictor(file, name, threshold=1.0)(batch)):
            assert other.schema == full.schema
    assert "float" in str(full.schema).lower()
    assert "int64" in str(full.schema).lower()


def test_the_columns_of_a_pandas_frame_are_known_without_the_model(tmp_path: Path) -> None:
    found = BatchPredictor(tmp_path / "absent.oplt", k=1)(pd.DataFrame({"text": pd.Series([], dtype=str)}))
    assert list(found.columns) == ["text", "predicted_labels", "probabilities"]
    assert found.dtypes.iloc[1:].to_list() == [object, object]


def test_it_is_small_when_pickled_and_the_copy_predicts_the_same(path: Path) -> None:
    predict = BatchPredictor(path, threshold=Thresholds(0.25, {"web": 0.5}), allow=(name for name in ["web", "memory"]))
    batch = pd.DataFrame({"text": TEXTS})
    before = predict(batch)
    pickled = pickle.dumps(predict)
    assert len(pickled) < 1000
    assert rows(pickle.loads(pickled)(batch)) == rows(before) == rows(predict(batch))


def test_a_process_opens_a_file_once_and_again_when_it_is_replaced(path: Path) -> None:
    _open.cache_clear()
    for _ in range(3):
        BatchPredictor(path)(pd.DataFrame({"text": TEXTS}))
    assert _open.cache_info().misses == 1
    model = OnlinePLT.load(path)
    model.learn_many(["A new one"] * 3, ["new"] * 3)
    model.save(path)
    assert rows(BatchPredictor(path, k=1)(pd.DataFrame({"text": ["A new one"]})))[0][0][0] == "new"
    assert _open.cache_info().misses == 2


def test_tuned_thresholds_of_the_model_are_used(path: Path) -> None:
    PLT.load(path).with_thresholds(Thresholds(0.9)).save(path)
    found = BatchPredictor(path, threshold="tuned")(pd.DataFrame({"text": TEXTS}))
    assert rows(found) == list(PLT.load(path).predict_many(TEXTS, threshold=0.9))


def test_labels_of_two_types_need_pandas(tmp_path: Path) -> None:
    model = OnlinePLT(features="text")
    model.learn_many(TEXTS, [1, "one", 2, "two"])
    model.save(tmp_path / "m.oplt")
    predict = BatchPredictor(tmp_path / "m.oplt")
    assert rows(predict(pd.DataFrame({"text": TEXTS}))) == list(model.predict_many(TEXTS))
    with pytest.raises(InvalidInputError, match="must have one type. Let the engine pass pandas data frames"):
        predict(pa.table({"text": TEXTS}))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"text": np.array(TEXTS)}, "an Arrow record batch, got dict. With Ray Data, pass batch_format='pyarrow'"),
        (TEXTS, "an Arrow record batch, got list$"),
        (pd.Series(TEXTS), "the batch must be a frame, not one of its columns, got a column of 4 values"),
        (pd.DataFrame({"body": TEXTS}), "the batch has no column 'text', got the columns 'body'. Name the column"),
        (pa.table({"text": TEXTS, "probabilities": TEXTS}), "already has a column 'probabilities', .* into="),
        (pa.table({"text": ["a", None]}), "row 1 of column 'text' of the batch: the value is null"),
        (pa.table({"text": [1, 2]}), "column 'text' of the batch: .* must be a text"),
        (pa.table({"text": [[1.0], [2.0]]}), "column 'text' of the batch: .* must be a text"),
    ],
)
def test_bad_batches_are_refused_with_advice(path: Path, batch: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        BatchPredictor(path)(batch)


def test_bad_features_are_refused_with_their_row(path_of_features: Path) -> None:
    bad = {"x": [[(1, 1.0)], [(1, 1.0), (1, 2.0)]]}
    with pytest.raises(InvalidInputError, match="row 1 of column 'x' of the batch: a feature occurs twice"):
        BatchPredictor(path_of_features, "x")(pd.DataFrame(bad))
    with pytest.raises(InvalidInputError, match="row 0 of column 'x' of the batch: .* finite"):
        BatchPredictor(path_of_features, "x")(pd.DataFrame({"x": [{1: float("nan")}]}))


def test_a_missing_model_is_reported_with_the_machine(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=rf"absent.oplt' on the machine '{os.uname().nodename}'. Copy"):
        BatchPredictor(tmp_path / "absent.oplt")(pd.DataFrame({"text": TEXTS}))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("",), {}),
        (("m.oplt", 3), {}),
        (("m.oplt", []), {}),
        (("m.oplt", "text"), {"k": 0}),
        (("m.oplt", "text"), {"threshold": 2.0}),
        (("m.oplt", "text"), {"threshold": "best"}),
        (("m.oplt", "text"), {"beam": "wide"}),
        (("m.oplt", "text"), {"into": "labels"}),
        (("m.oplt", "text"), {"into": ("labels", "labels")}),
    ],
)
def test_bad_arguments_are_refused_before_a_job_starts(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        BatchPredictor(*arguments, **options)

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Dask predicts what predict_many does, in threads and in other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oplt import PLT, InvalidInputError, OnlinePLT
from oplt.batch_prediction import BatchPredictor

dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'dask[dataframe]'")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, about calls by Dask

TEXTS = [f"a text about {topic} and {other}" for topic in range(20) for other in range(5)]
FEATURES = [{topic: 1.0, 100 + other: 0.5} for topic in range(20) for other in range(5)]
SCHEDULERS = ["synchronous", "threads", "processes"]
SCHEMA = pa.schema(
    {"text": pa.string(), "predicted_labels": pa.list_(pa.string()), "probabilities": pa.list_(pa.float32())}
)


def saved(folder: Path, X: list[Any], **settings: Any) -> Path:
    model = OnlinePLT(**settings)
    model.learn_many(X, [f"topic-{text.split()[3]}" for text in TEXTS])
    model.save(folder / "topics.oplt")
    return folder / "topics.oplt"


def rows(found: pd.DataFrame) -> list[list[tuple[Any, float]]]:
    pairs = zip(found["predicted_labels"], found["probabilities"], strict=True)
    return [list(zip(labels, scores, strict=True)) for labels, scores in pairs]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_texts_are_predicted_as_by_predict_many(tmp_path: Path, scheduler: str) -> None:
    path = saved(tmp_path, TEXTS, features="text")
    predict = BatchPredictor(path, k=3)
    data = dd.from_pandas(pd.DataFrame({"text": TEXTS}, index=range(1000, 1000 + len(TEXTS))), npartitions=4)
    found = data.map_partitions(predict, meta=predict(data._meta)).compute(scheduler=scheduler)
    assert rows(found) == list(PLT.load(path).predict_many(TEXTS, k=3))
    assert found["text"].to_list() == TEXTS
    assert found.index.to_list() == list(range(1000, 1000 + len(TEXTS)))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_errors_arrive_as_they_are_raised(tmp_path: Path, scheduler: str) -> None:
    predict = BatchPredictor(saved(tmp_path, TEXTS, features="text"))
    data = dd.from_pandas(pd.DataFrame({"text": ["fine", None]}), npartitions=1)
    message = "row 1 of column 'text' of the batch: the value is null. Drop the row, or fill in what it should be"
    with pytest.raises(InvalidInputError, match=message) as caught:
        data.map_partitions(predict, meta=predict(data._meta)).compute(scheduler=scheduler)
    assert caught.value.code == "value-missing"


def test_a_copy_of_an_error_is_independent_of_it_although_dask_changes_how_errors_are_copied() -> None:
    error = InvalidInputError("some-code", "it is wrong", where="row 3")
    assert error.at("row 4").where == "row 4"
    assert error.where == "row 3"


def test_the_result_of_dask_can_be_written_as_parquet(tmp_path: Path) -> None:
    path = saved(tmp_path, TEXTS, features="text")
    predict = BatchPredictor(path, k=3)
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "texts.parquet")
    data = dd.read_parquet(tmp_path / "texts.parquet")
    found = data.map_partitions(predict, meta=predict(data._meta))
    found.to_parquet(tmp_path / "predicted", schema=SCHEMA, write_index=False)
    again = pd.read_parquet(tmp_path / "predicted")
    assert rows(again) == list(PLT.load(path).predict_many(TEXTS, k=3))


def test_features_are_predicted_as_by_predict_many(tmp_path: Path) -> None:
    path = saved(tmp_path, FEATURES)
    predict = BatchPredictor(path, "features", threshold=0.2)
    pairs = pa.array([list(row.items()) for row in FEATURES], pa.map_(pa.int64(), pa.float64()))
    pq.write_table(pa.table({"features": pairs}), tmp_path / "rows.parquet", row_group_size=40)
    data = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)
    assert data.npartitions == 3
    found = data.map_partitions(predict, meta=predict(data._meta)).compute(scheduler="synchronous")
    assert rows(found) == list(PLT.load(path).predict_many(FEATURES, threshold=0.2))

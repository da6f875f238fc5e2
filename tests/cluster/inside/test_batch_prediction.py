# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Ray Data predicts what predict_many does, on both nodes, with any number of actors or tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from oplt import PLT, OnlinePLT
from oplt.batch_prediction import BatchPredictor

pytestmark = pytest.mark.usefixtures("cluster")

TEXTS = [f"a text about {topic} and {other}" for topic in range(40) for other in range(25)]
BLOCK, BATCH = 125, 50  # rows


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = OnlinePLT(features="text")
    model.learn_many(TEXTS, [f"topic-{text.split()[3]}" for text in TEXTS])
    model.save(path := tmp_path_factory.mktemp("models") / "topics.oplt")
    return path


@pytest.fixture
def data() -> Any:
    """Return a dataset of several blocks."""
    import ray  # after the cluster has started

    table = pa.table({"row": range(len(TEXTS)), "text": TEXTS})
    return ray.data.from_arrow([table.slice(begin, BLOCK) for begin in range(0, len(TEXTS), BLOCK)])


def check(found: list[Any], model: PLT, **options: Any) -> None:
    rows = sorted(found, key=lambda row: row["row"])
    assert [row["text"] for row in rows] == TEXTS
    predicted = [list(zip(row["predicted_labels"], row["probabilities"], strict=True)) for row in rows]
    assert predicted == list(model.predict_many(TEXTS, **options))


def test_a_pool_of_actors_predicts_as_predict_many(path: Path, data: Any) -> None:
    import ray

    found = data.map_batches(
        BatchPredictor,
        fn_constructor_args=[path],
        fn_constructor_kwargs={"k": 3},
        batch_format="pyarrow",
        batch_size=BATCH,
        compute=ray.data.ActorPoolStrategy(size=2),
    )
    check(found.take_all(), PLT.load(path), k=3)


def test_each_node_predicts_as_predict_many(path: Path) -> None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    @ray.remote
    def predict(table: Any) -> tuple[str, Any]:
        return ray.get_runtime_context().get_node_id(), BatchPredictor(path, k=3)(table)

    nodes = [one["NodeID"] for one in ray.nodes() if one["Alive"]]
    placed = [predict.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)) for node in nodes]
    table = pa.table({"row": range(len(TEXTS)), "text": TEXTS})
    answers = ray.get([task.remote(table) for task in placed])
    assert [node for node, _ in answers] == nodes
    for _, found in answers:
        check(found.to_pylist(), PLT.load(path), k=3)


def test_tasks_predict_as_predict_many(path: Path, data: Any) -> None:
    predict = BatchPredictor(path, threshold=0.01)
    found = data.map_batches(predict, batch_format="pyarrow", batch_size=BATCH).take_all()
    check(found, PLT.load(path), threshold=0.01)


def test_pandas_batches_are_accepted(path: Path, data: Any) -> None:
    predict = BatchPredictor(path, k=1)
    found = data.map_batches(predict, batch_format="pandas").take_all()
    check(found, PLT.load(path), k=1)


def test_an_error_names_the_row_and_the_column(path: Path, data: Any) -> None:
    import ray

    bad = ray.data.from_arrow(pa.table({"text": ["fine", None]}))
    with pytest.raises(Exception, match="row 1 of column 'text' of the batch: the value is null"):
        bad.map_batches(BatchPredictor(path), batch_format="pyarrow").take_all()
    with pytest.raises(Exception, match="pass batch_format='pyarrow'"):
        data.map_batches(BatchPredictor(path)).take_all()

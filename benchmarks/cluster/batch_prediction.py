# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Ray Data and Dask predict a test set: equality with predict_many, speed, and memory of the workers.

Run: OPLT_DATA=<folder> python benchmarks/cluster/batch_prediction.py [--data nvd-cpe] [--workers 1 2 4]

A model learns the training set and is saved without what only training needs. The test set is written as Parquet files,
the features in a column of the type map. The time of an engine includes starting its workers and reading the files, but
not starting Ray. "workers" counts those that predicted; others may have been started, but found no work.

Memory is measured by each worker after each batch (/proc/PID/smaps); the table shows the last measurement of each
worker, on average: "mapped" is what it has mapped of the model file and touched (Rss), "its share" divides each page by
the number of processes that have it mapped (Pss), "private" is what no other process shares, and "all shares" is the
sum over all workers: what the mapped model takes on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
import data

from oplt import PLT, OnlinePLT
from oplt.batch_prediction import BatchPredictor
from tests.cluster.two_nodes import settings

K = 5
N_FILES = 16
BATCH = 1000  # rows


class Measured(BatchPredictor):
    """Writes the memory of the mapped model to a file of the process, after each batch."""

    def __call__(self, batch: Any) -> Any:
        """Predict a batch, then measure."""
        found = super().__call__(batch)
        parts = {"Rss": 0, "Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
        is_model = False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            name, _, value = line.partition(":")
            if "-" in name.split(" ")[0]:  # the first line of a mapping: its addresses, and the file
                is_model = line.endswith(str(self._path))
            elif is_model and name in parts:
                parts[name] += 1024 * int(value.split()[0])
        self._path.with_name(f"{os.getpid()}.json").write_text(json.dumps(parts))
        return found


def write_rows(X: Any, folder: Path) -> None:
    """Write the rows of a matrix as Parquet files: the number of the row, and its features."""
    pairs = pa.map_(pa.int64(), pa.float32())
    features = pa.MapArray.from_arrays(pa.array(X.indptr, pa.int32()), X.indices.astype("int64"), X.data.astype("f4"))
    table = pa.table({"row": pa.array(range(X.shape[0])), "features": features.cast(pairs)})
    folder.mkdir()
    size = -(-X.shape[0] // N_FILES)
    for number in range(N_FILES):
        pq.write_table(table.slice(number * size, size), folder / f"{number:02}.parquet")


def with_ray(path: Path, rows: Path, n_workers: int) -> list[Any]:
    """Predict with a pool of actors."""
    import ray

    # Ray may join small files to one block, which one actor would predict.
    found = (
        ray.data.read_parquet(str(rows))
        .repartition(N_FILES)
        .map_batches(
            Measured,
            fn_constructor_args=[path, "features"],
            fn_constructor_kwargs={"k": K},
            batch_format="pyarrow",
            batch_size=BATCH,
            compute=ray.data.ActorPoolStrategy(size=n_workers),
        )
    )
    return found.select_columns(["row", "predicted_labels", "probabilities"]).take_all()


def with_dask(path: Path, rows: Path, n_workers: int) -> list[Any]:
    """Predict in processes."""
    import dask.dataframe as dd

    predict = Measured(path, "features", k=K)
    frame = dd.read_parquet(rows)
    found = frame.map_partitions(predict, meta=predict(frame._meta))
    found = found[["row", "predicted_labels", "probabilities"]]
    return found.compute(scheduler="processes", num_workers=n_workers).to_dict("records")


def measure(name: str, run: Callable[[Path, Path, int], list[Any]], path: Path, rows: Path, expected: Any) -> None:
    """Print a line of the table, for one engine and one number of workers."""
    engine, n_workers = name.split()
    begin = time.perf_counter()
    found = sorted(run(path, rows, int(n_workers)), key=lambda row: row["row"])
    seconds = time.perf_counter() - begin
    pairs = [list(zip(row["predicted_labels"], row["probabilities"], strict=True)) for row in found]
    files = list(path.parent.glob("*.json"))
    memory = [one for one in (json.loads(file.read_text()) for file in files) if one["Rss"]]  # the others opened none
    for file in files:
        file.unlink()
    n = len(memory)
    rss, pss = (sum(one[part] for one in memory) / 1e6 for part in ("Rss", "Pss"))
    private = sum(one["Private_Clean"] + one["Private_Dirty"] for one in memory) / 1e6
    is_equal = "yes" if pairs == expected else "NO"
    figures = f"{rss / n:,.0f} | {pss / n:,.0f} | {private / n:,.0f} | {pss:,.0f}"
    print(f"| {engine} | {n} | {is_equal} | {seconds:.1f} | {len(found) / seconds:,.0f} | {figures} |", flush=True)
    if pairs != expected:
        raise SystemExit("THE PREDICTIONS DIFFER")


def main() -> None:
    """Train, then predict with each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="nvd-cpe")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oplt-", ignore_cleanup_errors=True) as name:
        os.environ.update(settings(name))
        path, rows = Path(name, "model.oplt"), Path(name, "rows")
        X, Y = data.load(data.part(options.data, "train"))
        model = OnlinePLT()
        model.learn_many(X, Y)
        model.snapshot().for_prediction().save(path)
        X, _ = data.load(data.part(options.data, "test"))
        write_rows(X, rows)
        begin = time.perf_counter()
        expected = list(PLT.load(path).predict_many(X, k=K))
        seconds = time.perf_counter() - begin
        print(f"{options.data}: {len(expected):,} rows, model file {path.stat().st_size / 1e6:,.0f} MB\n")
        print("| engine | workers | equal | s | rows/s | mapped, MB | its share, MB | private, MB | all shares, MB |")
        print("|---|---|---|---|---|---|---|---|---|")
        print(f"| predict_many | 1 | | {seconds:.1f} | {len(expected) / seconds:,.0f} | | | | |")
        for n_workers in options.workers:
            measure(f"Dask {n_workers}", with_dask, path, rows, expected)
        import ray

        # Reading takes a core, too: a job whose actors take all of them waits forever.
        ray.init(num_cpus=max(options.workers) + 1, include_dashboard=False, log_to_driver=False, logging_level="error")
        for n_workers in options.workers:
            measure(f"Ray {n_workers}", with_ray, path, rows, expected)
        ray.shutdown()


if __name__ == "__main__":
    main()

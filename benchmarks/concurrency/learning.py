# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How fast a model learns while it is read.

Run: OPLT_DATA=<folder> python benchmarks/concurrency/learning.py [nvd-cpe] [--readers 1] [--repeats 5]

The model has learnt the training set except for its last 40,000 rows, and is saved. Each measurement loads that file
and times learn_many of these rows: unread; read by threads that call predict_one without a pause; read likewise while
snapshot() is called every second and the newest snapshot is kept. These alternate. The learning thread is pinned to
the first core and the other threads to the rest.

As a control, the same threads read another copy of the model: two cores may share caches, memory bandwidth or, as
hyper-threads, even execution units; only the slowdown beyond the control is the cost of reading the same model.
"-": this version of oplt does not have the call.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import MISSING, Examples, as_dicts, has_snapshot, head, load, on_cores, reading, row

import oplt

UNREAD = "unread"
CONTROL = "control: another copy is read"
READ = "read"
SNAPSHOTS = "read, snapshot() once a second"


@dataclass(frozen=True)
class Measured:
    """Figures of one call of learn_many."""

    wall: float  # seconds
    cpu: float  # seconds of the learning thread
    reads_per_second: float
    snapshots: int


def learn(model: Any, X: Any, Y: Any) -> tuple[float, float, float]:
    """Return the begin, the end, and the CPU time of this thread."""
    begin, cpu = time.perf_counter(), time.thread_time()
    model.learn_many(X, Y)
    return begin, time.perf_counter(), time.thread_time() - cpu


@contextmanager
def snapshots(model: Any, cores: set[int]) -> Iterator[list[int]]:
    """Call snapshot() every second during the block; the yielded list holds the number of calls at the end."""
    stop, count = threading.Event(), [0]

    def take() -> None:
        kept = None
        while True:
            kept = model.snapshot()
            count[0] += 1
            if stop.wait(1):
                break
        del kept

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(on_cores, cores, take)
        try:
            yield count
        finally:
            stop.set()
        future.result()


def measure(situation: str, path: Path, examples: Examples, rows: list[Any], n_readers: int) -> Measured:
    """Load the model and let it learn in one of the situations."""
    first, *others = sorted(os.sched_getaffinity(0))
    model = oplt.OnlinePLT.load(path)
    read = oplt.OnlinePLT.load(path) if situation == CONTROL else model
    n_threads = 0 if situation == UNREAD else n_readers
    taken = snapshots(model, set(others)) if situation == SNAPSHOTS else nullcontext([0])
    with ThreadPoolExecutor(1) as learner, reading(read, rows, n_threads, cores=set(others)) as readers, taken as count:
        future = learner.submit(on_cores, {first}, learn, model, examples.X_held_back, examples.Y_held_back)
        begin, end, cpu = future.result()
    ends = readers.calls()[:, 1]
    n_reads = int(((ends >= begin) & (ends <= end)).sum())
    return Measured(end - begin, cpu, n_reads / (end - begin), count[0])


def line(situation: str, runs: list[Measured], reference: list[Measured], n_rows: int) -> str:
    """Return one line of the table, also for a situation without runs."""
    if not runs:
        return row(situation, *[MISSING] * 7)
    wall, cpu = statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs)
    ratios = (
        wall / statistics.median(run.wall for run in reference),
        cpu / statistics.median(run.cpu for run in reference),
    )
    return row(
        situation,
        f"{wall:.2f}",
        f"{ratios[0]:.3f}",
        f"{cpu:.2f}",
        f"{ratios[1]:.3f}",
        f"{n_rows / wall:,.0f}",
        f"{statistics.median(run.reads_per_second for run in runs):,.0f}",
        f"{statistics.median(run.snapshots for run in runs):.0f}",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="nvd-cpe", help="data set (default: nvd-cpe)")
    parser.add_argument("--readers", type=int, default=1, help="threads that predict (default: 1)")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each situation (default: 5)")
    arguments = parser.parse_args()
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        parser.error("this needs Linux and at least two cores")
    examples = load(arguments.name)
    rows = as_dicts(examples.X_test[:20_000])
    runs: dict[str, list[Measured]] = {UNREAD: [], CONTROL: [], READ: [], SNAPSHOTS: []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.oplt"
        model = oplt.OnlinePLT()
        model.learn_many(examples.X, examples.Y)
        model.save(path)
        n_learnt = model.n_examples
        del model
        gc.freeze()
        gc.disable()  # garbage collection would stop all threads
        for _ in range(arguments.repeats):
            for situation, found in runs.items():
                if situation != SNAPSHOTS or has_snapshot():
                    found.append(measure(situation, path, examples, rows, arguments.readers))
    n_rows = examples.X_held_back.shape[0]
    print(f"{arguments.name}: learn_many of {n_rows:,} rows after {n_learnt:,}, {arguments.readers} reader thread(s)")
    print(f"Medians of {arguments.repeats}; ratios are to the unread model.\n")
    print(head("situation", "wall s", "ratio", "CPU s", "ratio", "rows/s", "predictions/s", "snapshots"))
    for situation, found in runs.items():
        print(line(situation, found, runs[UNREAD], n_rows))


if __name__ == "__main__":
    main()

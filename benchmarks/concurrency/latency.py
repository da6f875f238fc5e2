# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How long a prediction takes while the same model learns, is saved or predicts many rows.

Run: OPLT_DATA=<folder> python benchmarks/concurrency/latency.py [nvd-cpe] [--threads 4] [--seconds 5] [--pause 0]

The model has learnt the training set except for its last 40,000 rows. Threads call predict_one (k=5) on single test
rows, by default without a pause. If there are more threads than cores, they wait for each other even when idle; with
--pause 0.005 or so there are idle cores, as in a service. Before and after each situation the readers are measured
alone, and ratios are to these two measurements together.

The readers wait for each prediction before the next call, so a stall of a second is one slow prediction per thread,
which p99 may not show. "p99 by time" does: the readers spend 99 % of their time in predictions that take no longer. As
a control, learn_many runs on a model that nobody reads: this costs the readers cores, caches and the GIL, but no
waiting for the model. If save or predict_many takes less than --seconds, it is repeated, each time with one learn_one.
"-": this version of oplt does not have the call.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import MISSING, Examples, as_dicts, can_save_in_background, head, load, reading, row, seconds

import oplt

N_ROWS = 20_000  # passed to learn_many and predict_many
COLUMNS = (
    "beside",
    "predictions",
    "p50 µs",
    "p99 µs",
    "p99 by time µs",
    "max ms",
    "p99 / idle",
    "p99 by time / idle",
    "learn_one",
    "its p50 ms",
    "its max ms",
)


@dataclass(frozen=True)
class Measured:
    """Durations of the calls of predict_one and learn_one, in seconds."""

    reads: np.ndarray
    learns: list[float]


class Situations:
    """Work done concurrently with the readers. Each method returns the durations of the calls of learn_one."""

    def __init__(self, examples: Examples, path: Path, duration: float) -> None:
        half = examples.X_held_back.shape[0] // 2
        self.model = oplt.OnlinePLT()
        self.model.learn_many(examples.X, examples.Y)
        self.many = examples.X_held_back[:half][:N_ROWS], examples.Y_held_back[:half][:N_ROWS]
        self.test = examples.X_test[:N_ROWS]
        self.path = path
        self.duration = duration
        self._ones: Iterator[tuple[Any, Any]] = itertools.cycle(
            zip(as_dicts(examples.X_held_back[half:]), examples.Y_held_back[half:], strict=True)
        )
        self._save_alone = seconds(self.model.save, path)
        self._predict_alone = seconds(self.model.predict_many, self.test, 5)

    def rows(self) -> dict[str, Callable[[], list[float]] | None]:
        """Return all situations except the idle one; None for one that this version of oplt does not support."""
        n_learn, n_predict = self.many[0].shape[0], self.test.shape[0]
        return {
            f"control: learn_many of {n_learn:,} rows, another model": self.learn_another,
            f"learn_many of {n_learn:,} rows": self.learn,
            "save, and one learn_one": self.save,
            "save(wait=False), and one learn_one": self.save_in_background if can_save_in_background() else None,
            f"predict_many of {n_predict:,} rows, and one learn_one": self.predict,
            "learn_one in a loop": self.learn_ones,
            "learn_one in a loop, 1,000/s": lambda: self.learn_ones(1000),
        }

    def idle(self) -> list[float]:
        """Do nothing."""
        time.sleep(self.duration)
        return []

    def learn(self) -> list[float]:
        """Learn many rows in a separate thread."""
        self.model.learn_many(*self.many)
        return []

    def learn_another(self) -> list[float]:
        """Learn many rows with another model."""
        oplt.OnlinePLT().learn_many(*self.many)
        return []

    def save(self) -> list[float]:
        """Save, and learn one example when a fifth of the time that saving takes alone has passed."""
        return self._with_learn_one(lambda: self.model.save(self.path), self._save_alone / 5)

    def save_in_background(self) -> list[float]:
        """Save without waiting, and learn one example immediately afterwards."""
        return self._repeat(lambda: self._learn_while(self.model.save(self.path, wait=False)))

    def predict(self) -> list[float]:
        """Predict many rows, and learn one example as in `save`."""
        return self._with_learn_one(lambda: self.model.predict_many(self.test, 5), self._predict_alone / 5)

    def learn_ones(self, per_second: float | None = None) -> list[float]:
        """Learn single examples, as fast as possible or at a given rate, catching up after delays."""
        times = []
        begin = due = time.perf_counter()
        while (now := time.perf_counter()) < begin + self.duration:
            if per_second is not None:
                if now < due:
                    time.sleep(due - now)
                due += 1 / per_second
            times.append(self._learn_one())
        return times

    def _learn_one(self) -> float:
        x, labels = next(self._ones)
        return seconds(self.model.learn_one, x, labels)

    def _with_learn_one(self, action: Callable[[], Any], delay: float) -> list[float]:
        def act(started: threading.Event) -> None:
            started.set()
            action()

        def once() -> float:
            started = threading.Event()
            future = pool.submit(act, started)
            started.wait()
            time.sleep(delay)
            return self._learn_while(future)

        with ThreadPoolExecutor(1) as pool:
            return self._repeat(once)

    def _learn_while(self, future: Future[Any]) -> float:
        spent = self._learn_one()
        future.result()
        return spent

    def _repeat(self, once: Callable[[], float]) -> list[float]:
        end = time.perf_counter() + self.duration
        times = [once()]
        while time.perf_counter() < end:
            times.append(once())
        return times


def measure(
    situation: Callable[[], list[float]], model: Any, rows: list[Any], n_threads: int, pause: float
) -> Measured:
    """Read while the situation lasts. Only predictions that overlap with it count."""
    with reading(model, rows, n_threads, pause=pause) as readers:
        time.sleep(0.05)  # until all threads are running
        begin = time.perf_counter()
        learns = situation()
        end = time.perf_counter()
    calls = readers.calls()
    calls = calls[(calls[:, 1] >= begin) & (calls[:, 0] <= end)]
    return Measured(calls[:, 1] - calls[:, 0], learns)


def p99_by_time(reads: np.ndarray) -> float:
    """Return the duration such that 99 % of the time is spent in calls that are no longer."""
    ordered = np.sort(reads)
    spent = np.cumsum(ordered)
    return float(ordered[np.searchsorted(spent, 0.99 * spent[-1])])


def line(name: str, measured: Measured, idle: np.ndarray | None) -> str:
    """Return one line of the table."""
    reads = measured.reads
    p99, by_time = float(np.quantile(reads, 0.99)), p99_by_time(reads)
    ratios = ("1.00", "1.00")
    if idle is not None:
        ratios = (f"{p99 / np.quantile(idle, 0.99):.2f}", f"{by_time / p99_by_time(idle):.2f}")
    learns = [1e3 * spent for spent in measured.learns]
    own = (f"{len(learns):,}", f"{np.median(learns):.2f}", f"{max(learns):.1f}") if learns else ("", "", "")
    p50 = np.median(reads)
    figures = (
        f"{len(reads):,}",
        *(f"{1e6 * figure:,.0f}" for figure in (p50, p99, by_time)),
        f"{1e3 * reads.max():.1f}",
    )
    return row(name, *figures, *ratios, *own)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="nvd-cpe", help="data set (default: nvd-cpe)")
    parser.add_argument("--threads", type=int, default=4, help="threads that predict (default: 4)")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long a situation lasts (default: 5)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two predictions (default: 0)")
    arguments = parser.parse_args()
    examples = load(arguments.name)
    with tempfile.TemporaryDirectory() as folder:
        situations = Situations(examples, Path(folder) / "model.oplt", arguments.seconds)
        rows = as_dicts(situations.test)
        gc.freeze()
        gc.disable()  # garbage collection would stop all threads

        def run(situation: Callable[[], list[float]]) -> Measured:
            return measure(situation, situations.model, rows, arguments.threads, arguments.pause)

        print(f"{arguments.name}, {arguments.threads} threads predict; {situations.model}\n")
        print(head(*COLUMNS), flush=True)
        idle = [run(situations.idle).reads]
        print(line("nothing (idle), before", Measured(idle[0], []), None))
        for name, situation in situations.rows().items():
            if situation is None:
                print(row(name, *[MISSING] * (len(COLUMNS) - 1)))
                continue
            measured = run(situation)
            idle.append(run(situations.idle).reads)
            print(line(name, measured, np.concatenate(idle[-2:])), flush=True)
        print(line("nothing (idle), after", Measured(idle[-1], []), None))


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Shared by the scripts of this folder: examples, features of this version of oplt, threads and tables."""

from __future__ import annotations

import inspect
import itertools
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

import oplt

HELD_BACK = 40_000  # rows at the end of the training set that are learnt while being measured
MISSING = "-"  # printed where this version of oplt lacks the call


@dataclass(frozen=True)
class Examples:
    """A data set whose training rows are split into the first ones and those that are held back."""

    X: Any
    Y: list[list[int]]
    X_held_back: Any
    Y_held_back: list[list[int]]
    X_test: Any


def load(name: str) -> Examples:
    """Read a data set. Of a small one, half of the training rows are held back."""
    X, Y = data.load(data.part(name, "train"))
    X_test, _ = data.load(data.part(name, "test"))
    split = X.shape[0] - min(HELD_BACK, X.shape[0] // 2)
    return Examples(X[:split], Y[:split], X[split:], Y[split:], X_test)


def as_dicts(X: Any) -> list[dict[int, float]]:
    """Make each row a dict, as predict_one and learn_one take it."""
    return [
        dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
        for begin, end in pairwise(X.indptr)
    ]


def has_snapshot() -> bool:
    """Tell whether this version of oplt has `snapshot()`."""
    return hasattr(oplt.OnlinePLT, "snapshot")


def can_save_in_background() -> bool:
    """Tell whether this version of oplt has `save(path, wait=False)`."""
    return _accepts(oplt.OnlinePLT.save, "wait")


def can_skip_verification() -> bool:
    """Tell whether this version of oplt has `load(path, verify=False)`."""
    return _accepts(oplt.OnlinePLT.load, "verify")


def _accepts(function: Callable[..., Any], keyword: str) -> bool:
    return keyword in inspect.signature(function).parameters


def seconds(function: Callable[..., Any], *arguments: Any, **settings: Any) -> float:
    """Time one call."""
    start = time.perf_counter()
    function(*arguments, **settings)
    return time.perf_counter() - start


class Readers:
    """Threads that call predict_one on single rows, one call right after the other or with a pause in between."""

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self._stop = threading.Event()
        self._times: list[array[float]] = []

    def read(self, model: Any, rows: list[Any], first: int) -> None:
        """Predict the rows from `first` on, cyclically, until stopped."""
        times = array("d")
        self._times.append(times)
        predict, clock, record, stopped = model.predict_one, time.perf_counter, times.append, self._stop.is_set
        for row in itertools.cycle(rows[first:] + rows[:first]):
            if stopped():
                return
            record(clock())
            predict(row, 5)
            record(clock())
            if self._pause:
                time.sleep(self._pause)

    def stop(self) -> None:
        """Let each thread end after its current prediction."""
        self._stop.set()

    def calls(self) -> np.ndarray:
        """Begin and end of each call, one row per call. Only valid after the threads have ended."""
        whole = [np.frombuffer(times, np.float64, len(times) // 2 * 2) for times in self._times]
        return np.concatenate([np.empty(0), *whole]).reshape(-1, 2)


@contextmanager
def reading(
    model: Any, rows: list[Any], n_threads: int, *, cores: set[int] | None = None, pause: float = 0.0
) -> Iterator[Readers]:
    """Run reader threads meanwhile, on the given cores. An error in one of them is raised at the end."""
    readers = Readers(pause)
    if not n_threads:
        yield readers
        return
    starts = [i * len(rows) // n_threads for i in range(n_threads)]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(on_cores, cores, readers.read, model, rows, start) for start in starts]
        try:
            yield readers
        finally:
            readers.stop()
        raise_errors(futures)


def on_cores(cores: set[int] | None, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function after pinning only the calling thread to some cores."""
    if cores is not None:
        os.sched_setaffinity(0, cores)
    return function(*arguments)


def raise_errors(futures: Iterable[Future[Any]]) -> None:
    """Wait for calls in other threads; reraise the first of their errors."""
    for future in futures:
        future.result()


def head(*columns: str) -> str:
    """Return the first two lines of a Markdown table."""
    return row(*columns) + "\n" + "|---" * len(columns) + "|"


def row(*cells: str) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"

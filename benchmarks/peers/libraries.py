# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Measure a system that is a Python library, in this process."""

from __future__ import annotations

import importlib
import os
import resource
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import TOP, DataSet, NotInstalled, Result, precision, size_mb


class Library:
    """The steps of a library, each of which is timed separately."""

    unit_rows = False  # whether it expects rows of norm 1; others scale rows themselves
    X: Any
    Y: Any

    def load(self, data: DataSet) -> None:
        """Load the training data in the form that the library takes."""
        self.X, self.Y = data.matrices("train", unit_rows=self.unit_rows)

    def learn(self) -> None:
        """Learn from it."""
        raise NotImplementedError

    def save(self, path: Path) -> None:
        """Write the model to this path: a file or a folder."""
        raise NotImplementedError

    def get_ready(self, path: Path) -> None:
        """Do what must be done once before predicting; not timed."""

    def predict(self, X: Any) -> Any:
        """Find the best labels of all rows."""
        raise NotImplementedError

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Convert the result of `predict` to lists of labels, best first."""
        return found


def wanted(module: str, package: str) -> Any:
    """Import a module of a peer, or raise NotInstalled."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = f"not installed ({error}); `pip install {package}`, or `make bench`, gets it"
        raise NotInstalled(msg) from error


def measure(library: Library, data: DataSet, workdir: Path) -> Result:
    """Learn, save, predict."""
    library.load(data)
    loaded = resident_mb()
    cpu_before = time.process_time()
    train_s, _ = timed(library.learn)
    train_cpu_s = time.process_time() - cpu_before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model = workdir / "model"
    save_s, _ = timed(lambda: library.save(model))
    os.sync()  # else a large model may still be being written to disk during prediction
    library.get_ready(model)
    X, Y = data.matrices("test", unit_rows=library.unit_rows)
    predict_s, found = timed(lambda: library.predict(X))
    return Result(
        train_s=train_s,
        train_cpu_s=train_cpu_s,
        save_s=save_s,
        predict_ms=1000 * predict_s / X.shape[0],
        loaded_mb=loaded,
        peak_mb=peak,
        model_mb=size_mb(model),
        precision=[*precision((row[:TOP] for row in library.labels(found)), Y)],
    )


def timed(call: Any) -> tuple[float, Any]:
    """Return the seconds and the result of a call."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def resident_mb() -> float:
    """Return the current RSS of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20

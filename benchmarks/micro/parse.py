# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Parsing speed: `load_xmlc` with one thread and with two, compared with scikit-learn's `load_svmlight_file`.

Run: OPLT_DATA=<folder> python benchmarks/micro/parse.py nvd-cpe tibkat-gnd

The systems alternate for three rounds; medians are reported. Files are plain text in the page cache. scikit-learn gets
a copy without the header and without the examples that have no label, which it cannot read as multi-label data; only
its call is timed. Both results are compared. Ratios are to scikit-learn.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt.datasets import load_xmlc

N_ROUNDS = 3
PEER = "scikit-learn"


def run(name: str, folder: Path) -> list[str]:
    """Rows of the table for one data set."""
    text = lzma.decompress((data.folder() / name / "train.txt.xz").read_bytes())
    plain, cleaned = folder / f"{name}.txt", folder / f"{name}-cleaned.txt"
    plain.write_bytes(text)
    calls: dict[str, Callable[[], Any]] = {
        "oplt, 1 thread": lambda: load_xmlc(plain, threads=1),
        "oplt, 2 threads": lambda: load_xmlc(plain, threads=2),
    }
    sizes = dict.fromkeys(calls, plain.stat().st_size)
    if importlib.util.find_spec("sklearn") is not None:
        from sklearn.datasets import load_svmlight_file

        n_columns = int(text.split(maxsplit=2)[1])
        cleaned.write_bytes(clean(text))
        calls[PEER] = lambda: load_svmlight_file(
            cleaned, n_features=n_columns, dtype=np.float32, multilabel=True, zero_based=True
        )
        sizes[PEER] = cleaned.stat().st_size
        compare(load_xmlc(cleaned), calls[PEER]())
    speeds = {system: sizes[system] / 1e6 / seconds for system, seconds in measure(calls).items()}
    return [row(name, system, sizes[system], speed, speeds.get(PEER)) for system, speed in speeds.items()]


def clean(text: bytes) -> bytes:
    """Drop the header and the examples without a label."""
    examples = text.splitlines(keepends=True)[1:]
    return b"".join(line for line in examples if not line.startswith(b" "))


def compare(ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
    """Stop if the two parsers disagree."""
    X, Y = ours
    X_theirs, Y_theirs = theirs
    same = np.array_equal(X.indices, X_theirs.indices) and np.array_equal(X.indptr, X_theirs.indptr)
    close = np.allclose(X.data, X_theirs.data, rtol=1e-6, atol=0)
    labels = [tuple(row.tolist()) for row in np.split(Y.indices, Y.indptr[1:-1])]
    if not (same and close and labels == [tuple(sorted(map(int, row))) for row in Y_theirs]):
        msg = "oplt and scikit-learn do not read the same: please report it"
        raise SystemExit(msg)


def measure(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of each call."""
    seconds: dict[str, list[float]] = {system: [] for system in calls}
    for _ in range(N_ROUNDS):
        for system, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[system].append(time.perf_counter() - start)
    return {system: statistics.median(times) for system, times in seconds.items()}


def row(name: str, system: str, size: int, speed: float, peer: float | None) -> str:
    """One row of the table."""
    ratio = f"{speed / peer:.1f}" if peer else "-"
    return f"| {name} | {system} | {size / 1e6:.0f} | {size / 1e6 / speed:.3f} | {speed:.0f} | {ratio} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    arguments = parser.parse_args()
    if importlib.util.find_spec("sklearn") is None:
        print("scikit-learn is left out: pip install scikit-learn")
    print("| data set | system | MB | s | MB/s | ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names:
            print("\n".join(run(name, Path(folder))))


if __name__ == "__main__":
    main()

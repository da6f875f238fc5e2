# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Cost per example and memory as labels, examples, features per example and threads grow, on generated streams.

Run: python benchmarks/scaling/run.py [--most-labels 1000000] [--most-examples 10000000] [--most-threads 2]
                                      [--sweeps labels examples features threads] [--out <folder>]

Prints a Markdown table; with --out, also writes scaling.json after each stream, and in the end scaling.svg and
threads.svg. The full run takes an hour or more; `--most-labels 3000 --most-examples 30000` takes a minute. Cost is CPU
time, except that a sweep over threads is about elapsed time, which needs an idle machine. Time grows with the number of
updates, which follows the depth of the tree, and with the cache misses of a larger model; the column of steps, which is
the same on every machine, separates the two.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from plot import draw, draw_threads
from streams import Stream

import oplt

N_TEST = 10_000


@dataclass(frozen=True)
class Point:
    """Figures of one stream. Times are per example."""

    labels: int
    examples: int
    features: int
    threads: int
    depth: int
    late_steps: float  # updates of classifiers per example, over the last tenth of the stream
    learn_us: float  # CPU time, over the whole stream
    learn_late_us: float  # CPU time, over its last tenth, in whole batches
    learn_elapsed_us: float
    predict_us: float  # CPU time, top 5
    predict_elapsed_us: float
    memory_mb: float  # of the trained state
    bytes_per_cell: float  # of the trees with their classifiers; a cell is a weight and its accumulator
    precision: float  # P@1 in per cent


HEAD = (
    "| growing | labels | examples | features/example | threads | depth | steps/example, last tenth | learn µs/example"
    " | in the last tenth | elapsed | predict µs/example | elapsed | memory MB | bytes/cell | P@1 |\n"
    + "|---" * 15
    + "|"
)


class Stopwatch:
    """Adds up CPU and elapsed seconds of the blocks that it times."""

    def __init__(self) -> None:
        self.cpu = self.elapsed = self.latest = 0.0

    def __enter__(self) -> None:
        self._begin = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.latest = time.process_time() - self._begin[0]
        self.cpu += self.latest
        self.elapsed += time.perf_counter() - self._begin[1]


def n_steps(model: oplt.OnlinePLT) -> int:
    """Count the updates of classifiers so far. Holds no state, which the model would have to copy to go on."""
    return model._state().n_updates  # noqa: SLF001 (only the core counts them)


def measure(stream: Stream, threads: int) -> Point:
    """Learn a stream, then predict examples that follow it."""
    model = oplt.OnlinePLT(threads=threads)
    learning, predicting = Stopwatch(), Stopwatch()
    late = 0.0
    n_late = late_steps = 0
    for X, Y in stream.batches():
        steps_before = n_steps(model)
        with learning:
            model.learn_many(X, Y)
        if model.n_examples > 0.9 * stream.n_examples:
            late += learning.latest
            n_late += X.shape[0]
            late_steps += n_steps(model) - steps_before
    X, Y = stream.after(N_TEST)
    with predicting:
        found = model.predict_many(X, k=5)
    first = found.labels[found.indptr[:-1]].astype(int)
    hits = sum(label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]] for row, label in enumerate(first))
    return Point(
        labels=model.n_labels,
        examples=model.n_examples,
        features=stream.n_features,
        threads=threads,
        depth=model.depth,
        late_steps=late_steps / n_late,
        learn_us=1e6 * learning.cpu / stream.n_examples,
        learn_late_us=1e6 * late / n_late,
        learn_elapsed_us=1e6 * learning.elapsed / stream.n_examples,
        predict_us=1e6 * predicting.cpu / N_TEST,
        predict_elapsed_us=1e6 * predicting.elapsed / N_TEST,
        memory_mb=model.memory_bytes / 2**20,
        bytes_per_cell=model.inspect(0).memory["trees"] / model.n_cells,
        precision=100 * hits / N_TEST,
    )


def sizes(least: int, most: int) -> list[int]:
    """Return 1, 3, 10, 30, … from `least`, or from a tenth of `most` in a short run, to `most`."""
    series = [digit * 10**power for power in range(9) for digit in (1, 3)]
    return [n for n in series if min(least, most // 10) <= n <= most]


def sweeps(most_labels: int, most_examples: int, most_threads: int) -> dict[str, list[tuple[Stream, int]]]:
    """Return the streams of each sweep, in which only one size varies, with the number of threads."""
    few = min(10_000, most_labels, most_examples // 10)
    some, many = min(100_000, most_examples), min(1_000_000, most_examples)
    threads = sorted({*(2**power for power in range(8) if 2**power < most_threads), most_threads})
    return {
        "labels": [(Stream(n, many, 40), 1) for n in sizes(10_000, min(most_labels, many))],
        "examples": [(Stream(few, n, 40), 1) for n in sizes(100_000, most_examples)],
        "features": [(Stream(few, some, n), 1) for n in (10, 20, 40, 80, 160)],
        "threads": [(Stream(few, some, 40), n) for n in threads],
    }


def row(growing: str, point: Point) -> str:
    """One row of the table."""
    return (
        f"| {growing} | {point.labels:,} | {point.examples:,} | {point.features} | {point.threads} | {point.depth}"
        f" | {point.late_steps:.0f} | {point.learn_us:.1f} | {point.learn_late_us:.1f} | {point.learn_elapsed_us:.1f}"
        f" | {point.predict_us:.1f} | {point.predict_elapsed_us:.1f} | {point.memory_mb:.0f}"
        f" | {point.bytes_per_cell:.1f} | {point.precision:.1f} |"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-labels", type=int, default=1_000_000)
    parser.add_argument("--most-examples", type=int, default=10_000_000)
    parser.add_argument("--most-threads", type=int, default=os.cpu_count() or 1)
    names = ["labels", "examples", "features", "threads"]
    parser.add_argument("--sweeps", nargs="+", choices=names, default=names, help="only these")
    parser.add_argument("--out", type=Path, help="folder for scaling.json, scaling.svg and threads.svg")
    arguments = parser.parse_args()
    print(HEAD)
    figures: dict[str, list[dict[str, float]]] = {}
    found = sweeps(arguments.most_labels, arguments.most_examples, arguments.most_threads)
    for growing in arguments.sweeps:
        figures[growing] = []
        for stream, threads in found[growing]:
            point = measure(stream, threads)
            print(row(growing, point), flush=True)
            figures[growing].append(asdict(point))
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / "scaling.json").write_text(json.dumps(figures, indent=1) + "\n")
    if arguments.out:
        draw({growing: points for growing, points in figures.items() if growing != "threads"}, arguments.out)
        draw_threads(figures.get("threads", []), arguments.out)


if __name__ == "__main__":
    main()

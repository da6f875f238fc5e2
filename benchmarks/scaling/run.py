# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Cost per example and memory as labels, examples and features per example grow, on generated streams.

Run: python benchmarks/scaling/run.py [--most-labels 1000000] [--most-examples 1000000] [--out <folder>]

Prints a Markdown table; with --out, also writes scaling.json, scaling.png and scaling.svg. Time grows with the number
of updates, which follows the depth of the tree, and with the cache misses of a larger model; the column of steps, which
is the same on every machine, separates the two.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from plot import draw
from streams import Stream

import oplt

N_TEST = 10_000


@dataclass(frozen=True)
class Point:
    """Figures of one stream."""

    labels: int
    examples: int
    features: int
    depth: int
    late_steps: float  # updates of classifiers per example, over the last tenth of the stream
    learn_us: float  # per example, over the whole stream
    learn_late_us: float  # per example, over its last tenth, in whole batches
    predict_us: float  # per example, exact top 5
    memory_mb: float  # of the trained state
    precision: float  # P@1 in per cent


HEAD = (
    "| growing | labels | examples | features/example | depth | steps/example, last tenth | learn µs/example"
    " | in the last tenth | predict µs/example | memory MB | P@1 |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def measure(stream: Stream, threads: int) -> Point:
    """Learn a stream, then predict examples that follow it."""
    model = oplt.OnlinePLT(threads=threads)
    core = model._state()  # noqa: SLF001 (only the core counts steps)
    spent = late = 0.0
    n_late = late_steps = 0
    for X, Y in stream.batches():
        steps_before = core.n_updates
        start = time.perf_counter()
        model.learn_many(X, Y)
        seconds = time.perf_counter() - start
        spent += seconds
        if model.n_examples > 0.9 * stream.n_examples:
            late += seconds
            n_late += X.shape[0]
            late_steps += core.n_updates - steps_before
    X, Y = stream.after(N_TEST)
    start = time.perf_counter()
    found = model.predict_many(X, k=5)
    predicted = time.perf_counter() - start
    first = found.labels[found.indptr[:-1]].astype(int)
    hits = sum(label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]] for row, label in enumerate(first))
    return Point(
        labels=model.n_labels,
        examples=model.n_examples,
        features=stream.n_features,
        depth=model.depth,
        late_steps=late_steps / n_late,
        learn_us=1e6 * spent / stream.n_examples,
        learn_late_us=1e6 * late / n_late,
        predict_us=1e6 * predicted / N_TEST,
        memory_mb=model.memory_bytes / 2**20,
        precision=100 * hits / N_TEST,
    )


def sweeps(most_labels: int, most_examples: int) -> dict[str, list[Stream]]:
    """Return the streams of each sweep, in which only one size varies."""
    labels = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= min(most_labels, most_examples)]
    examples = [n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= most_examples]
    few, some = min(10_000, most_labels), min(100_000, most_examples)
    return {
        "labels": [Stream(n, most_examples, 40) for n in labels],
        "examples": [Stream(min(few, n), n, 40) for n in examples],
        "features": [Stream(few, some, n) for n in (10, 20, 40, 80, 160)],
    }


def row(growing: str, point: Point) -> str:
    """One row of the table."""
    return (
        f"| {growing} | {point.labels:,} | {point.examples:,} | {point.features} | {point.depth}"
        f" | {point.late_steps:.0f} | {point.learn_us:.1f} | {point.learn_late_us:.1f} | {point.predict_us:.1f}"
        f" | {point.memory_mb:.0f} | {point.precision:.1f} |"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most-labels", type=int, default=1_000_000)
    parser.add_argument("--most-examples", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for scaling.json, scaling.png and scaling.svg")
    arguments = parser.parse_args()
    print(HEAD)
    results: dict[str, list[Point]] = {}
    for growing, streams in sweeps(arguments.most_labels, arguments.most_examples).items():
        results[growing] = []
        for stream in streams:
            results[growing].append(measure(stream, arguments.threads))
            print(row(growing, results[growing][-1]), flush=True)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        figures = {growing: [asdict(point) for point in points] for growing, points in results.items()}
        (arguments.out / "scaling.json").write_text(json.dumps(figures, indent=1))
        draw(figures, arguments.out)


if __name__ == "__main__":
    main()

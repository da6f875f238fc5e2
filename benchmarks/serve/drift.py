# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Measure the change detector of the service: false alarms in streams that do not change, and delay after a change.

Compared with ADWIN of river on the same values. Synthetic streams are of zeros and ones. With the name of a data set,
a model learns its examples in random order, each predicted just before; at 60 % of the stream, all labels are permuted.

OPLT_DATA=... python benchmarks/serve/drift.py nvd-cpe
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from load import as_examples
from river.drift import ADWIN

from oplt import OnlinePLT
from oplt.service.examples import Example, as_rows
from oplt.service.monitoring.changes import WATCHED, Detector
from oplt.service.monitoring.predicting import predict, values_of
from oplt.service.restoring import learn

sys.path.append(str(Path(__file__).parents[1]))
from data import load, part

STATIONARY = (0.02, 0.1, 0.3, 0.5, 0.7, 0.95)
CHANGES = ((0.7, 0.6), (0.7, 0.65), (0.6, 0.7), (0.7, 0.4), (0.9, 0.85), (0.05, 0.1), (0.02, 0.2), (0.7, 0.0))
LENGTH = 100_000
BEFORE = 20_000  # values before a synthetic change, and after it
SHIFT = 0.6  # of a real stream

Found = tuple[int, str]  # where an alarm was raised, and what it says
Watch = Callable[[Sequence[float], str], Iterator[Found]]


def ours(values: Sequence[float], of: str) -> Iterator[Found]:
    """Run the detector of the service."""
    detector = Detector(WATCHED[of])
    for i, value in enumerate(values):
        found = detector.add(value, i, 0.0)
        if found is not None:
            yield i, f" ({found[1]:.3f} → {found[2]:.3f})"


def river_adwin(values: Sequence[float], _: str) -> Iterator[Found]:
    """Run river's ADWIN with its default settings."""
    detector = ADWIN()
    for i, value in enumerate(values):
        detector.update(value)
        if detector.drift_detected:
            yield i, ""


DETECTORS: dict[str, Watch] = {"ours": ours, "river ADWIN": river_adwin}


def stationary(repetitions: int) -> None:
    """Print the number of false alarms."""
    print(f"\nFalse alarms per 100,000 values of a stationary stream ({repetitions} streams each)\n")
    print("| mean |", " | ".join(DETECTORS), "|")
    print("|---|" + "---|" * len(DETECTORS))
    for mean in STATIONARY:
        cells = []
        for watch in DETECTORS.values():
            n = sum(len(list(watch(draw(mean, LENGTH, seed), "p1"))) for seed in range(repetitions))
            cells.append(f"{n / repetitions:.2f}")
        print(f"| {mean} |", " | ".join(cells), "|", flush=True)


def changing(repetitions: int) -> None:
    """Print the delay until a change is detected."""
    print(f"\nDelay after a change, in values: median (90 %) of {repetitions} streams, and how many noticed it\n")
    print("| change |", " | ".join(DETECTORS), "|")
    print("|---|" + "---|" * len(DETECTORS))
    for before, after in CHANGES:
        cells = []
        for watch in DETECTORS.values():
            delays = []
            for seed in range(repetitions):
                values = draw(before, BEFORE, seed) + draw(after, BEFORE, 1000 + seed)
                first = next((i - BEFORE for i, _ in watch(values, "p1") if i >= BEFORE), None)
                delays += [] if first is None else [first]
            shown = f"{np.median(delays):.0f} ({np.quantile(delays, 0.9):.0f})" if delays else "–"
            cells.append(f"{shown}, {len(delays)} of {repetitions}")
        print(f"| {before} → {after} |", " | ".join(cells), "|", flush=True)


def draw(mean: float, n: int, seed: int) -> list[float]:
    """Draw zeros and ones."""
    return (np.random.default_rng([7, seed]).random(n) < mean).astype(float).tolist()


def real(name: str, limit: int | None) -> None:
    """Print the alarms on a real stream, in its order, shuffled, and shuffled with a shift."""
    X, Y = load(part(name, "train"))
    examples = [Example(features=one["features"], labels=one["labels"]) for one in as_examples(X, Y)][:limit]
    shuffled = [examples[i] for i in np.random.default_rng(1).permutation(len(examples))]
    shift = int(SHIFT * len(examples))
    for title, stream in (
        ("in its own order", examples),
        ("shuffled", shuffled),
        (f"shuffled, labels permuted from {shift:,} on", shuffled[:shift] + permuted(shuffled[shift:])),
    ):
        print(f"\n{name}, {len(stream):,} examples, {title}\n")
        values = observed(stream)
        for of, column in values.items():
            for who, watch in DETECTORS.items():
                found = list(watch(column, of))
                shown = ", ".join(f"{i:,}{says}" for i, says in found[:12])
                print(f"- {of}, {who}: {len(found)} alarms: {shown}{' …' if len(found) > 12 else ''}", flush=True)


def permuted(examples: Sequence[Example]) -> list[Example]:
    """Exchange all labels by a fixed permutation."""
    names = sorted({label for one in examples for label in one.labels}, key=str)
    others = dict(zip(names, np.random.default_rng(2).permutation(np.array(names, dtype=object)), strict=True))
    return [Example(features=one.features, labels=[others[label] for label in one.labels]) for one in examples]


def observed(examples: Sequence[Example], chunk: int = 16) -> dict[str, list[float]]:
    """Predict each example before it is learned, as the service does, and return the values that it watches."""
    model, values = OnlinePLT(), {of: list[float]() for of in WATCHED}
    for begin in range(0, len(examples), chunk):
        some = examples[begin : begin + chunk]
        rows = as_rows(some, texts=False)
        for one in predict(model, some, rows, chunk):
            for of, value in values_of(one).items():
                values[of].append(value)
        learn(model, rows)
    return values


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    stationary(arguments.repetitions)
    changing(arguments.repetitions)
    for name in arguments.data:
        real(name, arguments.limit)


if __name__ == "__main__":
    main()

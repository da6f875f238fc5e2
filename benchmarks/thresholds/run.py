# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The benefit of tuned thresholds on test sets.

Run: OPLT_DATA=<folder> python benchmarks/thresholds/run.py bibtex delicious

*held out*: the model learns the first 80 % of the training set, and thresholds are chosen on the rest. *progressive*:
it learns the whole training set, and thresholds are chosen on predictions of blocks of 256 examples, each made before
the block is learnt; the first half of the stream, in which the model is still poor, is skipped. Precision, recall,
micro-F1 and macro-F1 are those of the test set.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt import OnlinePLT
from oplt.thresholds import FLOOR, Thresholds, Tuner

BLOCK = 256
GOALS: dict[str, dict[str, Any]] = {
    "F1": {},
    "F1, per label": {"per_label": True},
    "F1, per label, no shrinkage": {"per_label": True, "shrinkage": 0},
    "precision 0.7": {"precision": 0.7},
    "precision 0.9": {"precision": 0.9},
    "precision 0.9, per label": {"precision": 0.9, "per_label": True},
}


def held_out(X: Any, Y: list[list[int]]) -> tuple[OnlinePLT, Tuner]:
    """Learn one part, and collect predictions for the rest."""
    model, tuner, n = OnlinePLT(), Tuner(), len(Y) * 4 // 5
    model.learn_many(X[:n], Y[:n])
    tuner.add(model.predict_many(X[n:], threshold=FLOOR), Y[n:])
    return model, tuner


def progressive(X: Any, Y: list[list[int]]) -> tuple[OnlinePLT, Tuner]:
    """Collect predictions of each block before it is learnt."""
    model, tuner = OnlinePLT(), Tuner()
    for begin in range(0, len(Y), BLOCK):
        block = slice(begin, begin + BLOCK)
        if begin >= len(Y) // 2:
            tuner.add(model.predict_many(X[block], threshold=FLOOR), Y[block])
        model.learn_many(X[block], Y[block])
    return model, tuner


def report(name: str, way: str, model: OnlinePLT, tuner: Tuner, X: Any, Y: list[list[int]]) -> None:
    """Print a line for each goal."""
    test = Tuner()
    test.add(model.predict_many(X, threshold=FLOOR), Y)
    for goal, options in {"0.5": None, **GOALS}.items():
        thresholds = Thresholds(0.5) if options is None else tuner.choose(**options)
        figures = " | ".join(f"{value:.3f}" for value in test.measure(thresholds).values())
        print(f"| {name} | {way} | {goal} | {thresholds.value:.3f} | {figures} |", flush=True)


def speed(name: str, model: OnlinePLT, tuner: Tuner, X: Any) -> None:
    """Print the time of predictions with each kind of threshold: the best of three."""
    single, own = tuner.choose(), tuner.choose(per_label=True)
    kinds = {"number": single.value, "tuned": single, "tuned, per label": own, "least": own.least}
    for what, threshold in kinds.items():
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            model.predict_many(X, threshold=threshold)
            times.append(time.perf_counter() - begin)
        print(f"{name}: predict_many(threshold={what}): {1000 * min(times) / X.shape[0]:.3f} ms an example", flush=True)


def main() -> None:
    """Print a table for each data set."""
    print("| data | chosen on | goal | threshold | precision | recall | micro-F1 | macro-F1 |")
    print("|---|---|---|---|---|---|---|---|")
    speeds = []
    for name in sys.argv[1:]:
        X, Y = data.load(data.part(name, "train"))
        X_test, Y_test = data.load(data.part(name, "test"))
        for way in (held_out, progressive):
            model, tuner = way(X, Y)
            report(name, way.__name__.replace("_", " "), model, tuner, X_test, Y_test)
        speeds.append((name, model, tuner, X_test[:500]))
    for one in speeds:
        speed(*one)


if __name__ == "__main__":
    main()

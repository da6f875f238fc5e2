# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Benefit and cost of each extension beyond the paper.

Run: OPLT_DATA=<folder> python benchmarks/beyond/run.py nvd-cpe wp4s-para-1shot [--test]

One pass over the stream in its order, one thread. *progressive*: P@1 / P@3 / P@5 in percent over the second half of the
stream, each block of 256 examples predicted before it is learnt; of a long stream, every fourth block. Choose by these.
*test*, with --test: the same on the test set, after the whole stream. *ECE@1*: calibration of the probability of the
best label, on the last quarter, and on the test set. *log-loss@5*: of the five best labels, on the last quarter. Times
are CPU times, without loading.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt import OnlinePLT, metrics
from oplt.params import preset

BLOCK = 256
LONG = 50_000  # examples
TREES: dict[str, dict[str, Any]] = {
    "tree": {"history": 0},
    "regrown tree": {},
    "three regrown trees": {"trees": 3},
}
SYSTEMS: dict[str, dict[str, Any]] = {
    "paper's setting": preset("paper", {}),
    **{name: {**settings, "label_memory": 0} for name, settings in TREES.items()},
    **{f"memory, {name}": {**settings, "label_memory": 512} for name, settings in TREES.items()},
}
COLUMNS = ["", "progressive", "test", "ECE@1", "of test", "log-loss@5", "learn s", "predict ms", "MB"]
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--systems", nargs="+", help="only those whose names begin so")
    parser.add_argument(
        "--test", action="store_true", help="also evaluate on the test set, once all decisions have been made"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        train = data.load(data.folder() / name / "train.txt.xz")
        test = data.load(data.folder() / name / "test.txt.xz") if arguments.test else None
        print(f"\n## {name}\n\n{HEAD}")
        for system, settings in SYSTEMS.items():
            if not arguments.systems or system.startswith(tuple(arguments.systems)):
                print(f"| {system} | {' | '.join(row(settings, train, test))} |", flush=True)


def row(settings: dict[str, Any], train: tuple[Any, list[list[int]]], test: tuple[Any, list[list[int]]] | None) -> Any:
    """Measure one system."""
    X, Y = train
    progressive = metrics.Scores()
    calibration = metrics.Scores(k=(1, 5))
    model = OnlinePLT(**settings)
    learning = predicting = 0.0
    n_predicted = 0
    for number, begin in enumerate(range(0, len(Y), BLOCK)):
        rows, labels = X[begin : begin + BLOCK], Y[begin : begin + BLOCK]
        if begin >= len(Y) / 2 and (len(Y) < LONG or number % 4 == 0):
            start = time.process_time()
            found = model.predict_many(rows, k=5)
            predicting += time.process_time() - start
            n_predicted += len(labels)
            progressive.add(found, labels)
            if begin >= 0.75 * len(Y):
                calibration.add(found, labels)
        start = time.process_time()
        model.learn_many(rows, labels)
        learning += time.process_time() - start
    tested = None if test is None else scored(model, *test)
    return [
        shown(progressive),
        "–" if tested is None else shown(tested),
        f"{calibration.ece(1):.3f}",
        "–" if tested is None else f"{tested.ece(1):.3f}",
        f"{calibration.log_loss(5):.3f}",
        f"{learning:.2f}",
        f"{1000 * predicting / n_predicted:.3f}",
        f"{model.memory_bytes / 1e6:.0f}",
    ]


def scored(model: OnlinePLT, X: Any, Y: list[list[int]]) -> metrics.Scores:
    """Measure a model on a test set."""
    scores = metrics.Scores()
    scores.add(model.predict_many(X, k=5), Y)
    return scores


def shown(scores: metrics.Scores) -> str:
    """Give P@1 / P@3 / P@5 in percent."""
    return " / ".join(f"{100 * scores.precision(k):.2f}" for k in scores.k)


if __name__ == "__main__":
    main()

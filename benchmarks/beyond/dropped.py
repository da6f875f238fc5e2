# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Calibration of probabilities when few features of an example are known, and after several passes.

Run: OPLT_DATA=<folder> python benchmarks/beyond/dropped.py nvd-cpe bibtex delicious wp4s-para-5shot [--passes 1 5]

A model with the default settings is trained on the training set, once for each number of passes. Then each feature of
each test row is dropped with probability 0, 0.5, 0.9 and 1, and the five best labels are predicted. *p@1*: the mean
probability of the best label; calibrated, it equals P@1. *ECE*: expected calibration error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt import OnlinePLT, metrics

DROPPED = (0.0, 0.5, 0.9, 1.0)
COLUMNS = ["data set", "passes", "dropped", "P@1", "p@1", "ECE@1", "ECE@5", "log-loss@5"]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--passes", nargs="+", type=int, default=[1], help="numbers of passes, ascending")
    parser.add_argument("--rows", type=int, default=10_000, help="at most N rows of each test set")
    parser.add_argument("--label-memory", type=int, default=512, help="0: the tree alone")
    arguments = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name in arguments.names:
        X, Y = data.load(data.part(name, "train"))
        test, true = data.load(data.part(name, "test"))
        model = OnlinePLT(label_memory=arguments.label_memory)
        for number in range(1, max(arguments.passes) + 1):
            model.learn_many(X, Y)
            if number in arguments.passes:
                for share in DROPPED if number == 1 else DROPPED[:1]:
                    cells = measured(model, thinned(test[: arguments.rows], share), true[: arguments.rows])
                    print(f"| {name} | {number} | {share:.0%} | {' | '.join(cells)} |", flush=True)


def thinned(X: Any, share: float) -> Any:
    """Drop a fraction of all features."""
    X = X.copy()
    X.data[np.random.default_rng(0).random(len(X.data)) < share] = 0
    X.eliminate_zeros()
    return X


def measured(model: OnlinePLT, X: Any, Y: list[list[int]]) -> list[str]:
    """Measure the calibration of predictions."""
    found = model.predict_many(X, k=5)
    scores = metrics.Scores(k=(1, 5))
    scores.add(found, Y)
    best = float(np.mean([row[0][1] for row in found]))
    values = (scores.precision(1), best, scores.ece(1), scores.ece(5), scores.log_loss(5))
    return [f"{value:.3f}" for value in values]


if __name__ == "__main__":
    main()

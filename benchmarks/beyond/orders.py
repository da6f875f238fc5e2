# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How far figures depend on the order of the stream.

Run: OPLT_DATA=<folder> python benchmarks/beyond/orders.py bibtex nvd-cpe [--orders 5] [--systems memory]

One pass over the stream in random orders, one thread; then P@1 / P@3 / P@5 in percent and ECE@1 on the test set: mean ±
standard deviation over the orders.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import data
from run import SYSTEMS, scored

from oplt import OnlinePLT


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--orders", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), help="only those whose names begin so")
    arguments = parser.parse_args()
    if arguments.orders < 2:
        parser.error("--orders must be at least 2: a single order has no spread")
    print("| | | P@1 | P@3 | P@5 | ECE@1 |\n|---|---|---|---|---|---|")
    for name in arguments.names:
        X, Y = data.load(data.folder() / name / "train.txt.xz")
        test = data.load(data.folder() / name / "test.txt.xz")
        for system, settings in SYSTEMS.items():
            if not system.startswith(tuple(arguments.systems)):
                continue
            measured = []
            for seed in range(arguments.orders):
                order = np.random.default_rng(seed).permutation(len(Y))
                model = OnlinePLT(**settings)
                model.learn_many(X[order], [Y[i] for i in order])
                scores = scored(model, *test)
                measured.append([*(100 * scores.precision(k) for k in scores.k), scores.ece(1)])
            *precisions, ece = zip(*measured, strict=True)
            cells = [*(shown(values, 2) for values in precisions), shown(ece, 3)]
            print(f"| {name} | {system} | {' | '.join(cells)} |", flush=True)


def shown(values: tuple[float, ...], digits: int) -> str:
    """Give mean and standard deviation."""
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


if __name__ == "__main__":
    main()

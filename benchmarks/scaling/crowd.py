# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Depth of the tree and time to learn one example that brings many new labels, with `spread_new_labels` and without.

Run: python benchmarks/scaling/crowd.py [--labels 1000 50000]

Prints a Markdown table. By the paper's rule, which is that without `spread_new_labels`, time grows with the square of
the number of labels.
"""

from __future__ import annotations

import argparse
import time

import oplt

SHAPES = [(31, 31), (2, 100), (2, 2)]


def measure(n_labels: int, arity: int, max_leaves: int, *, spread: bool) -> tuple[int, float]:
    """Learn 40 examples of one label each, then one of many; return the depth and the seconds of the last."""
    model = oplt.OnlinePLT(arity=arity, max_leaves=max_leaves, spread_new_labels=spread, label_memory=0)
    for i in range(40):
        model.learn_one({f"shared {i % 7}": 1.0, f"own {i}": 0.5}, [f"old {i}"])
    labels = [f"new {i}" for i in range(n_labels)]
    start = time.perf_counter()
    model.learn_one({"shared 1": 1.0, "shared 2": 0.5, "new": 1.0}, labels)
    return model.depth, time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[1_000, 50_000])
    print(
        "| arity / max_leaves | new labels | depth | ms | depth by the paper's rule | ms |\n|---|---|---|---|---|---|"
    )
    for arity, max_leaves in SHAPES:
        for n_labels in parser.parse_args().labels:
            figures = [measure(n_labels, arity, max_leaves, spread=spread) for spread in (True, False)]
            cells = " | ".join(f"{depth:,} | {1000 * seconds:,.1f}" for depth, seconds in figures)
            print(f"| {arity} / {max_leaves} | {n_labels:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Choose default settings by progressive precision on the training streams; test sets are not used.

Run: OPLT_DATA=<folder> python benchmarks/tuning/run.py nvd-cpe tibkat-gnd yso-finna-en

Each block of 256 examples is predicted before it is learnt. Starting from a base, one setting at a time is varied. The
rows of the table are in the order of the runs; times are from one noisy machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

import oplt

BLOCK = 256
VARIATIONS: list[dict[str, Any]] = [
    {},
    *({"arity": arity, "max_leaves": leaves} for arity, leaves in [(2, 100), (8, 31), (16, 31), (31, 31), (16, 63)]),
    *({"arity": arity, "max_leaves": leaves} for arity, leaves in [(32, 63), (63, 63)]),
    *({"arow_r": r} for r in (0.1, 0.2, 0.3, 0.5, 1.0)),
    *({"sparsity": sparsity} for sparsity in (0.0, 0.2, 0.35, 0.5, 0.7)),
    *({"alpha": alpha} for alpha in (0.5, 0.75, 0.9, 1.0)),
    *({"learner": "adagrad", "gate": gate} for gate in (0.0, 0.1, 0.15, 0.2)),
    *({"learner": "adagrad", "learning_rate": rate} for rate in (0.5, 1.5)),
    *({"learner": "adagrad", "adagrad_eps": eps} for eps in (0.001, 0.1)),
]


def progressive(settings: dict[str, Any], X: Any, Y: list[list[int]]) -> str:
    """Predict and learn a stream; return precision in per cent, time and memory."""
    model = oplt.OnlinePLT(**{"label_memory": 0, "history": 0, **settings})
    hits = np.zeros(3)
    learning = 0.0
    for begin in range(0, len(Y), BLOCK):
        rows, labels = X[begin : begin + BLOCK], Y[begin : begin + BLOCK]
        found = model.predict_many(rows, k=5)
        hits += [len(labels) * data.precision_at(k, found, labels) for k in (1, 3, 5)]
        start = time.perf_counter()
        model.learn_many(rows, labels)
        learning += time.perf_counter() - start
    precision = " / ".join(f"{p:.2f}" for p in 100 * hits / len(Y))
    memory = f"{model.memory_bytes / 1e6:.0f} MB, {model.memory_bytes / model.n_cells:.1f} bytes/cell"
    return f"{precision} · {1e6 * learning / len(Y):.0f} µs · {memory}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--rows", type=int, default=None, help="only the first rows of each stream")
    parser.add_argument("--base", default="", help="settings to start from, for example 'arow_r=0.5,arity=32'")
    arguments = parser.parse_args()
    pairs = (pair.split("=") for pair in arguments.base.split(",") if pair)
    base = {name: float(value) if "." in value else int(value) for name, value in pairs}
    streams = []
    for name in arguments.names:
        X, Y = data.load(data.part(name, "train"))
        streams.append((X[: arguments.rows], Y[: arguments.rows]))
    print(f"| changed | {' | '.join(arguments.names)} |\n|{'---|' * (len(streams) + 1)}", flush=True)
    for variation in VARIATIONS:
        changed = ", ".join(f"{name} {value}" for name, value in variation.items()) or "nothing"
        cells = [progressive({**base, **variation}, X, Y) for X, Y in streams]
        print(f"| {changed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

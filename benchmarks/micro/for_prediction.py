# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Size and precision of models that are saved for prediction only: pruned, in half precision, or both.

Run: python benchmarks/micro/for_prediction.py nvd-cpe [--test-rows 20000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import load, part, precision_at

from oplt import PLT, OnlinePLT

WAYS: list[dict[str, Any]] = [
    {},
    {"prune": 0.05},
    {"prune": 0.1},
    {"prune": 0.2},
    {"half": True},
    {"half": True, "prune": 0.1},
]


def main() -> None:
    """Learn one model, and print a row for each way to save it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--test-rows", type=int, default=20_000)
    args = parser.parse_args()
    X, Y = load(part(args.data, "train"))
    X_test, Y_test = (rows[: args.test_rows] for rows in load(part(args.data, "test")))
    model = OnlinePLT(threads=2)
    model.learn_many(X, Y)
    whole = model.snapshot()
    print(f"{args.data}: {whole}\n\n| saved as | MB | P@1 | P@3 | P@5 |\n|---|---|---|---|---|")
    row("whole", whole, X_test, Y_test)
    for way in WAYS:
        arguments = ", ".join(f"{name}={value}" for name, value in way.items())
        row(f"`for_prediction({arguments})`", whole.for_prediction(**way), X_test, Y_test)


def row(name: str, model: PLT, X: Any, Y: list[list[int]]) -> None:
    """Print the size of the file and the precision of the model in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.oplt"
        model.save(path)
        found = PLT.load(path, threads=2).predict_many(X, k=5)
        size = path.stat().st_size
    scores = [100 * precision_at(k, found, Y) for k in (1, 3, 5)]
    print(f"| {name} | {size / 1e6:.1f} | " + " | ".join(f"{score:.2f}" for score in scores) + " |", flush=True)


if __name__ == "__main__":
    main()

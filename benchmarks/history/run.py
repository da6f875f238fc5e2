# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Cost and benefit of the history: regrown trees, pauses, forgetting.

Run: OPLT_DATA=<folder> python benchmarks/history/run.py nvd-cpe yso-finna-en [--test] [--pauses] [--forget]

One pass over the stream in its order, one thread. *learn s*: CPU time of `learn_many`. *bytes*: of the history, per
feature value of the input, everything included. *test*, with --test: P@1 / P@3 / P@5 in percent on the test set, at the
end of the stream and after a further `regrow`. *pauses*, with --pauses: the stream again, by `learn_one`; the longest
calls, in ms of wall time, with the number of the example. *forget s*, with --forget: wall time of forgetting one
example in the middle.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import data

from oplt import OnlinePLT, _core, metrics

SYSTEMS: dict[str, dict[str, Any]] = {
    "no history": {"history": 0},
    "history": {},
    "three trees, no history": {"history": 0, "trees": 3},
    "three trees, history": {"trees": 3},
}
N_PAUSES = 5


def main() -> None:
    """Print a line for each data set and system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="data sets")
    parser.add_argument("--systems", nargs="+", default=["no history", "history"], choices=list(SYSTEMS))
    parser.add_argument("--test", action="store_true", help="also evaluate on the test set")
    parser.add_argument("--pauses", action="store_true", help="also measure single calls of learn_one")
    parser.add_argument("--forget", action="store_true", help="also forget an example")
    arguments = parser.parse_args()
    for name in arguments.names:
        train = data.load(data.part(name, "train"))
        test = data.load(data.part(name, "test")) if arguments.test else None
        for system in arguments.systems:
            words = [f"{name}, {system}:", *measured(SYSTEMS[system], train, test)]
            words += [pauses(SYSTEMS[system], train)] if arguments.pauses else []
            words += [forgetting(SYSTEMS[system], train)] if arguments.forget and "no" not in system else []
            print(" ".join(words), flush=True)


def measured(settings: dict[str, Any], train: Any, test: Any) -> list[str]:
    """Learn the stream; then test, before and after a further regrowth."""
    X, Y = train
    model = OnlinePLT(**settings)
    start = time.process_time()
    model.learn_many(X, Y)
    words = [f"learn s {time.process_time() - start:.2f}"]
    n_bytes = _core.memory_parts(model._core.snapshot())["history"]  # noqa: SLF001
    words += [f"memory {model.memory_bytes / 1e6:.0f} MB, history {n_bytes / X.nnz:.2f} bytes"]
    words += [f"test {scored(model, *test)}"] if test else []
    if model.has_history and test:
        start = time.process_time()
        model.regrow()
        words += [f"regrow s {time.process_time() - start:.2f}", f"test {scored(model, *test)}"]
    return words


def scored(model: OnlinePLT, X: Any, Y: list[list[int]]) -> str:
    """Give P@1 / P@3 / P@5 and ECE@1."""
    scores = metrics.Scores()
    scores.add(model.predict_many(X, k=5), Y)
    first = metrics.Scores(k=1)
    first.add(model.predict_many(X, k=1), Y)
    return " / ".join(f"{100 * scores.precision(k):.2f}" for k in scores.k) + f", ECE@1 {first.ece(1):.3f}"


def pauses(settings: dict[str, Any], train: Any) -> str:
    """Give the longest calls of learn_one."""
    X, Y = train
    rows = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
    model = OnlinePLT(**settings)
    longest: list[tuple[float, int]] = []
    for number, (row, labels) in enumerate(zip(rows, Y, strict=True)):
        start = time.perf_counter()
        model.learn_one(row, labels)
        took = 1000 * (time.perf_counter() - start)
        if len(longest) < N_PAUSES:
            heapq.heappush(longest, (took, number))
        else:
            heapq.heappushpop(longest, (took, number))
    return "pauses " + ", ".join(f"{took:.1f} ({number})" for took, number in sorted(longest, reverse=True))


def forgetting(settings: dict[str, Any], train: Any) -> str:
    """Give the time of forgetting one example, relative to learning the stream."""
    X, Y = train
    model = OnlinePLT(**settings)
    start = time.perf_counter()
    model.learn_many(X, Y)
    learning = time.perf_counter() - start
    start = time.perf_counter()
    model.forget(len(Y) // 2)
    return f"forget s {time.perf_counter() - start:.2f} (learning {learning:.2f})"


if __name__ == "__main__":
    main()

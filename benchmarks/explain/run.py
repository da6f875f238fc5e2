# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How long explain() takes, compared with predict_one().

Run: OPLT_DATA=<folder> python benchmarks/explain/run.py [nvd-cpe] [--texts 2000] [--model FILE]

Trains the default model for texts on $OPLT_DATA/<name>/train.jsonl.xz, or loads FILE if it exists and saves the model
there if it does not. Then, for each of the first texts of test.jsonl.xz, calls predict_one, explain for the best label,
explain for a label that was drawn at random and is hardly ever predicted, and formats the explanation as text and as a
page. Every explained probability is compared with the predicted one: "bit-equal" must be the number of texts.

"CPU" is the CPU time of the calling thread, which does not count the time in which a busy machine runs other processes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from oplt import PLT, OnlinePLT, files


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="nvd-cpe")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ.get("OPLT_DATA", ".")) / given.name
    if not (folder / "train.jsonl.xz").exists():
        sys.exit(f"{folder} has no train.jsonl.xz: set OPLT_DATA to the folder that contains {given.name}")
    model = _model(folder, given.model)
    texts = [x for x, _, _ in next(files.read(folder / "test.jsonl.xz", batch=given.texts))]
    labels = random.Random(0).choices(model.labels[:], k=len(texts))
    times: dict[str, list[tuple[float, float]]] = {}  # seconds: wall clock, CPU

    def timed(what: str, call: Callable[[], Any]) -> Any:
        begin, cpu = time.perf_counter(), time.thread_time()
        result = call()
        times.setdefault(what, []).append((time.perf_counter() - begin, time.thread_time() - cpu))
        return result

    n_equal = 0
    for text, label in zip(texts, labels, strict=True):
        predicted = timed("predict_one", lambda text=text: model.predict_one(text))
        found = timed("explain, best label", lambda text=text: model.explain(text))
        other = timed("explain, a random label", lambda text=text, label=label: model.explain(text, label))
        timed("str", lambda found=found: str(found))
        timed("to_html", lambda found=found: found.to_html())
        alone = model.predict_one(text, k=1, allow=[label])
        n_equal += (found.label, found.probability) == predicted[0] and (label, other.probability) == alone[0]
    print(f"{given.name}: {model!r}; {len(texts):,} texts, bit-equal {n_equal:,}")
    print("| call | median ms | p99 ms | median CPU ms | p99 CPU ms |\n|---|---|---|---|---|")
    for what, seconds in times.items():
        numbers = 1000 * np.quantile(seconds, [0.5, 0.99], axis=0).T.reshape(-1)
        print(f"| {what} | {' | '.join(f'{number:.2f}' for number in numbers)} |")


def _model(folder: Path, path: Path | None) -> PLT:
    if path is not None and path.exists():
        return PLT.load(path)
    model = OnlinePLT(features="text", threads=os.cpu_count() or 1)
    for batch in files.read(folder / "train.jsonl.xz"):
        model.learn_many(batch.X, batch.Y)
    if path is not None:
        model.save(path)
    return model.snapshot()


if __name__ == "__main__":
    main()

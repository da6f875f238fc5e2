# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learn and predict one data set in a process of its own and print figures as JSON; `compare.py` starts it.

Run: python benchmarks/concurrency/compare_worker.py <data set> <preset> <threads> <pin: 0 or 1> <digest: 0 or 1>
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import as_dicts, data
from presets import BATCH, FIXED, PRESETS

import oplt
from oplt import OnlinePLT

try:
    from oplt.tree import kmeans
except ImportError:  # a version that has it in another module
    from oplt.trees import kmeans

N_MANY = 20_000  # rows of predict_many
N_ONE = 2_000  # calls of predict_one and of learn_one


def trainer(preset: str, X: Any, Y: Any, threads: int) -> Callable[[], Any]:
    """Return the call to time. A tree that the model starts from is built before."""
    if preset == BATCH:
        tree = kmeans(X, Y)
        if hasattr(oplt, "PLT"):
            return lambda: oplt.PLT.fit(X, Y, trees=tree, threads=threads)
        return lambda: OnlinePLT.fit_batch(X, Y, tree=tree, threads=threads)
    constructor, settings = PRESETS[preset]
    start = [kmeans(X, Y)] if preset == FIXED else []

    def learn() -> OnlinePLT:
        make = OnlinePLT if constructor is None else getattr(OnlinePLT, constructor)
        model = make(*start, **settings, threads=threads)
        model.learn_many(X, Y)
        return model

    return learn


def timed(function: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Measure the CPU time of the process and the wall time of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = function()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}, found


def core_of(model: OnlinePLT) -> Any:
    """Return the object that has trees and classifiers: the model's core or, in newer versions, a snapshot's."""
    holders = [model, *([model.snapshot()] if hasattr(model, "snapshot") else [])]
    candidates = [getattr(holder, "_core", None) for holder in holders]
    candidates += [part for holder in holders for part in getattr(holder, "__dict__", {}).values()]
    for core in candidates:
        if all(callable(getattr(core, name, None)) for name in ("tree", "classifier", "label_names")):
            return core
    msg = "core_of finds no tree(), classifier() and label_names() in this version of oplt: please extend it"
    raise SystemExit(msg)


def digest_of_trees(model: OnlinePLT) -> str:
    """Compute a digest of all nodes: parent, label, and the cells of the classifier and of the auxiliary one."""
    core = core_of(model)
    digest = hashlib.blake2b(digest_size=16)
    for number in range(model.settings.get("trees", 1)):
        parents, ids = core.tree(number)
        digest.update(np.ascontiguousarray(parents, "<u4"))
        leaves = np.flatnonzero(ids != np.iinfo(np.uint32).max)
        names = list(core.label_names(np.ascontiguousarray(ids[leaves], np.uint32)))
        digest.update(json.dumps([leaves.tolist(), names]).encode())
        for node in range(len(parents)):
            for auxiliary in (False, True):
                add_cells(digest, core.classifier(node, auxiliary=auxiliary, tree=number))
    return digest.hexdigest()


def add_cells(digest: Any, cells: Any) -> None:
    """Add a classifier, or a missing one, to the digest. The order of its cells does not matter."""
    if cells is None:
        digest.update(b"none")
        return
    features, weights, accumulators = cells
    order = np.argsort(features, kind="stable")
    digest.update(len(order).to_bytes(8, "little"))
    for part, kind in ((features, "<u4"), (weights, "<f4"), (accumulators, "<f4")):
        digest.update(np.ascontiguousarray(part[order], kind))


def digest_of_predictions(found: Any) -> str:
    """Compute a digest of labels and probabilities."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(np.ascontiguousarray(found.indptr, "<i8"))
    digest.update(json.dumps(found.labels.tolist()).encode())
    digest.update(np.ascontiguousarray(found.scores, "<f4"))
    return digest.hexdigest()


def run(name: str, preset: str, threads: int, *, digest: bool) -> dict[str, Any]:
    """Measure."""
    X, Y = data.load(data.part(name, "train"))
    X_test, _ = data.load(data.part(name, "test"))
    X_test = X_test[:N_MANY]
    rows = as_dicts(X[:N_ONE])
    times = {}
    times["fit_batch" if preset == BATCH else "learn_many"], model = timed(trainer(preset, X, Y, threads))
    times["predict_many"], found = timed(lambda: model.predict_many(X_test, 5))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result: dict[str, Any] = {"memory": model.memory_bytes, "peak": peak, "times": times}
    if digest:
        result["digests"] = {"trees": digest_of_trees(model), "predictions": digest_of_predictions(found)}
    times["predict_one"], _ = timed(lambda: [model.predict_one(x, 5) for x in rows])
    if preset != BATCH:  # a batch-trained model cannot be updated
        times["learn_one"], _ = timed(lambda: [model.learn_one(x, y) for x, y in zip(rows, Y, strict=False)])
        if digest:
            result["digests"]["trees after learn_one"] = digest_of_trees(model)
    return result


def main() -> None:
    """Print the figures."""
    name, preset, threads, pin, digest = sys.argv[1:]
    if int(pin):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.dumps(run(name, preset, int(threads), digest=bool(int(digest)))))


if __name__ == "__main__":
    main()

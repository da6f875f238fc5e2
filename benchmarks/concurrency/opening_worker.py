# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Open or make one model in a process of its own and print figures as JSON; `opening.py` starts it.

Run: python benchmarks/concurrency/opening_worker.py make <file to write> <data set> [<file to read>]
     python benchmarks/concurrency/opening_worker.py load <file> <OnlinePLT or PLT> <True or False: verify>
     python benchmarks/concurrency/opening_worker.py share <file> <rows> <OnlinePLT or PLT> <True or False: verify>

Prints null if this version of oplt does not have the call.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memory
import scipy.sparse as sp
from common import as_dicts, can_save_in_background, can_skip_verification, data, has_snapshot, seconds

import oplt

N_SAVES = 3
N_LOADS = 5
N_SNAPSHOTS = 20


def summary(times: list[float]) -> dict[str, Any]:
    """Summarise the durations of several calls."""
    return {"median": statistics.median(times), "max": max(times)}


def make(path: str, name: str, source: str | None = None) -> dict[str, Any]:
    """Learn a data set, or open a model, and time operations on it."""
    X, Y = data.load(data.part(name, "train"))
    if source is None:
        model = oplt.OnlinePLT()
        model.learn_many(X, Y)
    else:
        model = oplt.OnlinePLT.load(source)
    ones = itertools.cycle(zip(as_dicts(X[-1000:]), Y[-1000:], strict=True))
    del X, Y
    calls: dict[str, Any] = {"save()": saves(model, path)}
    calls["save(wait=False), until it returns"] = calls["save(wait=False), until it is done"] = None
    if can_save_in_background():
        started, done = zip(*(save_in_background(model, path) for _ in range(N_SAVES)), strict=True)
        calls["save(wait=False), until it returns"] = summary(list(started))
        calls["save(wait=False), until it is done"] = summary(list(done))
    return {"model": repr(model), "size": model.memory_bytes, "calls": calls | snapshots(model, ones)}


def saves(model: Any, path: str) -> dict[str, Any]:
    """Time saving; measure memory during the first call."""
    with memory.watching() as used:
        model.save(path)
    return summary([seconds(model.save, path) for _ in range(N_SAVES)]) | {"memory": used}


def save_in_background(model: Any, path: str) -> tuple[float, float]:
    """Return the seconds until the call returns, and until the file exists."""
    begin = time.perf_counter()
    future = model.save(path, wait=False)
    started = time.perf_counter() - begin
    future.result()
    return started, time.perf_counter() - begin


def snapshots(model: Any, ones: Iterator[tuple[Any, Any]]) -> dict[str, Any]:
    """Time snapshots, and what they cost the next learn_one. The newest snapshot is always held."""
    learnt = [seconds(model.learn_one, *next(ones)) for _ in range(N_SNAPSHOTS)]
    calls: dict[str, Any] = {"learn_one": summary(learnt)}
    calls |= dict.fromkeys(("snapshot()", "snapshot() right after learn_one", "learn_one right after snapshot()"))
    if not has_snapshot():
        return calls
    held = None

    def take() -> None:
        nonlocal held
        held = model.snapshot()

    calls["snapshot()"] = summary([seconds(take) for _ in range(N_SNAPSHOTS)])
    pairs = [(seconds(model.learn_one, *next(ones)), seconds(take)) for _ in range(N_SNAPSHOTS)]
    calls["learn_one right after snapshot()"] = summary([learn for learn, _ in pairs])
    calls["snapshot() right after learn_one"] = summary([snapshot for _, snapshot in pairs])
    del held
    return calls


def opener(path: str, class_name: str, verify: str) -> Callable[[], Any] | None:
    """Return the call that opens the file, None if this version of oplt does not have it."""
    cls = getattr(oplt, class_name, None)
    if cls is None or (verify == "False" and not can_skip_verification()):
        return None
    return (lambda: cls.load(path, verify=False)) if verify == "False" else (lambda: cls.load(path))


def load(path: str, class_name: str, verify: str) -> dict[str, Any] | None:
    """Time opening the file; measure memory during the first call."""
    Path(path).read_bytes()  # into the page cache
    call = opener(path, class_name, verify)
    if call is None:
        return None
    with memory.watching() as used:
        model = call()
    del model
    return summary([seconds(call) for _ in range(N_LOADS)]) | {"memory": used}


def share(path: str, rows: str, class_name: str, verify: str) -> dict[str, Any] | None:
    """Open the file, predict, and return the increase in memory."""
    call = opener(path, class_name, verify)
    if call is None:
        return None
    X = sp.csr_array(sp.load_npz(rows))
    before = memory.rollup()
    model = call()
    found: dict[str, Any] = {when: seconds(model.predict_many, X, 5) for when in ("first", "again")}
    after = memory.rollup()
    print(json.dumps(found | {name: after[name] - before[name] for name in after}), flush=True)
    sys.stdin.read()  # hold the model until the other process has measured
    sys.exit()


def main() -> None:
    """Print the answer of one task."""
    task, *arguments = sys.argv[1:]
    print(json.dumps({"make": make, "load": load, "share": share}[task](*arguments)), flush=True)


if __name__ == "__main__":
    main()

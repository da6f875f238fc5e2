# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learns a small stream with the kernels that OPLT_KERNELS names, and prints digests of what comes out of it."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from oplt import PLT, OnlinePLT, _core
from oplt.datasets import make_stream

MODELS: dict[str, Callable[[], OnlinePLT]] = {
    "defaults": OnlinePLT,
    "tree alone": lambda: OnlinePLT(label_memory=0),
    "paper": OnlinePLT.paper,
    "blocks of several mask words": lambda: OnlinePLT(policy="flat", label_memory=0),
}


def digests(model: OnlinePLT) -> dict[str, str]:
    """Learn, predict, save; predict again in half precision."""
    X, Y = map(list, zip(*make_stream(1500, n_labels=150, seed=3), strict=True))
    model.learn_many(X[:1000], Y[:1000])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.oplt"))
        file = Path(folder, "m.oplt").read_bytes()
    return {
        "fingerprint": model.fingerprint(),
        "file": hashlib.sha256(file).hexdigest(),
        "predictions": _of_predictions(model, X[1000:]),
        "in half precision": _of_predictions(model.snapshot().for_prediction(half=True), X[1000:]),
    }


def _of_predictions(model: OnlinePLT | PLT, X: list[dict[str, float]]) -> str:
    return hashlib.sha256(repr(list(model.predict_many(X, k=5))).encode()).hexdigest()


if __name__ == "__main__":
    found = {name: digests(make()) for name, make in MODELS.items()}
    print(json.dumps({"kernels": _core.kernels_in_use(), "digests": found}))  # noqa: T201 (for the test)

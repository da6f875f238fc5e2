# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Streams and served models for the tests of the service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oplt import OnlinePLT
from oplt.datasets import make_stream
from oplt.service.examples import Example
from oplt.service.folder import start_empty
from oplt.service.served_model import ServedModel
from oplt.service.settings import ServingSettings

PATIENCE = 120  # seconds: for machines that are slow and busy


def stream(n: int, seed: int = 1, key: str | None = None) -> list[Example]:
    """Make examples with named features."""
    found = []
    for i, (x, labels) in enumerate(make_stream(n, n_labels=40, seed=seed)):
        features = {str(name): float(value) for name, value in x.items()}
        found.append(Example(features=features, labels=list(labels), key=None if key is None else f"{key}/{i}"))
    return found


def twin_of(examples: Sequence[Example], model: OnlinePLT | None = None) -> OnlinePLT:
    """Learn examples in a model that was never served."""
    twin = model or OnlinePLT()
    twin.learn_many([one.features for one in examples], [one.labels for one in examples])
    return twin


def until(condition: Callable[[], Any], what: str = "the condition") -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.01)


@contextmanager
def served(folder: Path, *, snapshot_at_end: bool = True, **settings: Any) -> Iterator[ServedModel]:
    """Serve the model in a folder."""
    model = ServedModel(folder, ServingSettings(**settings))
    try:
        yield model
    finally:
        model.close(snapshot=snapshot_at_end)


def new_folder(tmp_path: Path, *, texts: bool = False) -> Path:
    """Make the folder of an empty model."""
    return start_empty(tmp_path / "model.oplt", texts=texts)


def learn_all(model: ServedModel, examples: Sequence[Example], batch: int = 50) -> list[int]:
    """Send examples in batches, and wait until they have been learned."""
    positions: list[int] = []
    for begin in range(0, len(examples), batch):
        positions += model.learn(examples[begin : begin + batch]).result(PATIENCE)
    model.learner.when_learned(max(positions)).result(PATIENCE)
    return positions

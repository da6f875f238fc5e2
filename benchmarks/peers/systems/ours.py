# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""oplt itself: one pass, then the exact top 5."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure

import oplt


class Ours(Library):
    """An `OnlinePLT` with some settings."""

    def __init__(self, preset: str, threads: int) -> None:
        make = {"default": oplt.OnlinePLT, "paper": oplt.OnlinePLT.paper}[preset]
        self.model = make(threads=threads)

    def learn(self) -> None:
        """One pass in the order of the file."""
        self.model.learn_many(self.X, self.Y)

    def save(self, path: Path) -> None:
        """One file."""
        self.model.save(path)

    def predict(self, X: Any) -> Any:
        """All rows at once."""
        return self.model.predict_many(X, k=TOP)

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Leave out the probabilities."""
        return ([label for label, _ in row] for row in found)


def run(data: DataSet, workdir: Path, *, preset: str, threads: int = 1) -> Result:
    """Measure our model."""
    return measure(Ours(preset, threads), data, workdir)

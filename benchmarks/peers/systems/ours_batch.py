# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""oplt trained in a batch: Parabel's trees and classifiers, then the exact top labels of each tree, averaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure

from oplt import PLT


class OursBatch(Library):
    """`PLT.fit` with its default settings, which are those of omikuji."""

    model: PLT

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees

    def learn(self) -> None:
        """Cluster the labels and train the trees, one after the other."""
        self.model = PLT.fit(self.X, self.Y, trees=self.n_trees)

    def save(self, path: Path) -> None:
        """One file."""
        self.model.save(path)

    def predict(self, X: Any) -> Any:
        """Predict all rows in one call."""
        return self.model.predict_many(X, k=TOP)

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Drop the probabilities."""
        for answer in found:
            yield [label for label, _ in answer]


def run(data: DataSet, workdir: Path, *, n_trees: int) -> Result:
    """Measure our batch models."""
    return measure(OursBatch(n_trees), data, workdir)

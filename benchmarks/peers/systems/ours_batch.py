# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""oplt trained at once: Parabel's trees and classifiers, then the exact top 5 of each tree, averaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure

import oplt


class OursBatch(Library):
    """`OnlinePLT.fit_batch` with its default settings, which are those of omikuji."""

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees

    def learn(self) -> None:
        """Cluster the labels and train the trees, one after the other."""
        models = [oplt.OnlinePLT.fit_batch(self.X, self.Y, seed=seed) for seed in range(self.n_trees)]
        self.model = models[0] if self.n_trees == 1 else oplt.Ensemble(models)

    def save(self, path: Path) -> None:
        """One file."""
        self.model.save(path)

    def predict(self, X: Any) -> Any:
        """All rows at once."""
        return self.model.predict_many(X, k=TOP)

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Leave out the probabilities."""
        return ([label for label, _ in row] for row in found)


def run(data: DataSet, workdir: Path, *, n_trees: int) -> Result:
    """Measure our batch models."""
    return measure(OursBatch(n_trees), data, workdir)

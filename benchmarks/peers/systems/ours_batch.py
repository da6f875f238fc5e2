# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""oplt trained at once: Parabel's trees and classifiers, then the exact top 5 of each tree, averaged."""

from __future__ import annotations

from pathlib import Path

from common import DataSet, Result
from libraries import measure

from oplt import Ensemble, OnlinePLT
from systems.ours import Own


class OursBatch(Own):
    """`OnlinePLT.fit_batch` with its default settings, which are those of omikuji."""

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees

    def learn(self) -> None:
        """Cluster the labels and train the trees, one after the other."""
        models = [OnlinePLT.fit_batch(self.X, self.Y, seed=seed) for seed in range(self.n_trees)]
        self.model = models[0] if self.n_trees == 1 else Ensemble(models)


def run(data: DataSet, workdir: Path, *, n_trees: int) -> Result:
    """Measure our batch models."""
    return measure(OursBatch(n_trees), data, workdir)

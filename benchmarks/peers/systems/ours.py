# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""oplt itself: one pass, then the top 5."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import TOP, DataSet, Result
from libraries import Library, measure

from oplt import OnlinePLT
from oplt.tree import kmeans

PAPER = OnlinePLT.paper().settings
SAMPLE = 10  # the paper warm-starts from one in this many rows


class Own(Library):
    """A model of oplt, trained online or in batch."""

    model: OnlinePLT
    beam: int | None = None

    def save(self, path: Path) -> None:
        """One file."""
        self.model.save(path)

    def predict(self, X: Any) -> Any:
        """Predict all rows in one call."""
        return self.model.predict_many(X, k=TOP, beam=self.beam)

    def labels(self, found: Any) -> Iterable[list[int]]:
        """Drop the probabilities."""
        return ([label for label, _ in row] for row in found)


class Ours(Own):
    """An `OnlinePLT` with some settings. Building a tree counts as learning."""

    def __init__(self, preset: str, threads: int, beam: int | None) -> None:
        self.make = getattr(self, preset)
        self.threads = threads
        self.beam = beam

    def default(self) -> OnlinePLT:
        """Start empty, with the default settings."""
        return OnlinePLT(threads=self.threads)

    def tree(self) -> OnlinePLT:
        """Start empty, without a label memory."""
        return OnlinePLT(label_memory=0, threads=self.threads)

    def paper(self) -> OnlinePLT:
        """Start empty, with the paper's settings."""
        return OnlinePLT(**PAPER, threads=self.threads)

    def iplt(self) -> OnlinePLT:
        """Start from the tree of all labels, as the paper's IPLT does."""
        shape = {name: PAPER[name] for name in ("arity", "max_leaves")}
        tree = kmeans(self.X, self.Y, **shape, threads=self.threads)
        return OnlinePLT.from_tree(tree, **{**PAPER, "policy": "fixed"}, threads=self.threads)

    def warm_start(self) -> OnlinePLT:
        """Warm-start from a sample, as the paper's OPLT-W does: the first rows, which are in random order."""
        n = self.X.shape[0] // SAMPLE
        return OnlinePLT.warm_start(self.X[:n], self.Y[:n], **PAPER, threads=self.threads)

    def learn(self) -> None:
        """One pass in the order of the file."""
        self.model = model = self.make()
        n = model.n_examples
        rest = (self.X[n:], self.Y[n:]) if n > 0 else (self.X, self.Y)  # a slice is a copy
        model.learn_many(*rest)


def run(data: DataSet, workdir: Path, *, preset: str, threads: int = 1, beam: int | None = None) -> Result:
    """Measure our model."""
    return measure(Ours(preset, threads, beam), data, workdir)

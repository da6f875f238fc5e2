# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Answers to many examples."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oplt._typing import FloatArray, IdArray, Label, PointerArray

__all__ = ["Predictions", "named"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The labels predicted for each example, most probable first; never a dense matrix.

    Those of example i are `labels[indptr[i]:indptr[i + 1]]`. Iterating or indexing gives them as lists of
    (label, probability).

    Attributes
    ----------
    labels
        Names of the labels, an array of objects.
    scores
        Their probabilities, float32.
    indptr
        Where each example's labels begin and end.
    n_examples
        How many examples the model had learnt when it answered.
    """

    labels: npt.NDArray[np.object_]
    scores: FloatArray
    indptr: PointerArray
    n_examples: int

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[tuple[Label, float]]], *, n_examples: int = 0) -> Predictions:
        """Make them of lists of (label, probability), best first: answers of `predict_one`, or of another system.

        Examples
        --------
        >>> Predictions.from_rows([[("cat", 0.9), ("dog", 0.2)], []])
        <Predictions for 2 examples: 2 labels>
        """
        lists = [list(row) for row in rows]
        pairs = [pair for row in lists for pair in row]
        labels = np.empty(len(pairs), dtype=object)
        labels[:] = [label for label, _ in pairs]
        scores = np.array([score for _, score in pairs], dtype=np.float32)
        indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(labels, scores, indptr, n_examples)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, row: int) -> list[tuple[Label, float]]:
        row = operator.index(row)
        if not -len(self) <= row < len(self):
            msg = f"row {row} of {len(self)} predictions"
            raise IndexError(msg)
        begin, end = self.indptr[row % len(self)], self.indptr[row % len(self) + 1]
        return list(zip(self.labels[begin:end].tolist(), self.scores[begin:end].tolist(), strict=True))

    def __iter__(self) -> Iterator[list[tuple[Label, float]]]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<Predictions for {len(self)} examples: {len(self.labels)} labels>"


def named(ids: IdArray, names_of: Callable[[IdArray], list[Label]]) -> npt.NDArray[np.object_]:
    """Names of many ids, asking once for each distinct one."""
    distinct, places = np.unique(ids, return_inverse=True)
    names = np.empty(len(distinct), dtype=object)
    names[:] = names_of(distinct)
    return names[places.reshape(-1)]

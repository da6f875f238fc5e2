# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The reports of progressive validation, and how they are computed. Users find them in `oplt.evaluate`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from oplt._typing import Label
from oplt.metrics import Scores
from oplt.predictions import Predictions

__all__ = ["Bucket", "Report", "Run"]

_Integers: TypeAlias = npt.NDArray[np.int64]

# Number of rows that are scored in one batch: large enough for NumPy, small enough for memory. Results do not depend on
# it.
_CHUNK = 4096


@dataclass(frozen=True)
class Bucket:
    """Labels whose frequency or age was in the range [low, high) at the time of the prediction.

    Attributes
    ----------
    low, high
        The range; `high` is None for the last range, which is unbounded.
    n_true, n_predicted, n_hits
        The number of times that such a label was true, was among the first k predicted, and both.

    Examples
    --------
    >>> rare = Bucket(low=0, high=10, n_true=8, n_predicted=3, n_hits=2)
    >>> rare.recall, round(rare.precision, 3)
    (0.25, 0.667)
    """

    low: int
    high: int | None
    n_true: int
    n_predicted: int
    n_hits: int

    @property
    def recall(self) -> float:
        """Recall: the fraction of the true labels that were predicted; NaN if there was none."""
        return self.n_hits / self.n_true if self.n_true else float("nan")

    @property
    def precision(self) -> float:
        """Precision: the fraction of the predicted labels that were true; NaN if there was none."""
        return self.n_hits / self.n_predicted if self.n_predicted else float("nan")


@dataclass(frozen=True)
class Report:
    """Metrics of the predictions up to some point of a stream.

    Attributes
    ----------
    n_examples, n_labels
        Number of examples and of distinct labels so far.
    total, window
        The metrics of `oplt.metrics.Scores.result` over all examples so far, and over the window.
    new_labels, window_new_labels
        Mean number of new labels per example, over all examples so far and over the window.
    tail, torso, head
        Labels by their number of earlier occurrences: rare, medium and frequent ones.
    by_occurrences
        Labels by their number of earlier occurrences, in ranges that double: 0, 1, 2 to 3, 4 to 7, …
    by_age
        Labels by age, the number of examples since they first occurred: 0 (in this example, or not yet), 1, 2 to 3, …

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> from oplt.evaluate import progressive
    >>> (report,) = progressive(OnlinePLT(), [({"purrs": 1}, "cat"), ({"barks": 1}, "dog"), ({"barks": 1}, "dog")], k=1)
    >>> print(report)
    3 examples, 2 labels: P@1 0.3333
    >>> report.by_occurrences[1]  # labels that had occurred once
    Bucket(low=1, high=2, n_true=1, n_predicted=2, n_hits=1)
    """

    n_examples: int
    n_labels: int
    total: dict[str, float]
    window: dict[str, float]
    new_labels: float
    window_new_labels: float
    tail: Bucket
    torso: Bucket
    head: Bucket
    by_occurrences: tuple[Bucket, ...]
    by_age: tuple[Bucket, ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in self.total.items() if name.startswith("P@"))
        return f"{self.n_examples:,} examples, {self.n_labels:,} labels: {shown}"


class _Tally:
    """Counts of true labels, predicted labels and hits, by ranges of a number."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds  # where each range but the first begins
        self._counts = np.zeros((len(bounds) + 1, 3), dtype=np.int64)

    def add(self, numbers: _Integers, kinds: _Integers) -> None:
        """Add labels, each with its number and with columns that say whether it is true, predicted, and both."""
        np.add.at(self._counts, np.searchsorted(self._bounds, numbers, side="right"), kinds)

    def buckets(self) -> list[Bucket]:
        lows, highs = [0, *self._bounds], [*self._bounds, None]
        return [
            Bucket(low, high, *counts) for low, high, counts in zip(lows, highs, self._counts.tolist(), strict=True)
        ]

    def used(self) -> tuple[Bucket, ...]:
        """Return the buckets up to the last one that is not empty."""
        buckets = self.buckets()
        while buckets and not buckets[-1].n_true and not buckets[-1].n_predicted:
            buckets.pop()
        return tuple(buckets)


class Run:
    """The state of progressive validation after a part of the stream."""

    def __init__(self, cutoffs: list[int], window: int, frequencies: tuple[int, int]) -> None:
        self.k = cutoffs[-1]
        self._cutoffs = cutoffs
        self._total = Scores(cutoffs)
        self._unscored: list[_Row] = []
        self._untallied: list[tuple[int, ...]] = []  # occurrences before, age, is it true, predicted, both
        self._window: deque[_Row] = deque(maxlen=window)
        self._n_examples = 0
        self._seen: dict[Label, tuple[int, int]] = {}  # examples before its birth, occurrences
        doubling = [1 << power for power in range(62)]
        self._frequency, self._occurrences, self._age = _Tally(frequencies), _Tally(doubling), _Tally(doubling)

    def add(self, predicted: list[tuple[Label, float]], labels: list[Label]) -> None:
        """Add an example with its distinct labels."""
        true, found = set(labels), {label for label, _ in predicted}
        n_labels = len(self._seen)
        for label in true | found:
            is_true, is_found = label in true, label in found
            birth, n_before = self._seen.get(label, (self._n_examples, 0))
            self._untallied.append((n_before, self._n_examples - birth, is_true, is_found, is_true and is_found))
            if is_true:
                self._seen[label] = (birth, n_before + 1)
        self._n_examples += 1

        row = _Row(predicted, labels, len(self._seen) - n_labels)
        self._window.append(row)
        self._unscored.append(row)
        if len(self._unscored) == _CHUNK:
            self._score()

    def _score(self) -> None:
        _add_rows(self._total, self._unscored)
        self._unscored.clear()
        labels = np.array(self._untallied, dtype=np.int64).reshape(-1, 5)
        self._untallied.clear()
        n_before, age, kinds = labels[:, 0], labels[:, 1], labels[:, 2:]
        self._frequency.add(n_before, kinds)
        self._occurrences.add(n_before, kinds)
        self._age.add(age, kinds)

    def report(self) -> Report:
        """Make a report of the predictions so far."""
        self._score()
        recent = Scores(self._cutoffs)
        _add_rows(recent, self._window)
        n_recent_births = sum(row.n_births for row in self._window)
        tail, torso, head = self._frequency.buckets()
        return Report(
            n_examples=self._n_examples,
            n_labels=len(self._seen),
            total=self._total.result(),
            window=recent.result(),
            new_labels=_mean(len(self._seen), self._n_examples),
            window_new_labels=_mean(n_recent_births, len(self._window)),
            tail=tail,
            torso=torso,
            head=head,
            by_occurrences=self._occurrences.used(),
            by_age=self._age.used(),
        )


@dataclass(frozen=True)
class _Row:
    predicted: list[tuple[Label, float]]
    labels: list[Label]
    n_births: int


def _add_rows(scores: Scores, rows: Iterable[_Row]) -> None:
    rows = list(rows)
    scores.add(Predictions.from_rows(row.predicted for row in rows), [row.labels for row in rows])


def _mean(total: int, n: int) -> float:
    return total / n if n else float("nan")

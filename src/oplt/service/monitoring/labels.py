# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How often each label occurred lately, and whether it was predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from oplt.service.examples import Name

__all__ = ["LabelCounts", "LabelsPart", "RecentLabels"]

_EXAMPLES = 5000
_LABELS = 10_000
_TOGETHER = 256


class LabelCounts(msgspec.Struct, array_like=True):
    """How often a label occurred; how often this was in a predicted example, and it was among the first five there."""

    n: int = 0
    predicted: int = 0
    found: int = 0

    @classmethod
    def total(cls, parts: Sequence[LabelCounts]) -> LabelCounts:
        """Add up."""
        if len(parts) == 1:
            return cls(parts[0].n, parts[0].predicted, parts[0].found)
        return cls(sum(one.n for one in parts), sum(one.predicted for one in parts), sum(one.found for one in parts))


class LabelsPart(msgspec.Struct):
    """The counts over a part of the stream, as they are stored."""

    n_examples: int = 0
    labels: list[tuple[Name, LabelCounts]] = msgspec.field(default_factory=list)


class RecentLabels:
    """Counts the labels of the latest 5,000 to 10,000 examples.

    There are two parts, the present one and the one before. A part ends after 5,000 examples, or with 10,000 labels; so
    the memory is bounded, and what is old is dropped as a whole.
    """

    def __init__(self) -> None:
        self._n = [0, 0]  # examples: before, now
        self._parts: list[dict[Name, LabelCounts]] = [{}, {}]
        self._n_waiting = 0  # examples that are not counted yet: counting many together takes less time
        self._waiting: list[Name] = []

    def add(self, n_examples: int, labels: Iterable[Name]) -> None:
        """Count learned examples and all their labels, under any of their names."""
        self._n_waiting += n_examples
        self._waiting += labels
        if self._n_waiting >= _TOGETHER or len(self._waiting) >= _TOGETHER:
            self._count()

    def _count(self) -> None:
        if self._n[1] >= _EXAMPLES or len(self._parts[1]) >= _LABELS:
            self._n, self._parts = [self._n[1], 0], [self._parts[1], {}]
        self._n[1] += self._n_waiting
        for label, n in Counter(self._waiting).items():
            self._of(label).n += n
        self._n_waiting, self._waiting = 0, []

    def _of(self, label: Name) -> LabelCounts:
        found = self._parts[1].get(label)
        if found is None:
            found = self._parts[1][label] = LabelCounts()
        return found

    def add_prediction(self, label: Name, *, is_found: bool) -> None:
        """Count whether a label of a predicted example was found."""
        counts = self._of(label)
        counts.predicted += 1
        counts.found += is_found

    @property
    def n_examples(self) -> int:
        """Number of examples that are counted."""
        self._count()
        return sum(self._n)

    def counts(self, names: Iterable[Name]) -> dict[Name, LabelCounts]:
        """Return the counts of those of these labels that occurred."""
        self._count()
        found = {}
        for label in names:
            parts = [part[label] for part in self._parts if label in part]
            if parts:
                found[label] = LabelCounts.total(parts)
        return found

    def rows(self) -> list[tuple[Name, int, int]]:
        """Return, for each label and part, how often it occurred, and how often it was not found. Labels may repeat."""
        self._count()
        return [(label, one.n, one.predicted - one.found) for part in self._parts for label, one in part.items()]

    def keep(self, is_kept: Callable[[Name], bool]) -> None:
        """Drop all other labels."""
        self._count()
        self._parts = [{label: one for label, one in part.items() if is_kept(label)} for part in self._parts]

    def save(self) -> list[LabelsPart]:
        """Return plain values to store."""
        self._count()
        return [LabelsPart(n, list(part.items())) for n, part in zip(self._n, self._parts, strict=True)]

    def load(self, parts: list[LabelsPart]) -> None:
        """Continue with stored values."""
        before, now = parts
        self._n = [before.n_examples, now.n_examples]
        self._parts = [dict(before.labels), dict(now.labels)]

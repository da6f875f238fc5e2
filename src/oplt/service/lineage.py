# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Which records of the journal made the model at a position, if the model was rolled back in between.

A rollback is a record itself: rolling back to the snapshot at position t appends a record at position r > t, after
which the model is the one at t, and the records between t and r no longer count. They stay in the journal, so a later
rollback may return to a snapshot among them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Lineage", "Rollback"]


@dataclass(frozen=True)
class Rollback:
    """The record at `position` returned to the model at `target`."""

    position: int
    target: int


class Lineage:
    """The positions whose records made the model at a given position.

    Examples
    --------
    >>> lineage = Lineage([Rollback(position=8, target=5)], position=10)
    >>> lineage.intervals
    [(0, 5), (8, 10)]
    >>> 5 in lineage, 7 in lineage, 9 in lineage
    (True, False, True)
    """

    def __init__(self, rollbacks: Sequence[Rollback], position: int) -> None:
        places = [rollback.position for rollback in rollbacks]
        self.intervals: list[tuple[int, int]] = []  # (begin, end]: the records after begin up to end
        end = position
        while (i := bisect_right(places, end)) > 0:
            last = rollbacks[i - 1]
            self.intervals.append((last.position, end))
            end = last.target
        self.intervals.append((0, end))
        self.intervals.reverse()
        self._begins = [begin for begin, _ in self.intervals]

    def __contains__(self, position: object) -> bool:
        """Check whether the record at this position counts."""
        if not isinstance(position, int):
            return False
        i = bisect_left(self._begins, position) - 1
        return i >= 0 and position <= self.intervals[i][1]

    def passes(self, position: int) -> bool:
        """Check whether the model was once that after `position`, so that a snapshot from there leads here."""
        return any(begin <= position <= end for begin, end in self.intervals)

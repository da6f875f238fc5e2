# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Detects that the mean of a stream has changed: ADWIN (Bifet and Gavaldà, 2007) on blocks of values.

The detector keeps the stream since the last change as blocks: the newest ones have 32 values each, and older ones are
joined, so that there are a few of each size, and their number grows with the logarithm of the stream. After each new
block, each boundary between two blocks is tested: are the means before and after it so different that chance does not
explain it (Bernstein's bound)? If so, the stream has changed at the boundary where the difference exceeds the bound
most, and what lies before is dropped.
"""

from __future__ import annotations

from math import log, sqrt

import msgspec

__all__ = ["WATCHED", "Block", "Change", "Detector"]

WATCHED = {"p1": 1.0, "confidence": 2.0, "new_labels": 1.0, "unknown_features": 1.0}  # and the range of the values

_BLOCK = 32  # values in the newest blocks
_OF_EACH_SIZE = 5  # blocks before the two oldest of this size are joined
_LEAST = 0.01
_DELTA = 0.01  # lower: fewer false alarms, but changes are noticed later


class Change(msgspec.Struct):
    """A change of the mean of `of`, at a position of the journal, from `before` to `after`."""

    position: int
    time: float  # seconds since 1970
    of: str
    before: float
    after: float


class Block(msgspec.Struct, array_like=True):
    """The sums of consecutive values, and where the first one was."""

    n: int
    total: float
    squares: float
    position: int
    time: float

    def joined(self, later: Block) -> Block:
        """Return one block for both."""
        return Block(self.n + later.n, self.total + later.total, self.squares + later.squares, self.position, self.time)


class Detector(msgspec.Struct):
    """Detects changes of the mean of values.

    Parameters
    ----------
    span
        The difference of the largest and the smallest possible value.
    least
        The smallest change of the mean that is reported; smaller ones are of no interest, however certain they are.
    """

    span: float = 1.0
    least: float = _LEAST
    blocks: list[Block] = msgspec.field(default_factory=list)  # oldest first; the last one may be filling

    def add(self, value: float, position: int, time: float) -> tuple[Block, float, float] | None:
        """Add a value. Returns the block that a change begins with, and the means before and after, if there is one."""
        if not self.blocks or self.blocks[-1].n >= _BLOCK:
            self.blocks.append(Block(0, 0.0, 0.0, position, time))
        block = self.blocks[-1]
        block.n += 1
        block.total += value
        block.squares += value * value
        if block.n < _BLOCK:
            return None
        self._join()
        return self._test()

    def _join(self) -> None:
        """Join the two oldest blocks of each size of which there are too many."""
        blocks, end = self.blocks, len(self.blocks)
        while end > 0:
            begin = end
            while begin > 0 and blocks[begin - 1].n == blocks[end - 1].n:
                begin -= 1
            if end - begin <= _OF_EACH_SIZE:
                return
            blocks[begin : begin + 2] = [blocks[begin].joined(blocks[begin + 1])]
            end = begin + 1

    def _test(self) -> tuple[Block, float, float] | None:
        n, total = sum(block.n for block in self.blocks), sum(block.total for block in self.blocks)
        variance = max(0.0, sum(block.squares for block in self.blocks) / n - (total / n) ** 2)
        doubt = log(2 * log(n) / _DELTA)
        best, most = None, 0.0
        n_before, total_before = 0, 0.0
        for i in range(1, len(self.blocks)):
            n_before += self.blocks[i - 1].n
            total_before += self.blocks[i - 1].total
            before, after = total_before / n_before, (total - total_before) / (n - n_before)
            inverse = 1 / n_before + 1 / (n - n_before)
            bound = sqrt(2 * inverse * variance * doubt) + 2 / 3 * self.span * inverse * doubt
            excess = (abs(after - before) - self.least) / bound
            if excess > max(1.0, most):
                best, most = (i, before, after), excess
        if best is None:
            return None
        i, before, after = best
        del self.blocks[:i]
        return self.blocks[0], before, after

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""How long requests take: a histogram whose buckets grow by a constant factor."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2

__all__ = ["Latencies", "quantile"]

_LEAST = 1e-5  # seconds: the end of the first bucket
_PER_DOUBLING = 4  # so that the middle of a bucket is within 9 % of everything in it
_N_BUCKETS = 100  # up to about five minutes


class Latencies:
    """Counts requests by their duration.

    `add` is called for every request. It takes no lock: one thread, that of the event loop, adds, and others read
    counts that only grow.
    """

    def __init__(self) -> None:
        self._counts = [0] * _N_BUCKETS
        self._before = [0] * _N_BUCKETS

    def add(self, seconds: float) -> None:
        """Count a request."""
        place = int(log2(seconds / _LEAST) * _PER_DOUBLING) + 1 if seconds > _LEAST else 0
        self._counts[place if place < _N_BUCKETS else -1] += 1

    def since_last(self) -> dict[int, int]:
        """Return the counts since the previous call, by bucket, without empty ones. One thread at a time calls it."""
        now, before = self._counts.copy(), self._before
        if now == before:
            return {}
        self._before = now
        return {i: new - old for i, (new, old) in enumerate(zip(now, before, strict=True)) if new > old}


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Return the seconds within which this share of the requests was answered; None if there were none."""
    left = share * sum(counts.values())
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            middle = max(0.0, bucket - 0.5) / _PER_DOUBLING
            return float(_LEAST * 2**middle)
    return None

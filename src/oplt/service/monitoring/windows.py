# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The windows of a stream. Everything is kept as sums, so that two neighbours can become one window of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from oplt.service.monitoring.latency import quantile

__all__ = ["AGES", "COUNTS", "KS", "N_BINS", "History", "Latest", "Recall", "Sums", "Window", "bucket"]

KS = (1, 3, 5)
N_BINS = 10  # of the probability of the first answer
COUNTS = {"0": 0, "1-4": 1, "5-19": 5, "20+": 20}  # earlier examples of a label, and where each range begins
AGES = {"new": 0, "1-99": 1, "100-999": 100, "1000-9999": 1000, "10000+": 10_000}  # examples since its first one

_SIZE = 100  # predicted examples in a window, before windows are joined
_MOST = 400  # windows
_LATEST = 500  # predicted examples; the latest figures are over one to two times as many
_LEARNED_FOR_EACH = 50  # a window also ends after 50 times as many learned examples, if fewer are predicted


class Sums(msgspec.Struct):
    """Sums over a part of the stream. They do not change once they belong to a window."""

    first: int  # positions in the journal
    last: int
    begin: float  # seconds since 1970
    end: float
    n_learned: int = 0
    new_labels: int = 0
    memory_bytes: int = 0  # at the end
    n: int = 0  # predicted examples: all that follows is about them, except for the latencies
    hits: list[int] = msgspec.field(default_factory=lambda: [0] * len(KS))  # correct ones of the first 1, 3 and 5
    right_in_bin: list[int] = msgspec.field(default_factory=lambda: [0] * N_BINS)  # by probability of the first answer
    sum_in_bin: list[float] = msgspec.field(default_factory=lambda: [0.0] * N_BINS)  # of these probabilities
    n_features: int = 0
    n_unknown: int = 0
    true_by_count: list[int] = msgspec.field(default_factory=lambda: [0] * len(COUNTS))
    found_by_count: list[int] = msgspec.field(default_factory=lambda: [0] * len(COUNTS))
    true_by_age: list[int] = msgspec.field(default_factory=lambda: [0] * len(AGES))
    found_by_age: list[int] = msgspec.field(default_factory=lambda: [0] * len(AGES))
    latencies: dict[int, int] = msgspec.field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all lists have the right length; those of a file may not."""
        return all(len(getattr(self, name)) == length for name, length in _LENGTHS.items())

    def joined(self, later: Sums) -> Sums:
        """Return the sums over this part of the stream and the one after it."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in _NUMBERS}
        if later.n:
            for name in _LENGTHS:
                sums[name] = [a + b for a, b in zip(getattr(self, name), getattr(later, name), strict=True)]
        sums.update(last=later.last, end=later.end, memory_bytes=later.memory_bytes)
        return msgspec.structs.replace(self.with_latencies(later.latencies), **sums)

    def with_latencies(self, more: dict[int, int]) -> Sums:
        """Return the same with more requests."""
        if not more:
            return self
        mine = self.latencies
        both = {i: mine.get(i, 0) + more.get(i, 0) for i in mine.keys() | more.keys()}
        return msgspec.structs.replace(self, latencies=both)

    def is_full(self, size: int) -> bool:
        """Check whether a window of this size, in predicted examples, ends here."""
        return self.n >= size or self.n_learned >= _LEARNED_FOR_EACH * size


_NUMBERS = ("n_learned", "new_labels", "n", "n_features", "n_unknown")
_LENGTHS = {
    "hits": len(KS),
    "right_in_bin": N_BINS,
    "sum_in_bin": N_BINS,
    "true_by_count": len(COUNTS),
    "found_by_count": len(COUNTS),
    "true_by_age": len(AGES),
    "found_by_age": len(AGES),
}


def bucket(ranges: dict[str, int], value: int) -> int:
    """Return the number of the range that a value is in."""
    return sum(value >= begin for begin in ranges.values()) - 1


class Recall(msgspec.Struct):
    """How often labels were true, and the share of these that was among the first five answers."""

    n: int
    recall: float | None


class Window(msgspec.Struct):
    """What happened in a part of the stream. Figures without a basis, such as recall of no labels, are null.

    The precision P@k is the share of correct labels among the first k. It, `confidence`, `calibration_error`,
    `unknown_features` and the recalls are about the `n` examples that were predicted just before they were learned.
    """

    first: int  # positions in the journal
    last: int
    begin: float  # seconds since 1970
    end: float
    n_learned: int
    n: int
    p1: float | None
    p3: float | None
    p5: float | None
    confidence: float | None  # mean probability of the first answer
    calibration_error: float | None  # of the first answer, expected, over ten bins
    new_labels: int
    unknown_features: float | None  # share of the features that the model had not seen before
    by_count: dict[str, Recall]  # recall of labels by their number of earlier examples
    by_age: dict[str, Recall]  # the same by the number of examples since their first one
    latency_p50: float | None  # milliseconds of predict requests
    latency_p99: float | None
    memory_bytes: int

    @classmethod
    def of(cls, sums: Sums) -> Window:
        """Compute the means."""
        n = sums.n
        pairs = zip(sums.sum_in_bin, sums.right_in_bin, strict=True)
        p1, p3, p5 = (_share(hits, k * n) for hits, k in zip(sums.hits, KS, strict=True))
        return cls(
            first=sums.first,
            last=sums.last,
            begin=sums.begin,
            end=sums.end,
            n_learned=sums.n_learned,
            n=n,
            p1=p1,
            p3=p3,
            p5=p5,
            confidence=_share(sum(sums.sum_in_bin), n),
            calibration_error=_share(sum(abs(total - right) for total, right in pairs), n),
            new_labels=sums.new_labels,
            unknown_features=_share(sums.n_unknown, sums.n_features),
            by_count=_recalls(COUNTS, sums.true_by_count, sums.found_by_count),
            by_age=_recalls(AGES, sums.true_by_age, sums.found_by_age),
            latency_p50=_milliseconds(quantile(sums.latencies, 0.5)),
            latency_p99=_milliseconds(quantile(sums.latencies, 0.99)),
            memory_bytes=sums.memory_bytes,
        )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 3)


def _recalls(ranges: Iterable[str], true: Sequence[int], found: Sequence[int]) -> dict[str, Recall]:
    return {name: Recall(n, _share(hits, n)) for name, n, hits in zip(ranges, true, found, strict=True)}


class History(msgspec.Struct):
    """The windows of the whole stream. When there are 400, neighbours are joined, and windows become twice as long."""

    size: int = _SIZE
    windows: list[Sums] = msgspec.field(default_factory=list)

    def add(self, part: Sums) -> None:
        """Add what comes next in the stream."""
        windows = self.windows
        if windows and not windows[-1].is_full(self.size):
            windows[-1] = windows[-1].joined(part)
            return
        if len(windows) >= _MOST:
            pairs = zip(windows[0::2], windows[1::2], strict=True)
            windows[:] = [one.joined(other) for one, other in pairs]
            self.size *= 2
        windows.append(part)

    def note_latencies(self, more: dict[int, int]) -> None:
        """Add requests to the last window."""
        if self.windows:
            self.windows[-1] = self.windows[-1].with_latencies(more)


class Latest(msgspec.Struct):
    """The latest part of the stream, of 500 to 1,000 predicted examples."""

    before: Sums | None = None
    now: Sums | None = None

    def add(self, part: Sums) -> None:
        """Add what comes next in the stream."""
        if self.now is None or self.now.is_full(_LATEST):
            self.before, self.now = self.now, part
        else:
            self.now = self.now.joined(part)

    def sums(self) -> Sums | None:
        """Return the sums over both parts."""
        return self.now if self.before is None or self.now is None else self.before.joined(self.now)

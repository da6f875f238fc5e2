# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Progressive precision: how well examples are predicted just before they are learned, by window of the stream.

Predicting takes about as long as learning, so only a share of the learner's time is spent on it. If examples arrive
faster than that, an evenly spaced sample of them is predicted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from oplt.errors import OpltError
from oplt.service.examples import Example, as_inputs_of

__all__ = ["Progressive", "Window"]

KS = (1, 3, 5)
_WINDOW = 1000  # predicted examples
_KEPT = 500  # windows
_MOST_CREDIT = 0.25  # seconds of prediction that a pause can save up


class Window(msgspec.Struct):
    """Precision over a part of the stream. P@k is the share of correct labels among the first k."""

    first: int  # positions in the journal
    last: int
    n: int = 0  # number of examples that were predicted before they were learned
    p1: float = 0.0
    p3: float = 0.0
    p5: float = 0.0


class Progressive:
    """Predicts examples before they are learned and keeps the precision of the latest windows.

    Parameters
    ----------
    share
        The share of time that may be spent on it; 0 switches it off.
    """

    def __init__(self, share: float = 0.03) -> None:
        self._share = share
        self._credit = _MOST_CREDIT
        self._cost = 0.001  # seconds per prediction, a running mean
        self._before = time.monotonic()
        self._windows: deque[Window] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def windows(self) -> list[Window]:
        """Return copies of the windows, oldest first; the last one may still be filling."""
        with self._lock:
            return [msgspec.structs.replace(window) for window in self._windows]

    def latest(self) -> Window | None:
        """Return the precision over the latest full window and the one that is filling."""
        windows = self.windows()[-2:]
        n = sum(window.n for window in windows)
        if n == 0:
            return None
        mean = {name: sum(getattr(window, name) * window.n for window in windows) / n for name in ("p1", "p3", "p5")}
        return Window(windows[0].first, windows[-1].last, n, **mean)

    def observe(self, model: Any, examples: Sequence[Example], first: int, *, texts: bool) -> None:
        """Predict some of the examples that are learned next; `first` is the position of the first one."""
        labelled = [i for i, one in enumerate(examples) if one.labels]
        n = min(len(labelled), self._affordable())
        if n == 0:
            return
        step = len(labelled) / n
        chosen = [labelled[int(j * step)] for j in range(n)]
        begin = time.monotonic()
        try:
            xs = as_inputs_of([examples[i] for i in chosen], texts=texts)
            found = model.predict_many(xs, k=KS[-1])
        except OpltError:  # such as features of another kind, which are learned nevertheless
            return
        took = time.monotonic() - begin
        self._credit -= took
        self._cost = 0.9 * self._cost + 0.1 * took / n
        with self._lock:
            for i, row in zip(chosen, found, strict=True):
                right = set(examples[i].labels)
                self._count(first + i, [label in right for label, _ in row])

    def _affordable(self) -> int:
        now = time.monotonic()
        self._credit = min(_MOST_CREDIT, self._credit + self._share * (now - self._before))
        self._before = now
        return int(self._credit / self._cost) if self._share > 0 and self._credit > 0 else 0

    def _count(self, position: int, hits: list[bool]) -> None:
        if not self._windows or self._windows[-1].n >= _WINDOW:
            self._windows.append(Window(position, position))
        window = self._windows[-1]
        window.last = position
        window.n += 1
        for k, name in zip(KS, ("p1", "p3", "p5"), strict=True):
            mean = getattr(window, name)
            setattr(window, name, mean + (sum(hits[:k]) / k - mean) / window.n)

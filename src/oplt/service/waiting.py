# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Callers that wait until a position of the journal has been learned."""

from __future__ import annotations

import heapq
import itertools
import threading
from concurrent.futures import Future

from oplt.errors import OpltError

__all__ = ["Waiting"]


class Waiting:
    """Futures that are done when a position is reached, or that fail when it never will be."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._failure: OpltError | None = None
        self._waiting: list[tuple[int, int, Future[int]]] = []
        self._ticket = itertools.count()
        self._lock = threading.Lock()

    def until(self, position: int) -> Future[int]:
        """Return a future that is done when a position is reached."""
        future: Future[int] = Future()
        with self._lock:
            reached, failure = self._position, self._failure
            if reached < position and failure is None:
                heapq.heappush(self._waiting, (position, next(self._ticket), future))
                return future
        if reached >= position:
            future.set_result(reached)
        else:
            future.set_exception(failure)
        return future

    def reached(self, position: int) -> None:
        """Tell those that wait for a position up to this one."""
        done = []
        with self._lock:
            self._position = position
            while self._waiting and self._waiting[0][0] <= position:
                done.append(heapq.heappop(self._waiting)[2])
        for future in done:
            if future.set_running_or_notify_cancel():
                future.set_result(position)

    def fail(self, error: OpltError) -> None:
        """Tell everybody that no further position will be reached."""
        with self._lock:
            self._failure = error
            waiting, self._waiting = self._waiting, []
        for _, _, future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

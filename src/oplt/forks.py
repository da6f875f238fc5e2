# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Makes it safe to fork while other threads train: the child gets each model as it is between two batches."""

from __future__ import annotations

import os
import threading
from typing import TypeAlias
from weakref import WeakValueDictionary

from oplt import _core

__all__ = ["wait_for"]

_Part: TypeAlias = "_core.OnlineModel | _core.TextFeatures"

_PARTS: WeakValueDictionary[int, _Part] = WeakValueDictionary()  # by id


def wait_for(part: _Part) -> None:
    """Make forks wait until no thread is changing it."""
    _PARTS[id(part)] = part


class _Held(threading.local):
    """What the forks of this thread hold, innermost last: a signal handler may fork while a fork is starting."""

    def __init__(self) -> None:
        self.stack: list[list[_Part]] = []


_HELD = _Held()


def _before() -> None:
    held: list[_Part] = []
    _HELD.stack.append(held)
    # A list, since other threads may add parts meanwhile. All threads lock parts in the same order, that of the
    # dictionary, so that two concurrent forks cannot deadlock.
    for reference in _PARTS.valuerefs():
        part = reference()
        if part is not None:
            held.append(part)  # first, since a signal handler may raise
            part.hold()


def _after_in_parent() -> None:
    for part in _HELD.stack.pop():
        part.release()


def _after_in_child() -> None:
    for part in _HELD.stack.pop():
        part.release_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)

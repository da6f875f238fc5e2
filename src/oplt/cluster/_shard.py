# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The actor that has some subtrees of a model. It runs in a process of Ray's, perhaps on another machine."""

from __future__ import annotations

import os
import socket
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import ray

from oplt import __version__, _core
from oplt.cluster._parts import Source, subtrees_of, write_subtrees
from oplt.params import Settings

__all__ = ["Question", "ShardActor"]


class Question(NamedTuple):
    """A query that is answered after some messages, and before the next one."""

    number: int
    after: int  # the number of the last message before it
    content: bytes


class ShardActor:
    """A shard. Calls come one at a time, in the order in which the router makes them.

    Messages are numbered from 1. A message that has been learned is ignored when it comes again, so the router may
    repeat messages after a failure.

    Parameters
    ----------
    settings
        Of the model, as plain values.
    threads
        Number of threads that learn.
    folder
        The folder of the model, which all machines see.
    """

    def __init__(self, settings: dict[str, Any], threads: int, folder: str) -> None:
        self._settings = Settings(**settings)
        self._threads = threads
        self._folder = Path(folder)
        self._shard = _core.Shard(self._settings.to_core())
        self._n_learned = 0

    def open(self, sources: list[Source], n_learned: int, version: str) -> None:
        """Take subtrees from files, which include the first messages."""
        if version != __version__:
            msg = f"the router has oplt {version}, and this machine ({socket.gethostname()}) has oplt {__version__}"
            raise RuntimeError(msg)
        self._take(sources)
        self._n_learned = n_learned

    def _take(self, sources: list[Source]) -> None:
        for subtrees in subtrees_of(sources, self._folder, self._settings):
            self._shard.add(subtrees)

    def move(self, away: list[int], sources: list[Source]) -> None:
        """Give subtrees away, which another shard takes from a file, and take others from files."""
        for position in away:
            self._shard.remove(position)
        self._take(sources)

    def take(self, first: int, messages: list[bytes], questions: list[Question]) -> dict[int, bytes]:
        """Learn messages, of which the first has this number, and answer each question between two of them."""
        answers: dict[int, bytes] = {}
        due = deque(questions)
        self._answer(due, answers)
        for number, message in enumerate(messages, first):
            if number > self._n_learned:
                self._learn(number, message)
                self._answer(due, answers)
        return answers

    def _answer(self, due: deque[Question], answers: dict[int, bytes]) -> None:
        while due and due[0].after == self._n_learned:
            question = due.popleft()
            answers[question.number] = self._shard.search(question.content)

    def _learn(self, number: int, message: bytes) -> None:
        if number != self._n_learned + 1:
            msg = f"message {number} came after message {self._n_learned}"
            raise RuntimeError(msg)
        self._shard.learn(message, self._threads)
        self._n_learned = number

    def save(self, file: str, n_learned: int) -> None:
        """Write all subtrees, after this number of messages, to a file in the folder."""
        if n_learned != self._n_learned:  # learning has failed
            msg = f"{n_learned} messages were sent, but {self._n_learned} have been learned"
            raise RuntimeError(msg)
        write_subtrees(self._shard.subtrees(), self._settings, self._folder / file)

    def sizes(self) -> dict[int, int]:
        """Return the size of each subtree, whether it is in memory or in a mapped file."""
        return self._shard.subtrees().sizes

    def facts(self) -> dict[str, Any]:
        """Describe the shard: its process, and the labels and bytes of each of its subtrees."""
        subtrees = self._shard.subtrees()
        return {
            "pid": os.getpid(),
            "node": ray.get_runtime_context().get_node_id(),
            "n_labels": subtrees.n_labels,
            "memory_bytes": subtrees.memory_bytes,
        }

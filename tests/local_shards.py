# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A cut model whose shards are in this process: what a cluster does, without one."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from typing import Any

from oplt import OnlinePLT, _core, persistence

Stream = tuple[list[dict[str, float]], list[list[str]]]


def random_stream(n: int, n_labels: int, seed: int = 0, n_features: int = 300) -> Stream:
    """Make examples whose labels emerge one after the other, with 0 to 3 labels each."""
    source = random.Random(seed)  # noqa: S311 (no secret)
    X, Y = [], []
    for i in range(n):
        labels = [source.randrange(min(n_labels, 5 + i // 2)) for _ in range(source.choice([0, 1, 1, 1, 2, 3]))]
        row = {f"f{(label * 7 + j) % n_features}": source.random() + 0.1 for label in labels for j in range(3)}
        row |= {f"f{source.randrange(n_features)}": source.random() for _ in range(4)}
        X.append(row)
        Y.append([f"l{label}" for label in labels])
    return X, Y


class LocalShards:
    """Cuts a model. Messages wait until a search needs them, and shards take them in any order between each other."""

    def __init__(self, model: OnlinePLT, n: int) -> None:
        subtrees = _core.cut(model._core)
        self._model = model
        self._params = model._settings.to_core()
        self._shard_of = [position % n for position in range(len(subtrees.n_labels))]
        self._shards = [_core.Shard(self._params) for _ in range(n)]
        for number, shard in enumerate(self._shards):
            shard.add(subtrees.chosen(self._positions(number)))
        self._waiting: list[tuple[int, int, bytes]] = []  # a shard, the number of a question or 0, and the message
        self._n_asked = 0
        self._answers: dict[int, bytes] = {}
        self.n_rounds = 0  # in which answers were waited for
        self._route()

    def _positions(self, number: int) -> list[int]:
        return [position for position, shard in enumerate(self._shard_of) if shard == number]

    def _route(self) -> None:
        _core.route(self._model._core, self._shard_of, self._learn, self._ask, self._fetch)

    def _learn(self, shard: int, message: bytes) -> None:
        self._waiting.append((shard, 0, message))

    def _ask(self, shard: int, query: bytes) -> int:
        self._n_asked += 1
        self._waiting.append((shard, self._n_asked, query))
        return self._n_asked

    def _fetch(self, due: list[tuple[int, int]]) -> list[bytes]:
        if self._waiting:
            self.n_rounds += 1
            self._flush()
        return [self._answers.pop(number) for _, number in due]

    def _flush(self) -> None:
        for shard, number, message in sorted(self._waiting, key=lambda each: -each[0]):  # in order for each shard
            if number:
                self._answers[number] = self._shards[shard].search(message)
            else:
                self._shards[shard].learn(message, 1 + shard % 2)
        self._waiting = []

    def move(self, position: int, to: int) -> None:
        """Give a subtree to another shard."""
        self._flush()
        moved = self._shards[self._shard_of[position]].subtrees().chosen([position])
        self._shards[self._shard_of[position]].remove(position)
        self._shard_of[position] = to
        self._shards[to].add(moved)
        self._route()

    def save_and_load(self) -> None:
        """Replace all shards by ones that have been written and read."""
        self._flush()
        for number, shard in enumerate(self._shards):
            file = io.BytesIO()
            shard.subtrees().save(b"", file.write)
            self._shards[number] = _core.Shard(self._params)
            self._shards[number].add(_core.Subtrees.load(_core.ModelFile.copy(file.getvalue()), self._params))

    def saved(self) -> Any:
        """Return the whole model."""
        self._flush()
        state = _core.joined(self._model._core.snapshot(), [shard.subtrees() for shard in self._shards])
        return replace(self._model._saved(), state=state)

    def fingerprint(self) -> str:
        """Return that of the whole model."""
        return persistence.fingerprint(self.saved())

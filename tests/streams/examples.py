# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Messages, models that have learned them otherwise, and a stream in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from oplt import OnlinePLT
from oplt.datasets import make_stream
from oplt.streams import Message, Output


@cache
def examples(n: int = 600) -> list[tuple[dict[str, float], list[str]]]:
    return [
        ({str(name): value for name, value in x.items()}, [str(label) for label in labels])
        for x, labels in make_stream(n, n_labels=40, seed=3)
    ]


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def bodies(begin: int = 0, end: int = 600) -> list[bytes]:
    return [body(features=x, labels=labels) for x, labels in examples()[begin:end]]


def learned(n: int = 600) -> OnlinePLT:
    """Make the model that learns the first examples without any stream."""
    model = OnlinePLT()
    model.learn_many([x for x, _ in examples()[:n]], [labels for _, labels in examples()[:n]])
    return model


def empty(folder: Path, name: str = "m.oplt", **settings: Any) -> Path:
    path = folder / name
    OnlinePLT(**settings).save(path)
    return path


class ListSource:
    """A stream in memory, whose messages are numbered from 1."""

    def __init__(self, contents: Sequence[bytes], name: str = "list") -> None:
        self.name = name
        self.contents = list(contents)
        self.saved: list[str] = []
        self._position = 0

    def open(self, position: str, proof: str, *, skip_lost: bool = False) -> None:
        assert not skip_lost
        assert (proof == "proof") == bool(position)
        self._position = int(position or 0)

    def read(self, limit: int, wait: float) -> list[Message]:
        assert wait >= 0
        begin = self._position
        self._position = min(begin + limit, len(self.contents))
        return [Message(str(n + 1), self.contents[n], "proof") for n in range(begin, self._position)]

    def note_saved(self, position: str) -> None:
        self.saved.append(position)

    def close(self) -> None:
        pass


class ListSink:
    """Keeps what is published. Some errors can be raised first."""

    def __init__(self, *errors: Exception) -> None:
        self.outputs: list[Output] = []
        self._errors = list(errors)

    def check(self) -> None:
        pass

    def publish(self, outputs: Sequence[Output]) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.outputs += outputs

    def close(self) -> None:
        pass

    @property
    def values(self) -> list[dict[str, Any]]:
        return [json.loads(one.body) for one in self.outputs]

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The ledger of a consumer: how far it has come, what it has counted, and which messages wait for labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oplt._typing import Label
from oplt.errors import InvalidInputError, ModelFormatError
from oplt.files._json import object_of
from oplt.stream_state import CUTOFFS, StreamState, Waiting
from oplt.streams._interface import Message
from oplt.streams._messages import Id
from oplt.wording import briefly, number_of

__all__ = ["Ledger"]

_MOST_BYTES = 64 << 20  # of all messages that wait together: they are in memory, and are written with every save


class Ledger:
    """A `StreamState` that changes with each message.

    Parameters
    ----------
    state
        Where to begin.
    window
        Number of messages that may wait for labels. If there are more, or more than 64 MiB of them, the oldest ones
        expire.
    """

    def __init__(self, state: StreamState, window: int) -> None:
        self.source = state.source
        self.n_messages = state.n_messages
        self._position, self._proof = state.position, state.proof
        self._n_learned, self._n_refused, self._n_expired = state.n_learned, state.n_refused, state.n_expired
        self._n_scored, self._hits = state.n_scored, list(state.hits)
        self._window = window
        self._waiting: dict[Id, Waiting] = {_id_of(one): one for one in state.waiting}
        self._n_bytes = sum(map(_size, self._waiting.values()))
        self._expire()

    def state(self) -> StreamState:
        """Return the present state."""
        return StreamState(
            self.source,
            self._position,
            self._proof,
            n_messages=self.n_messages,
            n_learned=self._n_learned,
            n_refused=self._n_refused,
            n_expired=self._n_expired,
            n_scored=self._n_scored,
            hits=tuple(self._hits),
            waiting=tuple(self._waiting.values()),
        )

    def advance(self, message: Message, *, learned: int = 0, refused: int = 0) -> None:
        """Count a message, which is the last one now."""
        self._position, self._proof = message.position, message.proof
        self.n_messages += 1
        self._n_learned += learned
        self._n_refused += refused

    def score(self, predicted: Sequence[Label], labels: Collection[Label]) -> None:
        """Compare a prediction with the labels."""
        true = set(labels)
        self._n_scored += 1
        for place, k in enumerate(CUTOFFS):
            self._hits[place] += sum(label in true for label in predicted[:k])

    def expect_new(self, given: Id) -> None:
        """Refuse a message whose id is that of one that waits for labels."""
        if given in self._waiting:
            raise InvalidInputError(
                "id-twice", "a message with the same 'id' waits for labels already", got=briefly(given)
            )

    def wait(self, given: Id, message: Message, predicted: list[Label]) -> None:
        """Let a message wait for labels."""
        self._waiting[given] = Waiting(message.body.decode(), predicted)
        self._n_bytes += len(message.body)
        self._expire()

    def _expire(self) -> None:
        while len(self._waiting) > self._window or self._n_bytes > _MOST_BYTES:
            self.settle(next(iter(self._waiting)))
            self._n_expired += 1

    def waiting(self, given: Id) -> Waiting:
        """Return the message that waits for labels."""
        found = self._waiting.get(given)
        if found is None:
            raise InvalidInputError(
                "id-unknown",
                "no message with this 'id' waits for labels: it was not there, has had them, or is not among the last"
                f" {number_of(self._window, 'message')} or {_MOST_BYTES >> 20} MiB that wait",
                got=briefly(given),
            )
        return found

    def settle(self, given: Id) -> None:
        """Let a message wait no longer."""
        self._n_bytes -= _size(self._waiting.pop(given))


def _size(waiting: Waiting) -> int:
    return len(waiting.message.encode())


def _id_of(waiting: Waiting) -> Id:
    try:
        found = (object_of(waiting.message.encode()) or {})["id"]
    except (InvalidInputError, LookupError, UnicodeEncodeError):
        found = None
    if not isinstance(found, Id):
        raise ModelFormatError(
            "model-damaged", "a message that waits for labels has no id", got=briefly(waiting.message)
        )
    return found

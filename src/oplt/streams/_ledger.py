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
from oplt.wording import briefly

__all__ = ["Ledger"]


class Ledger:
    """A `StreamState` that changes with each message.

    Parameters
    ----------
    state
        Where to begin.
    window
        Number of messages that may wait for labels. If there are more, the oldest one expires.
    """

    def __init__(self, state: StreamState, window: int) -> None:
        self.source = state.source
        self.n_messages = state.n_messages
        self._position, self._proof = state.position, state.proof
        self._n_learned, self._n_refused, self._n_expired = state.n_learned, state.n_refused, state.n_expired
        self._n_scored, self._hits = state.n_scored, list(state.hits)
        self._window = window
        self._waiting: dict[Id, Waiting] = {}
        for one in state.waiting:
            self._waiting[_id_of(one)] = one
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
        self._expire()

    def _expire(self) -> None:
        while len(self._waiting) > self._window:
            del self._waiting[next(iter(self._waiting))]
            self._n_expired += 1

    def waiting(self, given: Id) -> Waiting:
        """Return the message that waits for labels."""
        found = self._waiting.get(given)
        if found is None:
            raise InvalidInputError(
                "id-unknown",
                f"no message with this 'id' waits for labels: it was not there, has had them, or is not among the last"
                f" {self._window:,}",
                got=briefly(given),
            )
        return found

    def settle(self, given: Id) -> None:
        """Note that the labels have come."""
        del self._waiting[given]


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

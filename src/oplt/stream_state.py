# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What a model file says about the stream that its model learns from. `oplt.streams` does the learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from oplt._typing import Label

__all__ = ["CUTOFFS", "StreamState", "Waiting"]

CUTOFFS = (1, 3, 5)  # the numbers of top labels at which precision is counted


class Waiting(NamedTuple):
    """A message without labels, which may come later, and the labels that were predicted for it."""

    message: str
    predicted: list[Label]


@dataclass(frozen=True)
class StreamState:
    """A position in a stream, and what was counted up to there. It is saved with the model, in the same file.

    Attributes
    ----------
    source
        The name of the stream, without address and password: ``"redis 0/tickets"``.
    position
        The last message that the model has taken into account. ``""`` means the beginning of the stream.
    proof
        What the source needs, beside the position, to notice that messages were lost.
    n_messages
        Number of messages up to the position.
    n_learned
        Number of examples that were learned from them.
    n_refused
        Number of messages that were not valid.
    n_expired
        Number of messages whose labels did not come in time.
    n_scored
        Number of predictions that could be compared with the labels that came later.
    hits
        How many of the labels predicted first were true: among the first 1, 3 and 5.
    waiting
        Messages without labels, in the order of the stream, for which labels may still come.

    Examples
    --------
    >>> StreamState("redis 0/tickets", "1700000000000-0", n_scored=4, hits=(3, 4, 4)).precision(1)
    0.75
    """

    source: str
    position: str
    proof: str = ""
    n_messages: int = 0
    n_learned: int = 0
    n_refused: int = 0
    n_expired: int = 0
    n_scored: int = 0
    hits: tuple[int, ...] = (0,) * len(CUTOFFS)
    waiting: tuple[Waiting, ...] = ()

    def precision(self, k: int) -> float:
        """Return the progressive precision at 1, 3 or 5; NaN if no prediction could be compared yet."""
        return self.hits[CUTOFFS.index(k)] / (k * self.n_scored) if self.n_scored else float("nan")

    def summary(self) -> dict[str, Any]:
        """Return the position and all counts, without the content of messages.

        Examples
        --------
        >>> StreamState("redis 0/tickets", "1700000000000-0", n_messages=3).summary()["n_messages"]
        3
        """
        counts = {field.name: getattr(self, field.name) for field in fields(self) if field.name.startswith("n_")}
        precision = {f"P@{k}": self.precision(k) for k in CUTOFFS}
        return {
            "source": self.source, "position": self.position, **counts, "n_waiting": len(self.waiting), **precision
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> StreamState:
        """Restore from the values that `to_dict` returned. Members of later versions are ignored.

        Raises
        ------
        TypeError, ValueError, LookupError
            If the values are not valid.
        """
        known = {field.name: field.type for field in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        for name, value in given.items():
            kind = {"str": str, "int": int}.get(str(known[name]))
            if kind is not None and type(value) is not kind:
                raise TypeError(name)
        hits = tuple(int(n) for n in given.get("hits", cls.hits))
        if len(hits) != len(CUTOFFS):
            raise ValueError(hits)
        waiting = tuple(Waiting(message, list(predicted)) for message, predicted in given.get("waiting", ()))
        for one in waiting:
            if not all(isinstance(value, (str, int)) for value in one.predicted) or not isinstance(one.message, str):
                raise TypeError(one)
        return cls(**{**given, "hits": hits, "waiting": waiting})

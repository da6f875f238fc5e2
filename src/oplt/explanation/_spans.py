# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Where the features of a text are in it, and what they are called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from oplt import _core
from oplt._typing import Name
from oplt.explanation._objects import Span
from oplt.validation import NamedRows, Texts, listed

__all__ = ["Names"]

_HASHES_SHOWN = 3  # terms of the text that share a hashed feature


class Names:
    """The names of the features of one example, by id.

    With hashed terms, a model knows no names; then the terms of the text itself, and the names of its further features,
    are hashed again.
    """

    def __init__(self, state: _core.ModelState, example: NamedRows | Texts, *, hashed: bool) -> None:
        self._state = state
        self._found: dict[int, Name | None] = {}
        self.spans: tuple[Span, ...] = ()
        if isinstance(example, Texts):
            occurrences = _core.occurrences(state, example.to_core())
            if hashed:
                self._found.update(_hashed_names(state, example, occurrences))
            self.look_up(feature for feature, *_ in occurrences)
            self.spans = self._spans(example, occurrences)

    def look_up(self, features: Iterable[int]) -> None:
        """Fetch the names of features, in one call."""
        new = [feature for feature in dict.fromkeys(features) if feature not in self._found]
        self._found.update(zip(new, _core.feature_names(self._state, new), strict=True))

    def __getitem__(self, feature: int) -> Any:
        return self._found[feature]

    def _spans(self, example: Texts, occurrences: list[Any]) -> tuple[Span, ...]:
        place = _places(example)
        found = [Span(place(begin), place(end, is_end=True), self[id_]) for id_, begin, end, _ in occurrences]
        return tuple(sorted(found, key=lambda span: (span.begin, span.end)))


def _hashed_names(state: _core.ModelState, example: Texts, occurrences: list[Any]) -> dict[int, Name | None]:
    terms: dict[int, dict[str, None]] = {}  # distinct, in order of occurrence
    for feature, _, _, term in occurrences:
        terms.setdefault(feature, {})[term] = None
    if example.further is not None:
        further = listed(example.further.names)
        for feature, name in zip(_core.further_ids(state, example.to_core()), further, strict=True):
            terms.setdefault(feature, {})[f":{name}"] = None
    return {feature: " | ".join(list(found)[:_HASHES_SHOWN]) for feature, found in terms.items()}


def _places(example: Texts) -> Callable[..., int]:
    """Return a function from positions in the bytes that the core has seen to positions in the text."""
    text = example.texts[0]
    seen = text if example.pattern is None else _core.TOKEN_END.join(example.pattern.findall(text))
    in_seen = _char_positions(seen)
    if example.pattern is None:
        return lambda byte, **_: in_seen(byte)
    group = 1 if example.pattern.groups else 0
    sources = [match.start(group) for match in example.pattern.finditer(text)]
    lengths = [len(token) + 1 for token in example.pattern.findall(text)]
    begins: list[int] = [0, *np.cumsum(lengths).tolist()]  # of the tokens, in `seen`

    def place(byte: int, *, is_end: bool = False) -> int:
        position = in_seen(byte)
        token = min(bisect_right(begins, max(position - is_end, 0)) - 1, len(sources) - 1)  # an end is within its token
        return max(sources[token] + position - begins[token], 0)

    return place


def _char_positions(text: str) -> Callable[[int], int]:
    if text.isascii():
        return lambda byte: byte
    encoded = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    positions = np.concatenate(([0], np.cumsum((encoded & 0xC0) != 0x80)))
    # Byte i begins a character, so the characters that begin before it have been counted.
    return lambda byte: int(positions[byte])

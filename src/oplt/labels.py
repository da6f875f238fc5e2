# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The labels that a model knows."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import overload

import numpy as np

from oplt import _core
from oplt._typing import IdArray, Label

__all__ = ["Labels"]

_CHUNK = 4096  # names that are made at once


class Labels:
    """The labels that a model knew when it was asked, in order of arrival.

    It is made in microseconds, whatever the number of labels, and does not change: names are taken from the model as
    they are asked for. `len`, `in`, iteration, indices and slices work as for a list; `in` does not search.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> model = OnlinePLT()
    >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
    >>> labels = model.labels
    >>> labels
    <Labels: 'cat', 'dog'>
    >>> len(labels), labels[0], labels[-1:], "cow" in labels
    (2, 'cat', ['dog'], False)
    >>> labels.counts()
    {'cat': 1, 'dog': 2}
    """

    def __init__(self, state: _core.ModelState) -> None:
        self._state = state

    def __len__(self) -> int:
        return self._state.n_labels

    def __contains__(self, label: object) -> bool:
        return self._state.find_label(label) is not None

    def __iter__(self) -> Iterator[Label]:
        for begin in range(0, len(self), _CHUNK):
            yield from self[begin : begin + _CHUNK]

    @overload
    def __getitem__(self, place: int) -> Label: ...
    @overload
    def __getitem__(self, place: slice) -> list[Label]: ...
    def __getitem__(self, place: int | slice) -> Label | list[Label]:
        if isinstance(place, slice):
            return self._names(np.arange(*place.indices(len(self)), dtype=np.uint32))
        number = operator.index(place)
        if not -len(self) <= number < len(self):
            msg = f"label {number} of {len(self)}"
            raise IndexError(msg)
        return self._names(np.array([number % len(self)], dtype=np.uint32))[0]

    def index(self, label: Label) -> int:
        """Find the place of a label in the order of arrival.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_one({"purrs": 1}, "cat")
        >>> model.labels.index("cat")
        0
        """
        found = self._state.find_label(label)
        if found is None:
            msg = f"the model knows no label {label!r}"
            raise ValueError(msg)
        return found

    def counts(self) -> dict[Label, int] | None:
        """Count the examples learnt of each label; None for a model without a label memory, which alone counts them."""
        counts = _core.label_counts(self._state)
        return None if counts is None else dict(zip(self, counts.tolist(), strict=True))

    def _names(self, ids: IdArray) -> list[Label]:
        return self._state.label_names(ids)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"<Labels: {shown}{f' and {len(self) - 5} more' if len(self) > 5 else ''}>"

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

_CHUNK = 4096  # names that are fetched in one call


class Labels:
    """The labels of a model at the time of the call, in order of arrival.

    It takes microseconds to create, whatever the number of labels, because names are fetched from the model on demand,
    and it does not change. `len`, `in`, iteration, indices and slices work as for a list; `in` takes constant time.

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
        """Return the position of a label in the order of arrival.

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
        """Return the number of examples of each label; None for a model without a label memory, which has no counts."""
        counts = _core.label_counts(self._state)
        return None if counts is None else dict(zip(self, counts.tolist(), strict=True))

    def _names(self, ids: IdArray) -> list[Label]:
        return self._state.label_names(ids)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"<Labels: {shown}{f' and {len(self) - 5} more' if len(self) > 5 else ''}>"

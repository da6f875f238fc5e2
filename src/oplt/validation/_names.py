# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names of features and labels."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from oplt import _core
from oplt._typing import Label, Name, PointerArray
from oplt.errors import InvalidInputError

__all__ = ["MANY_OR_ONE", "check_names", "plain_names", "row_of", "twin"]

MANY_OR_ONE = "Use learn_one or predict_one, or put it in a list."


def check_names(names: list[Any], what: str, indptr: PointerArray | None = None, where: str | None = None) -> None:
    """Reject values that cannot be names. With row pointers, the error names the row."""
    bad = _core.first_bad_name(names)
    if bad is None:
        return
    position, found = bad
    if indptr is not None:
        row = int(np.searchsorted(indptr, position, side="right")) - 1
        position -= int(indptr[row])
        where = row_of(where, row) if where else None
    raise InvalidInputError(
        "name-not-valid",
        f"{what} {position} must be a non-empty string or an integer",
        where=where,
        got=found,
    )


def plain_names(names: list[Any]) -> list[Label]:
    """Convert names to strings and Python integers, so that equal names compare and hash alike whatever their type."""
    if set(map(type, names)) <= {str, int}:
        return names
    return [name if isinstance(name, str) else operator.index(name) for name in names]


def twin(name: Any) -> Name | None:
    """Return the name of the other type with the same notation, "1" for 1 or 1 for "1"; None if there is none.

    Examples
    --------
    >>> twin(1), twin("-7"), twin("007"), twin("x")
    ('1', -7, None, None)
    """
    if not isinstance(name, str):
        return str(operator.index(name))
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):  # surely fits in 64 bits
        return None
    number = int(name)
    return number if str(number) == name else None


def row_of(what: str, row: int) -> str:
    return f"row {row} of {what}"

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Values of features."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import replace
from math import isinf
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt import _core
from oplt._typing import FloatArray
from oplt.errors import InvalidInputError
from oplt.validation._containers import NamedRows, Names, listed
from oplt.validation._names import row_of
from oplt.wording import briefly

__all__ = [
    "LARGEST_VALUE",
    "as_given",
    "as_parsed",
    "bad_value",
    "check_values",
    "float32",
    "no_number",
    "without_zeros",
]

LARGEST_VALUE = _core.LARGEST_VALUE


def float32(values: npt.NDArray[Any]) -> FloatArray:
    with np.errstate(over="ignore"):  # the check of sizes finds overflows
        return np.ascontiguousarray(values, dtype=np.float32)


def _is_real(value: Any) -> bool:
    try:
        array("d", [value])
    except (TypeError, OverflowError):
        return False
    return True


def check_values(rows: NamedRows, names: list[Any] | None = None, where: str | None = "X") -> None:
    """Reject values that are not finite or too large. Errors name columns by number, unless names are given."""
    bad = ~(np.abs(rows.values) <= LARGEST_VALUE)  # negated, so that NaN is rejected, too
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
        (name,) = listed(rows.names[position : position + 1])
        name = name if names is None else names[name]
        raise bad_value(name, as_given(rows.values[position]), row_of(where, row) if where else None)


def without_zeros(rows: NamedRows) -> NamedRows:
    kept = rows.values != 0
    if kept.all():
        return rows
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
    names: Names = (
        [name for name, keep in zip(rows.names, kept, strict=True) if keep]
        if isinstance(rows.names, list)
        else rows.names[kept]
    )
    return replace(rows, indptr=before[rows.indptr], names=names, values=rows.values[kept])


def no_number(x: Mapping[Any, Any], where: str | None = None) -> InvalidInputError:
    name = next(name for name, value in x.items() if not _is_real(value))
    if isinstance(x[name], int):
        return bad_value(name, f"{briefly(x[name])} (too large for a float)", where)
    return InvalidInputError(
        "value-not-a-number", f"the value of feature {name!r} must be a number", where=where, got=briefly(x[name])
    )


def bad_value(name: Any, got: str, where: str | None = None) -> InvalidInputError:
    """Make the error for a value that is not finite or too large."""
    return InvalidInputError(
        "value-out-of-range",
        f"the value of feature {name!r} must be finite and at most {LARGEST_VALUE:g} in size",
        where=where,
        got=got,
    )


def as_given(value: np.floating[Any]) -> str:
    """Format a value after conversion to float32, which makes large numbers infinite."""
    return f"{value} (infinite, or too large for float32)" if np.isinf(value) else str(value)


def as_parsed(value: Any) -> str:
    """Format a value that may have been parsed from text, which makes 1e400 infinite."""
    is_infinite = isinstance(value, float) and isinf(value)
    return (
        f"{value} (infinite, or parsed from a number that is too large, such as 1e400)"
        if is_infinite
        else briefly(value)
    )

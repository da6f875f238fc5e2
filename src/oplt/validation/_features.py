# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Features of examples: mappings, matrices, frames, lists of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import frames
from oplt._typing import Row, Rows
from oplt.errors import InvalidInputError
from oplt.validation._containers import NamedRows, Origin, listed
from oplt.validation._matrices import as_csr, matrix_rows
from oplt.validation._names import MANY_OR_ONE, check_names, row_of
from oplt.validation._values import LARGEST_VALUE, as_parsed, bad_value, check_values, float32, no_number, without_zeros
from oplt.wording import briefly

__all__ = ["as_row", "as_rows", "check_features", "frame_rows", "mapping_rows"]

_TAKES_TEXTS = 'To train on texts, create the model with features="text".'


def as_row(x: Row) -> NamedRows:
    """Validate the features of one example: a mapping, or a list of values named by position."""
    if isinstance(x, Mapping):
        return mapping_rows([x], None)
    if _is_vector(x):
        try:
            return as_rows(np.asarray(x).reshape(1, -1))
        except InvalidInputError as error:
            raise error.at("x") from None
    raise _no_mapping("x", x, "Use learn_many or predict_many for the rows of a matrix.")


def as_rows(X: Rows) -> NamedRows:  # noqa: N803 (a matrix)
    """Validate the features of many examples: a sparse or 2-D NumPy matrix, a frame, or mappings."""
    if isinstance(X, NamedRows):
        return X
    if frames.is_frame(X):
        return frame_rows(X)
    if sp.issparse(X) or isinstance(X, np.ndarray):
        rows = matrix_rows(as_csr(X, "X"))
        origin = Origin.MATRIX if sp.issparse(X) else Origin.ARRAY
        return replace(rows, origin=origin, n_columns=cast("Any", X).shape[1])
    if isinstance(X, (list, tuple)) and X and _is_vector(X[0]):
        return as_rows(_stacked(X))
    if isinstance(X, (str, bytes, Mapping)):
        raise InvalidInputError(
            "one-example-for-many", "X must hold many rows", got=f"one {type(X).__name__}", hint=MANY_OR_ONE
        )
    if not isinstance(X, Iterable):
        raise InvalidInputError(
            "rows-not-valid", "X must be a sparse or 2-D matrix or a list of mappings", got=type(X).__name__
        )
    return mapping_rows(X)


def check_features(x: Mapping[Any, Any]) -> None:
    """Validate the names and values of a mapping in place, as `as_row` does."""
    try:
        values = array("d", x.values())
    except (TypeError, OverflowError):
        raise no_number(x) from None
    # min and max may miss NaN, but a sum does not.
    if values and (max(values) > LARGEST_VALUE or min(values) < -LARGEST_VALUE or isnan(sum(values))):
        name = next(name for name, value in x.items() if not abs(float(value)) <= LARGEST_VALUE)
        raise bad_value(name, as_parsed(x[name]))
    check_names(list(x), "feature")


def frame_rows(frame: Any) -> NamedRows:
    if frames.is_column(frame, "X"):
        values = frames.as_values(frame, "X")
        if values and _is_vector(values[0]):
            return as_rows(_stacked(values))
        if not all(isinstance(value, Mapping) for value in values):
            raise InvalidInputError(
                "rows-not-valid",
                "X is a single column",
                hint="Pass a frame, such as df[['name']], or a column of mappings or of lists of numbers.",
            )
        return mapping_rows(values)
    names, matrix = frames.as_columns(frame, "X")
    check_names(names, "column", where="X")
    rows = matrix_rows(as_csr(matrix, "X"), names)
    return replace(rows, names=[names[column] for column in listed(rows.names)], origin=Origin.FRAME)


def mapping_rows(rows: Iterable[Row], what: str | None = "X") -> NamedRows:
    """Validate the features of mappings. Errors name the row of `what`, unless it is None, for a single example."""
    names: list[Any] = []
    values = array("d")
    pointers = [0]
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _no_mapping(row_of(what or "X", i), row)
        names.extend(row.keys())
        try:
            values.extend(row.values())
        except (TypeError, OverflowError):
            raise no_number(row, row_of(what, i) if what else None) from None
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_names(names, "feature", indptr, what)
    checked = NamedRows(indptr, names, float32(np.frombuffer(values, dtype=np.float64)))
    check_values(checked, where=what)
    return without_zeros(checked)


def _is_vector(x: Any) -> bool:
    """Check whether it is a list of values, such as an embedding, whose features are named by position."""
    if isinstance(x, np.ndarray):
        return x.ndim == 1 and x.size > 0 and x.dtype.kind in "biuf"
    return isinstance(x, (list, tuple, array)) and len(x) > 0 and all(isinstance(value, Real) for value in x)


def _stacked(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Make a matrix of the lists of values of many examples."""
    width = len(rows[0])
    for i, row in enumerate(rows):
        if not _is_vector(row):
            raise InvalidInputError(
                "row-not-a-mapping",
                "the row must be a list of numbers, as row 0 is",
                where=row_of("X", i),
                got=briefly(row),
            )
        if len(row) != width:
            raise InvalidInputError(
                "columns-differ",
                f"the row has {len(row)} values, but row 0 has {width}",
                where=row_of("X", i),
                hint="Lists of values are the rows of a matrix; pass mappings if rows have different features.",
            )
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), width)
    except OverflowError:
        raise InvalidInputError("value-out-of-range", "a value of X is too large") from None


def _no_mapping(what: str, got: Any, hint: str | None = None) -> InvalidInputError:
    return InvalidInputError(
        "row-not-a-mapping",
        f"{what} must be a mapping from feature names to values",
        got=briefly(got),
        hint=_TAKES_TEXTS if isinstance(got, str) else hint,
    )

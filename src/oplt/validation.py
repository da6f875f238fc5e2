# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""From what users hand in to what the core takes. Everything is checked here, once, before anything is learnt."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core, frames
from oplt._typing import FloatArray, Label, LabelRows, PointerArray, Row, Rows
from oplt.errors import InvalidInputError

__all__ = [
    "NamedLabels",
    "NamedRows",
    "as_labels",
    "as_row",
    "as_rows",
    "as_weights",
    "briefly",
    "check_names",
    "listed",
    "plain_names",
]

_LARGEST_VALUE = _core.LARGEST_VALUE
_LARGEST_WEIGHT = _core.LARGEST_WEIGHT

_WANTS_FEATURES = '; a model that takes texts is made with features="text"'

Names = list[Any] | npt.NDArray[np.int32]


@dataclass(frozen=True)
class NamedLabels:
    """Rows of names end to end: row i is [indptr[i], indptr[i + 1])."""

    indptr: PointerArray
    names: Names

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def chunk(self, begin: int, end: int) -> NamedLabels:
        """Rows [begin, end)."""
        first, last = self.indptr[begin], self.indptr[end]
        return NamedLabels(self.indptr[begin : end + 1], self.names[first:last])


@dataclass(frozen=True)
class NamedRows:
    """Rows of distinct names with their non-zero values."""

    indptr: PointerArray
    names: Names
    values: FloatArray

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def chunk(self, begin: int, end: int) -> NamedRows:
        """Rows [begin, end)."""
        first, last = self.indptr[begin], self.indptr[end]
        return NamedRows(self.indptr[begin : end + 1], self.names[first:last], self.values[first:last])


def as_rows(X: Rows) -> NamedRows:  # noqa: N803 (a matrix)
    """Features of many examples: a sparse or 2-D NumPy matrix, a frame, or mappings from names to values."""
    if isinstance(X, NamedRows):
        return X
    if frames.is_frame(X):
        return _frame_rows(X)
    if sp.issparse(X) or isinstance(X, np.ndarray):
        return _matrix_rows(_as_csr(X, "X"))
    if isinstance(X, (str, bytes, Mapping)):
        msg = f"X must hold many rows, got one {type(X).__name__}: use learn_one or predict_one, or put it in a list"
        raise InvalidInputError(msg)
    if not isinstance(X, Iterable):
        msg = f"X must be a sparse or 2-D matrix or a list of mappings, got {type(X).__name__}"
        raise InvalidInputError(msg)
    return _mapping_rows(X)


def as_labels(Y: LabelRows, n_rows: int, others_have: str = "X has") -> NamedLabels:  # noqa: N803 (a matrix)
    """Labels of many examples: a list of labels or a single one for each, or an indicator matrix or frame."""
    if frames.is_frame(Y):
        labels = _frame_labels(Y)
    elif sp.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim > 1):
        labels = _indicator_labels(_as_csr(Y, "Y"))
    elif _is_scalar(Y) or isinstance(Y, Mapping):
        msg = f"Y must hold the labels of many rows, got one {type(Y).__name__}: use learn_one, or put it in a list"
        raise InvalidInputError(msg)
    else:
        labels = _listed_labels(cast("Iterable[Any]", Y))
    if len(labels) != n_rows:
        msg = f"{others_have} {n_rows} rows but Y has {len(labels)}: each example needs its own labels ([] for none)"
        raise InvalidInputError(msg)
    return labels


def as_row(x: Row) -> NamedRows:
    """Features of one example."""
    if not isinstance(x, Mapping):
        hint = "; for the rows of a matrix use learn_many or predict_many"
        hint = _WANTS_FEATURES if isinstance(x, str) else hint
        msg = f"x must be a mapping from feature names to values, got {briefly(x)}{hint}"
        raise InvalidInputError(msg)
    return _mapping_rows([x])


def as_weights(weights: Any, n_rows: int) -> FloatArray | None:
    """One weight for each example, or None."""
    if weights is None:
        return None
    given = np.asarray(frames.as_values(weights, "weights") if frames.is_frame(weights) else weights)
    if given.ndim != 1 or len(given) != n_rows or given.dtype.kind not in "biuf":
        msg = f"weights must be {n_rows} numbers, one for each row of X, got {briefly(weights)}"
        raise InvalidInputError(msg)
    checked = _float32(given)
    bad = ~((checked > 0) & (checked <= _LARGEST_WEIGHT))
    if bad.any():
        row = int(np.argmax(bad))
        msg = (
            f"the weight of row {row} is {checked[row]}, but weights are above 0 and at most {_LARGEST_WEIGHT:g};"
            " to ignore an example, leave it out"
        )
        raise InvalidInputError(msg)
    return checked


def _as_csr(matrix: Any, what: str) -> Any:
    if matrix.ndim != 2:
        msg = f"{what} must have rows and columns, got an array of {matrix.ndim} dimension(s)"
        raise InvalidInputError(msg)
    if np.ma.is_masked(matrix):
        msg = f"{what} has masked values: fill in what they should be, by {what}.filled(0) if they are absent"
        raise InvalidInputError(msg)
    if matrix.dtype.kind not in "biuf":
        msg = f"{what} must be a matrix of numbers, got one of {matrix.dtype}"
        raise InvalidInputError(msg)
    if matrix.shape[1] > 2**31:
        msg = f"{what} has {matrix.shape[1]} columns, but at most 2,147,483,648 are supported"
        raise InvalidInputError(msg)
    try:
        if getattr(matrix, "format", None) in ("csc", "bsr"):
            matrix.check_format(full_check=True)  # SciPy's conversion would trust what it finds
        # SciPy has no float16, in which embeddings are often kept.
        csr = sp.csr_array(matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix)
    except ValueError as error:
        msg = f"{what} is not a valid sparse matrix: {error}"
        raise InvalidInputError(msg) from None
    _check_structure(csr, what)
    bad = ~np.isfinite(csr.data)
    if bad.any():
        row, column = _place(csr, int(np.argmax(bad)))
        msg = f"{what} has the value {csr.data[np.argmax(bad)]} in row {row}, column {column}: values must be finite"
        raise InvalidInputError(msg)
    return csr


def _check_structure(csr: Any, what: str) -> None:
    """SciPy does not look into the arrays that a matrix is made of."""
    pointers, indices = csr.indptr, csr.indices
    n_stored = min(len(indices), len(csr.data))
    rises = len(pointers) == csr.shape[0] + 1 and pointers[0] == 0 and not np.any(np.diff(pointers) < 0)
    if not rises or pointers[-1] > n_stored:
        msg = f"{what} is not a valid CSR matrix: its indptr must rise from 0 to the number of stored values"
        raise InvalidInputError(msg)
    used = indices[: pointers[-1]]
    bad = (used < 0) | (used >= csr.shape[1])
    if bad.any():
        row, column = _place(csr, int(np.argmax(bad)))
        msg = f"{what} has the column index {column} in row {row}, but columns are 0 to {csr.shape[1] - 1}"
        raise InvalidInputError(msg)


def _place(csr: Any, position: int) -> tuple[int, int]:
    return int(np.searchsorted(csr.indptr, position, side="right")) - 1, int(csr.indices[position])


def _matrix_rows(csr: Any) -> NamedRows:
    if not _is_canonical(csr):
        # Summed in float64, so that the order in which duplicates are stored does not matter.
        parts = (csr.data.astype(np.float64), csr.indices.copy(), csr.indptr.copy())
        csr = sp.csr_array(parts, shape=csr.shape)
        csr.sum_duplicates()
    rows = NamedRows(
        csr.indptr.astype(np.int64, copy=False),
        np.ascontiguousarray(csr.indices[: csr.indptr[-1]], dtype=np.int32),
        _float32(csr.data[: csr.indptr[-1]]),
    )
    _check_size(rows)
    return _without_zeros(rows)


def _frame_rows(frame: Any) -> NamedRows:
    if frames.is_column(frame, "X"):
        values = frames.as_values(frame, "X")
        if not all(isinstance(value, Mapping) for value in values):
            msg = "X is a single column: give a frame of columns, such as df[['name']], or a column of mappings"
            raise InvalidInputError(msg)
        return _mapping_rows(values)
    names, matrix = frames.as_columns(frame, "X")
    check_names(names, "column")
    rows = _matrix_rows(_as_csr(matrix, "X"))
    return NamedRows(rows.indptr, [names[column] for column in listed(rows.names)], rows.values)


def _is_canonical(csr: Any) -> bool:
    """Ascending columns without duplicates in each row. SciPy's own flag may be stale."""
    rises = np.diff(csr.indices[: csr.indptr[-1]]) > 0
    starts = csr.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < csr.indptr[-1])] - 1] = True
    return bool(rises.all())


def _mapping_rows(rows: Iterable[Row]) -> NamedRows:
    names: list[Any] = []
    values = array("d")
    pointers = [0]
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            hint = _WANTS_FEATURES if isinstance(row, str) else ""
            msg = f"row {i} of X must be a mapping from feature names to values, got {briefly(row)}{hint}"
            raise InvalidInputError(msg)
        names.extend(row.keys())
        try:
            values.extend(row.values())
        except (TypeError, OverflowError):
            name = next(name for name, value in row.items() if not _is_real(value))
            msg = f"feature {name!r} of row {i} has the value {briefly(row[name])}: values must be numbers (float)"
            raise InvalidInputError(msg) from None
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_names(names, "feature", indptr)
    checked = NamedRows(indptr, names, _float32(np.frombuffer(values, dtype=np.float64)))
    _check_size(checked)
    return _without_zeros(checked)


def _is_real(value: Any) -> bool:
    try:
        array("d", [value])
    except (TypeError, OverflowError):
        return False
    return True


def _float32(values: npt.NDArray[Any]) -> FloatArray:
    with np.errstate(over="ignore"):  # what overflows is found by the check of sizes
        return np.ascontiguousarray(values, dtype=np.float32)


def _check_size(rows: NamedRows) -> None:
    bad = ~(np.abs(rows.values) <= _LARGEST_VALUE)  # so written, NaN is bad too
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
        (name,) = listed(rows.names[position : position + 1])
        msg = (
            f"feature {name!r} of row {row} has the value {rows.values[position]}:"
            f" values must be finite and at most {_LARGEST_VALUE:g} in size"
        )
        raise InvalidInputError(msg)


def _without_zeros(rows: NamedRows) -> NamedRows:
    kept = rows.values != 0
    if kept.all():
        return rows
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
    names: Names = (
        [name for name, keep in zip(rows.names, kept, strict=True) if keep]
        if isinstance(rows.names, list)
        else rows.names[kept]
    )
    return NamedRows(before[rows.indptr], names, rows.values[kept])


def _indicator_labels(csr: Any) -> NamedLabels:
    bad = (csr.data != 0) & (csr.data != 1)
    if bad.any():
        row, column = _place(csr, int(np.argmax(bad)))
        msg = (
            f"Y has the value {csr.data[np.argmax(bad)]} in row {row}, column {column}, but an indicator matrix holds"
            " 0 and 1 only; give class numbers as a list or a 1-D array"
        )
        raise InvalidInputError(msg)
    csr = csr.copy()
    csr.eliminate_zeros()
    return NamedLabels(csr.indptr.astype(np.int64), csr.indices.astype(np.int32))


def _frame_labels(frame: Any) -> NamedLabels:
    if not frames.is_indicator(frame, "Y"):
        return _listed_labels(frames.as_values(frame, "Y"))
    names, matrix = frames.as_indicators(frame, "Y")
    check_names(names, "column")
    labels = _indicator_labels(_as_csr(matrix, "Y"))
    return NamedLabels(labels.indptr, [names[column] for column in listed(labels.names)])


def _listed_labels(rows: Iterable[Any]) -> NamedLabels:
    names: list[Any] = []
    pointers = [0]
    for row in rows:
        names.extend(row if type(row) is list else _one_rows_labels(row))  # the usual form, quickly
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_names(names, "label", indptr)
    return NamedLabels(indptr, names)


def _one_rows_labels(row: Any) -> Iterator[Any]:
    if _is_scalar(row) or isinstance(row, Mapping):
        yield row  # a single label; if it cannot be one, the check of names says so
    else:
        yield from row


def _is_scalar(value: Any) -> bool:
    is_text = isinstance(value, (str, bytes))
    return is_text or not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)


def check_names(names: list[Any], what: str, indptr: PointerArray | None = None) -> None:
    """Refuse what cannot be a name. The names are those of many rows if it is told where these begin and end."""
    bad = _core.first_bad_name(names)
    if bad is not None:
        position, found = bad
        where, hint = f"{what} {position}", ""
        if indptr is not None:
            row = int(np.searchsorted(indptr, position, side="right")) - 1
            where = f"{what} {position - indptr[row]} of row {row}"
            hint = "; use [] for an example without labels" if what == "label" else ""
        msg = f"{where} is {found}: names are non-empty strings or integers{hint}"
        raise InvalidInputError(msg)


def listed(names: Names) -> list[Any]:
    """Names of columns as Python's integers; others as they are."""
    return names if isinstance(names, list) else names.tolist()


def plain_names(names: list[Any]) -> list[Label]:
    """Strings and Python's integers: of equal value, equal and of equal hash, whatever the names came as."""
    if set(map(type, names)) <= {str, int}:
        return names
    return [name if isinstance(name, str) else operator.index(name) for name in names]


def briefly(value: Any) -> str:
    """Show what was received, in a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

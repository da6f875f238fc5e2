# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The one place where examples are checked: features or texts, labels and weights.

What users hand in becomes what the core takes, before anything is learnt. Whoever knows better where an example came
from, a line of a file or an example of a stream, adds that to the errors raised here (`OpltError.at`).
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core, frames
from oplt._typing import FloatArray, Label, LabelRows, PointerArray, Row, Rows
from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = [
    "NamedLabels",
    "NamedRows",
    "Texts",
    "as_input",
    "as_inputs",
    "as_labels",
    "as_labels_of_one",
    "as_row",
    "as_rows",
    "as_text",
    "as_texts",
    "as_weight",
    "as_weights",
    "bad_value",
    "check_features",
    "check_labels",
    "check_names",
    "listed",
    "plain_names",
]

_LARGEST_VALUE = _core.LARGEST_VALUE
_LARGEST_WEIGHT = _core.LARGEST_WEIGHT

_TAKES_TEXTS = 'A model that takes texts is made with features="text".'
_TAKES_FEATURES = "A model that takes features, not texts, is made without features=."
_NO_LABELS = "Give [] for an example without labels."
_NOTHING = ("None", "nan", "an empty string")  # which people write where there is no label
_MANY_OR_ONE = "Use learn_one or predict_one, or put it in a list."

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

    def to_core(self) -> tuple[PointerArray, Names, FloatArray]:
        """Make what the core takes."""
        return self.indptr, self.names, self.values

    def chunk(self, begin: int, end: int) -> NamedRows:
        """Rows [begin, end)."""
        first, last = self.indptr[begin], self.indptr[end]
        return NamedRows(self.indptr[begin : end + 1], self.names[first:last], self.values[first:last])


@dataclass(frozen=True)
class Texts:
    """Examples as texts."""

    texts: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def to_core(self) -> list[str]:
        """Make what the core takes."""
        return self.texts

    def chunk(self, begin: int, end: int) -> Texts:
        """Texts [begin, end)."""
        return Texts(self.texts[begin:end])


# --- One example ------------------------------------------------------------------------------------------------------


def as_input(x: Row | str, *, texts: bool) -> NamedRows | Texts:
    """Features or text of one example, as the model takes one or the other."""
    return as_text(x) if texts else as_row(cast("Row", x))


def as_inputs(X: Rows | Iterable[str], *, texts: bool) -> NamedRows | Texts:  # noqa: N803 (a matrix)
    """Features or texts of many examples."""
    return as_texts(X) if texts else as_rows(cast("Rows", X))


def as_row(x: Row) -> NamedRows:
    """Features of one example."""
    if not isinstance(x, Mapping):
        raise _no_mapping("x", x, "Use learn_many or predict_many for the rows of a matrix.")
    return _mapping_rows([x], None)


def as_text(x: Any) -> Texts:
    """Text of one example."""
    if not isinstance(x, str):
        raise _no_text("x", x)
    return Texts([x])


def as_labels_of_one(labels: Any) -> NamedLabels:
    """Labels of one example: any number of them, or a single one."""
    return _listed_labels([labels], None)


def as_weight(weight: Any) -> float:
    """Weight of one example."""
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not is_number or not 0 < weight <= _LARGEST_WEIGHT or not np.float32(weight) > 0:
        raise _bad_weight(briefly(weight))
    return float(weight)


def check_features(x: Mapping[Any, Any]) -> None:
    """Check the names and values of one example: what `as_row` does, of a mapping that is used as it is."""
    try:
        values = array("d", x.values())
    except (TypeError, OverflowError):
        raise _no_number(x) from None
    # min and max may overlook NaN, but no sum does.
    if values and (max(values) > _LARGEST_VALUE or min(values) < -_LARGEST_VALUE or isnan(sum(values))):
        name = next(name for name, value in x.items() if not abs(float(value)) <= _LARGEST_VALUE)
        raise bad_value(name, briefly(x[name]))
    check_names(list(x), "feature")


# --- Many examples ----------------------------------------------------------------------------------------------------


def as_rows(X: Rows) -> NamedRows:  # noqa: N803 (a matrix)
    """Features of many examples: a sparse or 2-D NumPy matrix, a frame, or mappings from names to values."""
    if isinstance(X, NamedRows):
        return X
    if frames.is_frame(X):
        return _frame_rows(X)
    if sp.issparse(X) or isinstance(X, np.ndarray):
        return _matrix_rows(_as_csr(X, "X"))
    if isinstance(X, (str, bytes, Mapping)):
        raise InvalidInputError(
            "one-example-for-many", "X must hold many rows", got=f"one {type(X).__name__}", hint=_MANY_OR_ONE
        )
    if not isinstance(X, Iterable):
        raise InvalidInputError(
            "rows-not-valid", "X must be a sparse or 2-D matrix or a list of mappings", got=type(X).__name__
        )
    return _mapping_rows(X)


def as_texts(X: Any) -> Texts:  # noqa: N803 (for as_rows it is a matrix)
    """Texts of many examples: any iterable of strings, or a column of a frame."""
    if isinstance(X, (str, bytes, Mapping)):
        raise InvalidInputError(
            "one-example-for-many", "X must hold many texts", got=f"one {type(X).__name__}", hint=_MANY_OR_ONE
        )
    if sp.issparse(X) or not (isinstance(X, Iterable) or frames.is_frame(X)):
        raise InvalidInputError(
            "rows-not-valid", "X must be a list of texts", got=type(X).__name__, hint=_TAKES_FEATURES
        )
    texts = frames.as_values(X, "X") if frames.is_frame(X) else list(X)
    if not set(map(type, texts)) <= {str}:
        bad = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
        if bad is not None:
            raise _no_text(_row_of("X", bad), texts[bad])
    return Texts(texts)


def as_labels(Y: LabelRows, n_rows: int, others_have: str = "X has") -> NamedLabels:  # noqa: N803 (a matrix)
    """Labels of many examples: a list of labels or a single one for each, or an indicator matrix or frame."""
    if frames.is_frame(Y):
        labels = _frame_labels(Y)
    elif sp.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim > 1):
        labels = _indicator_labels(_as_csr(Y, "Y"))
    elif _is_scalar(Y) or isinstance(Y, Mapping):
        raise InvalidInputError(
            "one-example-for-many",
            "Y must hold the labels of many rows",
            got=f"one {type(Y).__name__}",
            hint="Use learn_one, or put it in a list.",
        )
    else:
        labels = _listed_labels(cast("Iterable[Any]", Y))
    if len(labels) != n_rows:
        raise InvalidInputError(
            "rows-and-labels-differ",
            f"{others_have} {n_rows} rows but Y has {len(labels)}",
            hint="Give each example its own labels, [] for none.",
        )
    return labels


def as_weights(weights: Any, n_rows: int) -> FloatArray | None:
    """One weight for each example, or None."""
    if weights is None:
        return None
    given = np.asarray(frames.as_values(weights, "weights") if frames.is_frame(weights) else weights)
    if given.ndim != 1 or len(given) != n_rows or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            "rows-and-weights-differ",
            f"weights must be {n_rows} numbers, one for each row of X",
            got=briefly(weights),
        )
    checked = _float32(given)
    bad = ~((checked > 0) & (checked <= _LARGEST_WEIGHT))
    if bad.any():
        row = int(np.argmax(bad))
        raise _bad_weight(_as_given(checked[row]), _row_of("weights", row))
    return checked


def check_labels(labels: list[Any], indptr: PointerArray | None = None, where: str | None = None) -> None:
    """Refuse what cannot be the label of an example."""
    try:
        check_names(labels, "label", indptr, where)
    except InvalidInputError as error:
        raise error.with_hint(_NO_LABELS if error.got in _NOTHING else None) from None


def check_names(names: list[Any], what: str, indptr: PointerArray | None = None, where: str | None = None) -> None:
    """Refuse what cannot be a name. The names are those of many rows if it is told where these begin and end."""
    bad = _core.first_bad_name(names)
    if bad is None:
        return
    position, found = bad
    if indptr is not None:
        row = int(np.searchsorted(indptr, position, side="right")) - 1
        position -= int(indptr[row])
        where = _row_of(where, row) if where else None
    raise InvalidInputError(
        "name-not-valid",
        f"{what} {position} must be a non-empty string or an integer",
        where=where,
        got=found,
    )


def _check_values(rows: NamedRows, names: list[Any] | None = None, where: str | None = "X") -> None:
    """Refuse values that are not finite or too large. Columns have numbers unless it is told what they are called."""
    bad = ~(np.abs(rows.values) <= _LARGEST_VALUE)  # so written, NaN is bad too
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
        (name,) = listed(rows.names[position : position + 1])
        name = name if names is None else names[name]
        raise bad_value(name, _as_given(rows.values[position]), _row_of(where, row) if where else None)


def listed(names: Names) -> list[Any]:
    """Names of columns as Python's integers; others as they are."""
    return names if isinstance(names, list) else names.tolist()


def plain_names(names: list[Any]) -> list[Label]:
    """Strings and Python's integers: of equal value, equal and of equal hash, whatever the names came as."""
    if set(map(type, names)) <= {str, int}:
        return names
    return [name if isinstance(name, str) else operator.index(name) for name in names]


# --- What is said about each mistake, whoever finds it ----------------------------------------------------------------


def _row_of(what: str, row: int) -> str:
    return f"row {row} of {what}"


def _no_mapping(what: str, got: Any, hint: str | None = None) -> InvalidInputError:
    return InvalidInputError(
        "row-not-a-mapping",
        f"{what} must be a mapping from feature names to values",
        got=briefly(got),
        hint=_TAKES_TEXTS if isinstance(got, str) else hint,
    )


def _no_text(what: str, got: Any) -> InvalidInputError:
    return InvalidInputError("not-a-text", f"{what} must be a text (str)", got=briefly(got), hint=_TAKES_FEATURES)


def _no_number(x: Mapping[Any, Any], where: str | None = None) -> InvalidInputError:
    name = next(name for name, value in x.items() if not _is_real(value))
    return InvalidInputError(
        "value-not-a-number", f"the value of feature {name!r} must be a number", where=where, got=briefly(x[name])
    )


def bad_value(name: Any, got: str, where: str | None = None) -> InvalidInputError:
    """Make the error of a value that is not finite or too large."""
    return InvalidInputError(
        "value-out-of-range",
        f"the value of feature {name!r} must be finite and at most {_LARGEST_VALUE:g} in size",
        where=where,
        got=got,
    )


def _as_given(value: np.floating[Any]) -> str:
    """Show a number that has become a float32, in which a large one is infinite."""
    return f"{value} (infinite, or too large for float32)" if np.isinf(value) else str(value)


def _bad_weight(got: str, where: str | None = None) -> InvalidInputError:
    return InvalidInputError(
        "weight-out-of-range",
        f"the weight must be a number above 0 and at most {_LARGEST_WEIGHT:g}",
        where=where,
        got=got,
        hint="Leave an example out to ignore it.",
    )


# --- Matrices ---------------------------------------------------------------------------------------------------------


def _as_csr(matrix: Any, what: str) -> Any:
    if matrix.ndim != 2:
        raise InvalidInputError(
            "matrix-not-valid",
            f"{what} must have rows and columns",
            got=f"an array of {matrix.ndim} dimension{'s' * (matrix.ndim != 1)}",
        )
    if np.ma.is_masked(matrix):
        raise InvalidInputError(
            "value-missing",
            f"{what} has masked values",
            hint=f"Fill in what they should be, by {what}.filled(0) if they are absent.",
        )
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError("matrix-not-valid", f"{what} must be a matrix of numbers", got=f"one of {matrix.dtype}")
    if matrix.shape[1] > 2**31:
        raise InvalidInputError(
            "matrix-not-valid", f"{what} must have at most 2,147,483,648 columns", got=f"{matrix.shape[1]} columns"
        )
    try:
        if getattr(matrix, "format", None) in ("csc", "bsr"):
            matrix.check_format(full_check=True)  # SciPy's conversion would trust what it finds
        # SciPy has no float16, in which embeddings are often kept.
        csr = sp.csr_array(matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix)
    except ValueError as error:
        raise InvalidInputError("matrix-not-valid", f"{what} is not a valid sparse matrix: {error}") from None
    _check_structure(csr, what)
    return csr


def _check_structure(csr: Any, what: str) -> None:
    """SciPy does not look into the arrays that a matrix is made of."""
    pointers, indices = csr.indptr, csr.indices
    n_stored = min(len(indices), len(csr.data))
    rises = len(pointers) == csr.shape[0] + 1 and pointers[0] == 0 and not np.any(np.diff(pointers) < 0)
    if not rises or pointers[-1] > n_stored:
        raise InvalidInputError(
            "matrix-not-valid",
            f"{what} is not a valid CSR matrix: its indptr must rise from 0 to the number of stored values",
        )
    used = indices[: pointers[-1]]
    bad = (used < 0) | (used >= csr.shape[1])
    if bad.any():
        row, column = _place(csr, int(np.argmax(bad)))
        raise InvalidInputError(
            "matrix-not-valid",
            f"a column index must be from 0 to {csr.shape[1] - 1}",
            where=_row_of(what, row),
            got=str(column),
        )


def _place(csr: Any, position: int) -> tuple[int, int]:
    return int(np.searchsorted(csr.indptr, position, side="right")) - 1, int(csr.indices[position])


def _matrix_rows(csr: Any, names: list[Any] | None = None) -> NamedRows:
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
    _check_values(rows, names)
    return _without_zeros(rows)


def _is_canonical(csr: Any) -> bool:
    """Ascending columns without duplicates in each row. SciPy's own flag may be stale."""
    rises = np.diff(csr.indices[: csr.indptr[-1]]) > 0
    starts = csr.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < csr.indptr[-1])] - 1] = True
    return bool(rises.all())


def _indicator_labels(csr: Any) -> NamedLabels:
    bad = (csr.data != 0) & (csr.data != 1)
    if bad.any():
        row, column = _place(csr, int(np.argmax(bad)))
        raise InvalidInputError(
            "indicator-not-valid",
            "a matrix of labels holds 0 and 1 only",
            where=f"row {row}, column {column} of Y",
            got=str(csr.data[np.argmax(bad)]),
            hint="Give class numbers as a list or a 1-D array.",
        )
    csr = csr.copy()
    csr.eliminate_zeros()
    return NamedLabels(csr.indptr.astype(np.int64), csr.indices.astype(np.int32))


# --- Frames -----------------------------------------------------------------------------------------------------------


def _frame_rows(frame: Any) -> NamedRows:
    if frames.is_column(frame, "X"):
        values = frames.as_values(frame, "X")
        if not all(isinstance(value, Mapping) for value in values):
            raise InvalidInputError(
                "rows-not-valid",
                "X is a single column",
                hint="Give a frame of columns, such as df[['name']], or a column of mappings.",
            )
        return _mapping_rows(values)
    names, matrix = frames.as_columns(frame, "X")
    check_names(names, "column", where="X")
    rows = _matrix_rows(_as_csr(matrix, "X"), names)
    return NamedRows(rows.indptr, [names[column] for column in listed(rows.names)], rows.values)


def _frame_labels(frame: Any) -> NamedLabels:
    if not frames.is_indicator(frame, "Y"):
        return _listed_labels(frames.as_values(frame, "Y"))
    names, matrix = frames.as_indicators(frame, "Y")
    check_names(names, "column", where="Y")
    labels = _indicator_labels(_as_csr(matrix, "Y"))
    return NamedLabels(labels.indptr, [names[column] for column in listed(labels.names)])


# --- Lists ------------------------------------------------------------------------------------------------------------


def _mapping_rows(rows: Iterable[Row], what: str | None = "X") -> NamedRows:
    """Features of mappings, which are rows of `what`; None: of a single one, which has no place."""
    names: list[Any] = []
    values = array("d")
    pointers = [0]
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _no_mapping(_row_of(what or "X", i), row)
        names.extend(row.keys())
        try:
            values.extend(row.values())
        except (TypeError, OverflowError):
            raise _no_number(row, _row_of(what, i) if what else None) from None
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_names(names, "feature", indptr, what)
    checked = NamedRows(indptr, names, _float32(np.frombuffer(values, dtype=np.float64)))
    _check_values(checked, where=what)
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


def _listed_labels(rows: Iterable[Any], what: str | None = "Y") -> NamedLabels:
    """Labels of lists, which are rows of `what`; None: of a single one, which has no place."""
    names: list[Any] = []
    pointers = [0]
    for row in rows:
        names.extend(row if type(row) is list else _one_rows_labels(row))  # the usual form, quickly
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_labels(names, indptr, what)
    return NamedLabels(indptr, names)


def _one_rows_labels(row: Any) -> Iterator[Any]:
    if _is_scalar(row) or isinstance(row, Mapping):
        yield row  # a single label; if it cannot be one, the check of names says so
    else:
        yield from row


def _is_scalar(value: Any) -> bool:
    is_text = isinstance(value, (str, bytes))
    return is_text or not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)

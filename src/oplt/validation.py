# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The one place where examples are checked: features or texts, labels and weights.

What users hand in becomes what the core takes, before anything is learnt. Whoever knows better where an example came
from, a line of a file or an example of a stream, adds that to the errors raised here (`OpltError.at`).
"""

from __future__ import annotations

import operator
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from math import isnan
from numbers import Real
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core, frames
from oplt._typing import FloatArray, Label, LabelRows, Name, PointerArray, Row, Rows
from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = [
    "TEXT",
    "NamedLabels",
    "NamedRows",
    "Origin",
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
    "holds_text",
    "is_indicator",
    "listed",
    "plain_names",
    "refuse_indicator",
    "twin",
]

_LARGEST_VALUE = _core.LARGEST_VALUE
_LARGEST_WEIGHT = _core.LARGEST_WEIGHT

_TAKES_TEXTS = 'A model that takes texts is made with features="text".'
_TAKES_FEATURES = "A model that takes features, not texts, is made without features=."
_NO_LABELS = "Give [] for an example without labels."
_NOTHING = ("None", "nan", "an empty string")  # which people write where there is no label
_INDICATORS = ("True", "False", "0.0", "1.0")
_NO_MATRIX = "Pass a matrix of 0 and 1 as numpy.array(Y), and class numbers as integers."
_ROWS_LOOKED_AT = 100  # for rows of 0 and 1 that are no lists of labels
_MANY_OR_ONE = "Use learn_one or predict_one, or put it in a list."

TEXT = "text"  # the name of the text in an example that has further features

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


class Origin(Enum):
    """What rows of features were made of."""

    MAPPINGS = "mappings"
    MATRIX = "a sparse matrix"
    ARRAY = "an array"
    FRAME = "a frame"


@dataclass(frozen=True)
class NamedRows:
    """Rows of distinct names with their non-zero values; and what they were made of, of how many columns."""

    indptr: PointerArray
    names: Names
    values: FloatArray
    origin: Origin = Origin.MAPPINGS
    n_columns: int = 0

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
    """Examples as texts; and the pattern of their words, if it is not the core that finds them."""

    texts: list[str]
    pattern: re.Pattern[str] | None = None
    further: NamedRows | None = None  # features beside the texts

    def __len__(self) -> int:
        return len(self.texts)

    def to_core(self) -> Any:
        """Make what the core takes."""
        texts = self.texts
        if self.pattern is not None:
            texts = [_core.TOKEN_END.join(self.pattern.findall(text)) for text in texts]
        return texts if self.further is None else (texts, self.further.to_core())

    def chunk(self, begin: int, end: int) -> Texts:
        """Texts [begin, end)."""
        further = None if self.further is None else self.further.chunk(begin, end)
        return Texts(self.texts[begin:end], self.pattern, further)


# --- One example ------------------------------------------------------------------------------------------------------


def as_input(x: Row | str, *, texts: bool, pattern: re.Pattern[str] | None = None) -> NamedRows | Texts:
    """Features or text of one example, as the model takes one or the other."""
    return replace(as_text(x), pattern=pattern) if texts else as_row(cast("Row", x))


def as_inputs(
    X: Rows | Iterable[str],  # noqa: N803 (a matrix)
    *,
    texts: bool,
    pattern: re.Pattern[str] | None = None,
) -> NamedRows | Texts:
    """Features or texts of many examples."""
    return replace(as_texts(X), pattern=pattern) if texts else as_rows(cast("Rows", X))


def as_row(x: Row) -> NamedRows:
    """Features of one example: a mapping, or values whose places are their names."""
    if isinstance(x, Mapping):
        return _mapping_rows([x], None)
    if _is_vector(x):
        try:
            return as_rows(np.asarray(x).reshape(1, -1))
        except InvalidInputError as error:
            raise error.at("x") from None
    raise _no_mapping("x", x, "Use learn_many or predict_many for the rows of a matrix.")


def as_text(x: Any) -> Texts:
    """Text of one example: a string, or a mapping with a text and further features."""
    if isinstance(x, Mapping) and holds_text(x):
        return _texts_with_further([x], None)
    if not isinstance(x, str):
        raise _no_text("x", x)
    return Texts([x])


def holds_text(x: Any) -> bool:
    """Tell texts, and mappings that have one, from features."""
    return isinstance(x, str) or (isinstance(x, Mapping) and isinstance(x.get(TEXT), str))


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
        rows = _matrix_rows(_as_csr(X, "X"))
        origin = Origin.MATRIX if sp.issparse(X) else Origin.ARRAY
        return replace(rows, origin=origin, n_columns=cast("Any", X).shape[1])
    if isinstance(X, (list, tuple)) and X and _is_vector(X[0]):
        return as_rows(_stacked(X))
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
    """Texts of many examples: any iterable of strings, or a column of a frame.

    Beside texts there may be further features: mappings with a text, or a frame with a column of texts and others.
    """
    if isinstance(X, (str, bytes, Mapping)):
        raise InvalidInputError(
            "one-example-for-many", "X must hold many texts", got=f"one {type(X).__name__}", hint=_MANY_OR_ONE
        )
    if sp.issparse(X) or not (isinstance(X, Iterable) or frames.is_frame(X)):
        raise InvalidInputError(
            "rows-not-valid", "X must be a list of texts", got=type(X).__name__, hint=_TAKES_FEATURES
        )
    if frames.is_frame(X) and not frames.is_column(X, "X") and (parts := frames.apart(X, TEXT, "X")):
        return replace(as_texts(parts[0]), further=_frame_rows(parts[1]))
    texts = frames.as_values(X, "X") if frames.is_frame(X) else list(X)
    if not set(map(type, texts)) <= {str}:
        if any(isinstance(text, Mapping) for text in texts):
            return _texts_with_further(texts)
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
        hint = _NO_LABELS if error.got in _NOTHING else _NO_MATRIX if error.got in _INDICATORS else None
        raise error.with_hint(hint) from None


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


def twin(name: Any) -> Name | None:
    """Make the name of the other type that is written alike, "1" of 1 or 1 of "1"; None if there is none.

    Examples
    --------
    >>> twin(1), twin("-7"), twin("007"), twin("x")
    ('1', -7, None, None)
    """
    if not isinstance(name, str):
        return str(operator.index(name))
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):  # of 64 bits for sure
        return None
    number = int(name)
    return number if str(number) == name else None


def _no_text(what: str, got: Any) -> InvalidInputError:
    hint = _TAKES_FEATURES
    if isinstance(got, Mapping):
        hint = f'Beside further features, the text is called "text": {{"text": "...", "year": 1.0}}. {hint}'
    return InvalidInputError("not-a-text", f"{what} must be a text (str)", got=briefly(got), hint=hint)


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
        if values and _is_vector(values[0]):
            return as_rows(_stacked(values))
        if not all(isinstance(value, Mapping) for value in values):
            raise InvalidInputError(
                "rows-not-valid",
                "X is a single column",
                hint="Give a frame of columns, such as df[['name']], or a column of mappings or of lists of numbers.",
            )
        return _mapping_rows(values)
    names, matrix = frames.as_columns(frame, "X")
    check_names(names, "column", where="X")
    rows = _matrix_rows(_as_csr(matrix, "X"), names)
    return replace(rows, names=[names[column] for column in listed(rows.names)], origin=Origin.FRAME)


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


def _texts_with_further(rows: list[Any], what: str | None = "X") -> Texts:
    """Texts and further features of mappings; some rows may be texts alone."""
    texts: list[str] = []
    others: list[dict[Any, Any]] = []
    for i, row in enumerate(rows):
        if not holds_text(row):
            raise _no_text(_row_of(what, i) if what else "x", row)
        texts.append(row if isinstance(row, str) else row[TEXT])
        others.append({} if isinstance(row, str) else further_features(row))
    return Texts(texts, further=_mapping_rows(others, what))


def further_features(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """Make features of what stands beside a text: a string is a category, a list has a feature for each place."""
    found: dict[Any, Any] = {}
    for name, value in row.items():
        if isinstance(value, str) and name != TEXT:
            found[f"{name}={value}"] = 1.0
        elif isinstance(value, (list, tuple, np.ndarray)):
            found.update({f"{name}[{place}]": one for place, one in enumerate(value)})
        elif name != TEXT and value is not None:
            found[name] = value
    return found


def _is_vector(x: Any) -> bool:
    """Tell the values of one example, such as an embedding, whose places are the names of its features."""
    if isinstance(x, np.ndarray):
        return x.ndim == 1 and x.dtype.kind in "biuf"
    return isinstance(x, (list, tuple, array)) and all(isinstance(value, Real) for value in x)


def _stacked(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Make a matrix of the values of many examples."""
    width = len(rows[0])
    for i, row in enumerate(rows):
        if not _is_vector(row):
            raise InvalidInputError(
                "row-not-a-mapping",
                "the row must be a list of numbers, as row 0 is",
                where=_row_of("X", i),
                got=briefly(row),
            )
        if len(row) != width:
            raise InvalidInputError(
                "columns-differ",
                f"the row has {len(row)} values, but row 0 has {width}",
                where=_row_of("X", i),
                hint="Lists of values are the rows of a matrix; pass mappings if rows have different features.",
            )
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), width)
    except OverflowError:
        raise InvalidInputError("value-out-of-range", "a value of X is too large") from None


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
    return replace(rows, indptr=before[rows.indptr], names=names, values=rows.values[kept])


def _listed_labels(rows: Iterable[Any], what: str | None = "Y") -> NamedLabels:
    """Labels of lists, which are rows of `what`; None: of a single one, which has no place."""
    names: list[Any] = []
    pointers = [0]
    for row in rows:
        names.extend(row if type(row) is list else _one_rows_labels(row))  # the usual form, quickly
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_labels(names, indptr, what)
    _refuse_indicators(names, indptr, what)
    return NamedLabels(indptr, names)


def _refuse_indicators(names: list[Any], indptr: PointerArray, what: str | None) -> None:
    """Refuse the rows of an indicator matrix as lists. There are but two labels 0 and 1, so three are no labels."""
    if not names or not _is_zero_or_one(names[0]):
        return
    for row, (begin, end) in enumerate(pairwise(indptr[: _ROWS_LOOKED_AT + 1].tolist())):
        if is_indicator(names[begin:end]):
            refuse_indicator(names[begin:end], _row_of(what, row) if what else None)
    if bool(np.all(np.diff(indptr) == 2)) and len(indptr) > 2 and all(map(_is_zero_or_one, names)):
        pairs = set(zip(names[::2], names[1::2], strict=True))
        if (0, 0) in pairs or (1, 1) in pairs:
            refuse_indicator(names[:2], _row_of(what, 0) if what else None)


def refuse_indicator(row: list[Any], where: str | None = None) -> NoReturn:
    """Raise the error of a row of 0 and 1 where a list of labels belongs."""
    raise InvalidInputError(
        "indicator-as-list",
        "labels are a list of names, but this is a row of 0 and 1, as of an indicator matrix",
        where=where,
        got=briefly(row),
        hint="Pass the matrix itself, numpy.array(Y), or lists of the labels that apply.",
    )


def is_indicator(row: list[Any]) -> bool:
    """Tell a row of an indicator matrix from labels: there are but two labels 0 and 1, and here are more."""
    return len(row) > 2 and 0 in row and 1 in row and all(map(_is_zero_or_one, row))


def _is_zero_or_one(name: Any) -> bool:
    return not isinstance(name, str) and name in (0, 1)


def _one_rows_labels(row: Any) -> Iterator[Any]:
    if _is_scalar(row) or isinstance(row, Mapping):
        yield row  # a single label; if it cannot be one, the check of names says so
    else:
        yield from row


def _is_scalar(value: Any) -> bool:
    is_text = isinstance(value, (str, bytes))
    return is_text or not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)

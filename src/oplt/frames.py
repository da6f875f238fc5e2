# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Frames and columns of pandas, Polars and Arrow, all handled through narwhals.

narwhals is imported only when the first frame is passed.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt.errors import InvalidInputError, InvalidParameterError, MissingPackageError
from oplt.wording import briefly

__all__ = [
    "apart",
    "as_columns",
    "as_indicators",
    "as_values",
    "column_names",
    "is_column",
    "is_frame",
    "is_indicator",
    "make",
    "needs_types",
    "select",
    "with_lists",
]

_LIBRARIES = frozenset({"pandas", "polars", "pyarrow", "modin", "cudf"})

_BACKENDS = ("pandas", "polars", "pyarrow")

# Hints for columns that cannot be features, by type.
_HINTS = {
    "String": "Cast it to a categorical type to make each value a feature.",
    "Object": "Convert it to numbers, or drop it.",
    "Unknown": "If it is sparse, make it dense or pass df.sparse.to_coo(); otherwise drop it.",
}


def is_frame(value: Any) -> bool:
    """Recognize frames and columns by the modules of their classes, subclasses included."""
    return any(base.__module__.partition(".")[0] in _LIBRARIES for base in type(value).__mro__)


def as_columns(frame: Any, what: str) -> tuple[list[Any], sp.csr_array]:
    """Convert a frame of features to a matrix and the names of its columns.

    A column of numbers or booleans is a feature of its name. A categorical column is a feature `column=category` for
    each category, of value 1. A column of lists of numbers is a feature `column[i]` for each position. A null is an
    absent feature.
    """
    table = _through_narwhals(frame, what)
    names: list[Any] = []
    parts = [sp.csr_array((len(table), 0), dtype=np.float64)]
    for name, column in zip(table.columns, table.iter_columns(), strict=True):
        own_names, part = _features(column, name, what)
        names += own_names
        parts.append(part)
    return names, sp.hstack(parts, format="csr")


def as_indicators(frame: Any, what: str) -> tuple[list[Any], sp.csr_array]:
    """Convert a frame that has an indicator column for each label to a matrix and the labels. Nulls are rejected."""
    table = _through_narwhals(frame, what)
    for name, column in zip(table.columns, table.iter_columns(), strict=True):
        _refuse_nulls(column, f"column {name!r} of {what}", "0 if the label does not apply")
    return as_columns(frame, what)


def apart(frame: Any, name: str, what: str) -> tuple[Any, Any] | None:
    """Split a frame into one column and the others; None if there is no such column, or no other."""
    table = _through_narwhals(frame, what)
    if name not in table.columns or len(table.columns) < 2:
        return None
    return table.get_column(name).to_native(), table.drop(name).to_native()


def column_names(frame: Any, what: str) -> list[str]:
    """Return the names of the columns of a frame. A column is rejected."""
    table = _through_narwhals(frame, what)
    if not hasattr(table, "columns"):
        raise InvalidInputError(
            "frame-not-valid", f"{what} must be a frame, not one of its columns", got=f"a column of {len(table)} values"
        )
    return list(table.columns)


def select(frame: Any, chosen: str | list[str], what: str) -> Any:
    """Return one column, or a frame of several columns."""
    table = _through_narwhals(frame, what)
    return (table.get_column(chosen) if isinstance(chosen, str) else table.select(chosen)).to_native()


def needs_types(frame: Any, what: str) -> bool:
    """Check whether the lists of a column must have a type, as in Arrow and Polars; in pandas they are objects."""
    return not _through_narwhals(frame, what).implementation.is_pandas_like()


def with_lists(frame: Any, columns: dict[str, tuple[list[list[Any]], type]], what: str) -> Any:
    """Add columns of lists to a frame, each with the type of its values: str, int (64 bits) or float (32 bits)."""
    narwhals = importlib.import_module("narwhals.stable.v2")
    types = {str: narwhals.String, int: narwhals.Int64, float: narwhals.Float32}
    table, is_typed = _through_narwhals(frame, what), needs_types(frame, what)
    added = [
        narwhals.new_series(name, lists, narwhals.List(types[of]) if is_typed else None, backend=table.implementation)
        for name, (lists, of) in columns.items()
    ]
    native = table.with_columns(*added).to_native()
    arrow = sys.modules.get("pyarrow")
    if arrow and isinstance(frame, arrow.RecordBatch):
        return arrow.RecordBatch.from_arrays([one.combine_chunks() for one in native.columns], schema=native.schema)
    return native


def is_column(value: Any, what: str) -> bool:
    """Check whether it is a column rather than a frame."""
    return not hasattr(_through_narwhals(value, what), "columns")


def is_indicator(frame: Any, what: str) -> bool:
    """Check whether it is a frame of indicators: several columns, all of numbers or booleans."""
    table = _through_narwhals(frame, what)
    if not hasattr(table, "columns") or len(table.columns) < 2:
        return False
    return all(column.dtype.is_numeric() or str(column.dtype) == "Boolean" for column in table.iter_columns())


def as_values(column: Any, what: str) -> list[Any]:
    """Return the values of a column, or of a frame with a single column. Nulls are rejected."""
    series = _through_narwhals(column, what)
    if hasattr(series, "columns"):
        if len(series.columns) != 1:
            raise InvalidInputError(
                "column-not-chosen",
                f"{what} must be one column, but it has the columns {series.columns}",
                hint=f"Pass one of them, such as df['{series.columns[0]}'].",
            )
        name, (series,) = series.columns[0], series.iter_columns()
        if series.dtype.is_numeric():
            raise InvalidInputError(
                "column-not-chosen",
                f"{what} is a frame with one column of numbers",
                hint=f"Pass the column itself, df['{name}'].",
            )
    _refuse_nulls(series, what, "[] if there are no labels" if what == "Y" else "what it should be")
    values: list[Any] = series.to_list()
    return values


def make(columns: dict[str, npt.NDArray[Any]], backend: str) -> Any:
    """Make a frame of the library `backend` from named arrays; arrays of objects hold labels."""
    if backend not in _BACKENDS:
        raise InvalidParameterError(
            "unknown-backend", f"backend must be one of {', '.join(map(repr, _BACKENDS))}", got=briefly(backend)
        )
    narwhals = importlib.import_module("narwhals.stable.v2")
    plain = {name: _labels(values, backend) if values.dtype == object else values for name, values in columns.items()}
    try:
        return narwhals.from_dict(plain, backend=backend).to_native()
    except ModuleNotFoundError:
        raise MissingPackageError(
            "package-missing",
            f"the package {backend}, which this frame needs, is not installed",
            hint=f"Install it (pip install {backend}), or choose another backend.",
        ) from None


def _labels(labels: npt.NDArray[np.object_], backend: str) -> Any:
    """Make a column of labels: integers, strings, or both where the library has mixed columns (pandas)."""
    kinds = {isinstance(label, str) for label in labels}
    if len(kinds) > 1 and backend != "pandas":
        raise InvalidInputError(
            "label-types-mixed",
            f"some labels are strings and others integers, but a {backend} column must have one type",
            hint="Use backend='pandas'.",
        )
    if len(kinds) > 1:
        return labels
    if not kinds:
        return np.zeros(0, dtype=str)  # an empty list would be a column without a type
    return labels.astype(np.int64) if kinds == {False} else labels.tolist()


def _refuse_nulls(series: Any, what: str, instead: str) -> None:
    if series.null_count():
        row = int(np.argmax(series.is_null().to_numpy()))
        raise InvalidInputError(
            "value-missing",
            "the value is null",
            where=f"row {row} of {what}",
            hint=f"Drop the row, or fill in {instead}.",
        )


def _through_narwhals(value: Any, what: str) -> Any:
    narwhals = importlib.import_module("narwhals.stable.v2")
    try:
        return narwhals.from_native(_supported(value), eager_only=True, allow_series=True)
    except TypeError:
        raise InvalidInputError(
            "frame-not-valid",
            f"{what} must be a frame or a column of one",
            got=f"{type(value).__module__}.{type(value).__name__}",
            hint="Collect it first." if hasattr(value, "collect") else None,
        ) from None
    except ValueError:
        names = list(getattr(value, "column_names", getattr(value, "columns", ())))
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        reason = "it cannot be read as a frame" if twice is None else f"two columns have the same name, {twice!r}"
        hint = None if twice is None else "Rename or drop one of them."
        raise InvalidInputError("frame-not-valid", reason, where=what, hint=hint) from None


def _supported(value: Any) -> Any:
    """Convert arrays, batches and indices, which narwhals does not accept, to what it does."""
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if arrow and isinstance(value, arrow.Array):
        return arrow.chunked_array([value])
    if arrow and isinstance(value, arrow.RecordBatch):
        return arrow.Table.from_batches([value])
    if pandas and isinstance(value, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        return pandas.Series(value)
    return value


def _features(series: Any, name: Any, what: str) -> tuple[list[Any], sp.csr_array]:
    kind = str(series.dtype)
    if series.dtype.is_numeric() or kind == "Boolean":
        return [name], _one_column(_as_floats(series, name, what))
    nulls = series.is_null().to_list()
    values = [None if null else value for value, null in zip(series.to_list(), nulls, strict=True)]
    if kind.startswith(("Categorical", "Enum")):
        return _categories(values, name)
    types = {type(value) for value in values if value is not None}
    if types <= {bool, np.bool_}:
        return [name], _one_column(np.array([bool(value) for value in values], dtype=np.float64))
    if types <= {list, tuple, np.ndarray}:
        return _positions(values, name, what)
    raise InvalidInputError(
        "column-not-a-feature",
        "the column must hold numbers, categories or lists of numbers",
        where=f"column {name!r} of {what}",
        got=f"the type {kind}",
        hint=_HINTS.get(kind, "Drop it."),
    )


def _as_floats(series: Any, name: Any, what: str) -> npt.NDArray[np.float64]:
    float64 = importlib.import_module("narwhals.stable.v2").Float64
    try:
        values: npt.NDArray[np.float64] = series.cast(float64).fill_null(0.0).to_numpy()
    except ValueError:  # Arrow refuses integers that a float would round
        raise InvalidInputError(
            "column-not-a-feature",
            "the column has integers beyond ±2^53, which float64 cannot represent exactly",
            where=f"column {name!r} of {what}",
            hint="Scale the column, or cast it to a categorical type to make each value a feature.",
        ) from None
    return values


def _one_column(values: npt.NDArray[np.float64]) -> sp.csr_array:
    return sp.csr_array(values.reshape(-1, 1))


def _categories(values: list[Any], name: Any) -> tuple[list[Any], sp.csr_array]:
    numbers: dict[Any, int] = {}
    rows = [row for row, value in enumerate(values) if value is not None]
    columns = [numbers.setdefault(value, len(numbers)) for value in values if value is not None]
    ones = np.ones(len(rows))
    matrix = sp.csr_array((ones, (rows, columns)), shape=(len(values), len(numbers)))
    return [f"{name}={value}" for value in numbers], matrix


def _positions(values: list[Any], name: Any, what: str) -> tuple[list[Any], sp.csr_array]:
    lengths = [0 if value is None else len(value) for value in values]
    width = max(lengths, default=0)
    dense = np.zeros((len(values), width))
    try:
        for row, value in enumerate(values):
            dense[row, : lengths[row]] = [] if value is None else value
    except (TypeError, ValueError):
        raise InvalidInputError(
            "value-not-a-number",
            "a list that is a feature must hold numbers",
            where=f"row {row} of column {name!r} of {what}",
            got=briefly(value),
        ) from None
    return [f"{name}[{i}]" for i in range(width)], sp.csr_array(dense)

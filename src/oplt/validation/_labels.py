# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Labels of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn, cast

import numpy as np
import scipy.sparse as sp

from oplt import frames
from oplt._typing import LabelRows, PointerArray
from oplt.errors import InvalidInputError
from oplt.validation._containers import NamedLabels, listed
from oplt.validation._matrices import as_csr, place
from oplt.validation._names import check_names, plain_names, row_of
from oplt.wording import briefly

__all__ = ["as_label_set", "as_labels", "as_labels_of_one", "check_labels", "is_indicator", "refuse_indicator"]

_NO_LABELS = "Pass [] for an example without labels."
_NOTHING = ("None", "nan", "an empty string")  # which people write where there is no label
_INDICATORS = ("True", "False", "0.0", "1.0")
_NO_MATRIX = "Pass a matrix of 0 and 1 as numpy.array(Y), and class numbers as integers."
_ROWS_LOOKED_AT = 100  # for rows of 0 and 1 that are no lists of labels


def as_labels(Y: LabelRows, n_rows: int, others_have: str = "X has") -> NamedLabels:  # noqa: N803 (a matrix)
    """Validate the labels of many examples: lists of labels, single labels, or an indicator matrix or frame."""
    if frames.is_frame(Y):
        labels = _frame_labels(Y)
    elif sp.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim > 1):
        labels = _indicator_labels(as_csr(Y, "Y"))
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
            hint="Pass the labels of each example, [] if it has none.",
        )
    return labels


def as_labels_of_one(labels: Any) -> NamedLabels:
    """Validate the labels of one example: any number of them, or a single one."""
    return _listed_labels([labels], None)


def as_label_set(labels: Any, what: str) -> list[Any]:
    """Validate labels that belong to no example, such as those allowed in a prediction: any number, or one."""
    names = list(_one_rows_labels(labels))
    check_names(names, "label", where=what)
    return names


def check_labels(labels: list[Any], indptr: PointerArray | None = None, where: str | None = None) -> None:
    """Reject values that cannot be labels."""
    try:
        check_names(labels, "label", indptr, where)
    except InvalidInputError as error:
        hint = _NO_LABELS if error.got in _NOTHING else _NO_MATRIX if error.got in _INDICATORS else None
        raise error.with_hint(hint) from None


def is_indicator(row: list[Any]) -> bool:
    """Check whether labels are a row of an indicator matrix: more than two values, all 0 or 1."""
    return len(row) > 2 and 0 in row and 1 in row and all(map(_is_zero_or_one, row))


def refuse_indicator(row: list[Any], where: str | None = None) -> NoReturn:
    """Raise the error for an indicator row in place of a list of labels."""
    raise InvalidInputError(
        "indicator-as-list",
        "labels must be a list of names, but this looks like a row of an indicator matrix of 0 and 1",
        where=where,
        got=briefly(plain_names(row)),
        hint="Pass the matrix itself, numpy.array(Y), or lists of the labels that apply.",
    )


def _refuse_indicators(names: list[Any], indptr: PointerArray, what: str | None) -> None:
    """Reject rows of an indicator matrix that are passed as lists: more than two values that are all 0 or 1."""
    if not names or not _is_zero_or_one(names[0]):
        return
    for row, (begin, end) in enumerate(pairwise(indptr[: _ROWS_LOOKED_AT + 1].tolist())):
        if is_indicator(names[begin:end]):
            refuse_indicator(names[begin:end], row_of(what, row) if what else None)
    if bool(np.all(np.diff(indptr) == 2)) and len(indptr) > 2 and all(map(_is_zero_or_one, names)):
        pairs = set(zip(names[::2], names[1::2], strict=True))
        if (0, 0) in pairs or (1, 1) in pairs or len(pairs) > 1:
            refuse_indicator(names[:2], row_of(what, 0) if what else None)


def _is_zero_or_one(name: Any) -> bool:
    return not isinstance(name, str) and name in (0, 1)


def _indicator_labels(csr: Any) -> NamedLabels:
    bad = (csr.data != 0) & (csr.data != 1)
    if bad.any():
        row, column = place(csr, int(np.argmax(bad)))
        raise InvalidInputError(
            "indicator-not-valid",
            "a matrix of labels must contain only 0 and 1",
            where=f"row {row}, column {column} of Y",
            got=str(csr.data[np.argmax(bad)]),
            hint="Pass class numbers as a list or a 1-D array.",
        )
    csr = csr.copy()
    csr.eliminate_zeros()
    return NamedLabels(csr.indptr.astype(np.int64), csr.indices.astype(np.int32))


def _frame_labels(frame: Any) -> NamedLabels:
    if not frames.is_indicator(frame, "Y"):
        return _listed_labels(frames.as_values(frame, "Y"))
    names, matrix = frames.as_indicators(frame, "Y")
    check_names(names, "column", where="Y")
    labels = _indicator_labels(as_csr(matrix, "Y"))
    return NamedLabels(labels.indptr, [names[column] for column in listed(labels.names)])


def _listed_labels(rows: Iterable[Any], what: str | None = "Y") -> NamedLabels:
    """Validate lists of labels. Errors name the row of `what`, unless it is None, for a single example."""
    names: list[Any] = []
    pointers = [0]
    for row in rows:
        names.extend(row if type(row) is list else _one_rows_labels(row))  # fast path for the usual form
        pointers.append(len(names))
    indptr = np.array(pointers, dtype=np.int64)
    check_labels(names, indptr, what)
    _refuse_indicators(names, indptr, what)
    return NamedLabels(indptr, names)


def _one_rows_labels(row: Any) -> Iterator[Any]:
    if _is_scalar(row) or isinstance(row, Mapping):
        yield row  # a single label; if it cannot be one, the check of names says so
    else:
        yield from row


def _is_scalar(value: Any) -> bool:
    is_text = isinstance(value, (str, bytes))
    return is_text or not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)

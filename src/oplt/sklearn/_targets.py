# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Targets: what scikit-learn calls `y`, checked, and its classes as labels of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from oplt._typing import Label
from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = ["as_names", "as_target", "expect_kind", "merged_classes", "sorted_classes"]

_Array = npt.NDArray[Any]

_STRINGS = "OUT"  # kinds of arrays
_KINDS = ("one class for each row", "an indicator matrix")


def as_target(y: Any, estimator: Any) -> Any:
    """Check a target. Returns a 1-D array of classes, or an indicator matrix, which may be sparse."""
    if y is None:
        raise InvalidInputError("labels-missing", "OPLTClassifier requires y to be passed, but the target y is None")
    if _holds_lists(y):
        raise _lists_of_labels(y)
    y = check_array(y, accept_sparse="csr", ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    if type_of_target(y, input_name="y") == "multilabel-indicator":
        return y
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] > 1:
        raise _lists_of_labels(y.tolist())
    return column_or_1d(y, warn=True)


def expect_kind(target: Any, *, is_indicator: bool | None) -> None:
    """Refuse an indicator matrix where classes are expected, or the reverse. None: both are fine."""
    if is_indicator is not None and is_indicator != (target.ndim == 2):
        raise _other_kind(f"y must be {_KINDS[is_indicator]}", got=_KINDS[not is_indicator])


def as_names(classes: _Array) -> list[Label]:
    """Convert classes to labels of a model, which are integers and strings."""
    names: list[Label] = (classes.astype(np.int64) if classes.dtype.kind in "bf" else classes).tolist()
    return names


def sorted_classes(names: list[Label]) -> _Array:
    """Make a sorted array of classes of the labels of a model, integers before strings."""
    in_order = sorted(names, key=lambda name: (isinstance(name, str), name))
    is_mixed = len(set(map(type, names))) > 1
    return np.array(in_order, dtype=object if is_mixed else None)


def merged_classes(known: _Array, new: _Array) -> _Array:
    """Merge two sorted arrays of classes; quick if there is nothing new, as in most calls of `partial_fit`."""
    has_strings = known.dtype.kind in _STRINGS
    if has_strings != (new.dtype.kind in _STRINGS):
        what = f"the classes so far are {'strings' if has_strings else 'numbers'}, so those of y must be, too"
        raise _other_kind(what, got=briefly(new.tolist()[0]))
    places = np.minimum(np.searchsorted(known, new), len(known) - 1)
    return known if np.array_equal(known[places], new) else np.union1d(known, new)


def _holds_lists(y: Any) -> bool:
    """Check whether there is a list of labels for each row: lists of different lengths, or sets."""
    is_list = isinstance(y, (list, tuple)) or (getattr(y, "ndim", 0) == 1 and y.dtype.kind == "O")
    kinds = set(map(type, y)) if is_list else set()
    return bool(kinds) and kinds <= {list, tuple, set, frozenset} and (set in kinds or len(set(map(len, y))) > 1)


def _lists_of_labels(y: Any) -> InvalidInputError:
    return InvalidInputError(
        "labels-not-valid",
        "y must hold one class for each row, or be an indicator matrix of 0 and 1",
        got=f"{briefly(next(iter(y)))} for the first row",
        hint="sklearn.preprocessing.MultiLabelBinarizer makes an indicator matrix from lists of labels.",
    )


def _other_kind(what: str, got: str) -> InvalidInputError:
    return InvalidInputError(
        "y-of-another-kind", what, got=got, hint="To start over with other classes, call fit, or clone the classifier."
    )

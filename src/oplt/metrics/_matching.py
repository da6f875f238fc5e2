# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Predictions matched with the true labels, from which all metrics are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oplt._typing import Label, LabelRows, PointerArray
from oplt.checks import count
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.predictions import Predictions
from oplt.validation import as_labels, check_names, listed, plain_names

__all__ = ["Matches", "as_cutoffs", "match"]


@dataclass(frozen=True)
class Matches:
    """Which predicted labels are true. Labels are numbered within one call: `names[i]` is the name of label i."""

    names: list[Label]
    n_predicted: PointerArray  # of each row
    n_true: PointerArray

    row: PointerArray  # of each predicted label, in order of rows and ranks
    rank: PointerArray  # from 0
    label: PointerArray
    score: npt.NDArray[np.float64]
    hit: npt.NDArray[np.bool_]

    true_row: PointerArray  # of each true label, each once, in order of rows
    true_label: PointerArray

    def __len__(self) -> int:
        return len(self.n_true)


def match(predictions: Predictions, Y: LabelRows, k: int | None = None) -> Matches:  # noqa: N803 (a matrix)
    """Match predictions, or the first k of each row, with the true labels. All input is validated here."""
    if not isinstance(predictions, Predictions):
        raise InvalidInputError(
            "predictions-not-valid",
            "predictions must be what predict_many returns",
            got=type(predictions).__name__,
            hint="Predictions.from_rows converts lists of (label, probability).",
        )
    truth = as_labels(Y, len(predictions), "the predictions have")
    predicted_names = predictions.labels.tolist()
    check_names(predicted_names, "label", predictions.indptr, "predictions")

    ids: defaultdict[Label, int] = defaultdict()
    ids.default_factory = ids.__len__
    predicted = _numbered(predicted_names, ids)
    true = _numbered(listed(truth.names), ids)

    row, n_predicted = _rows(predictions.indptr)
    true_row, _ = _rows(truth.indptr)
    rank = np.arange(len(row)) - predictions.indptr[row]
    keys = row * len(ids) + predicted
    true_keys = _distinct(true_row * len(ids) + true)  # an example's labels are a set
    _check_distinct(keys, row, predicted_names)
    hit = _is_in(keys, true_keys)
    if not hit.any():
        _check_types(predicted_names, listed(truth.names))
    true_row, true = np.divmod(true_keys, max(len(ids), 1))
    n_true = np.bincount(true_row, minlength=len(predictions))
    score = predictions.scores.astype(np.float64)
    if k is not None:
        kept = rank < k
        row, rank, predicted, score, hit = row[kept], rank[kept], predicted[kept], score[kept], hit[kept]
        n_predicted = np.minimum(n_predicted, k)
    return Matches(list(ids), n_predicted, n_true, row, rank, predicted, score, hit, true_row, true)


def as_cutoffs(k: int | Iterable[int]) -> tuple[int, ...]:
    """Validate one or several values of k; returns them in ascending order."""
    given = k if isinstance(k, Iterable) else [k]
    cutoffs = tuple(sorted({count("k", one) for one in given}))
    if not cutoffs:
        raise InvalidParameterError("parameter-out-of-range", "k must be an integer or a list of integers", got="none")
    return cutoffs


def _numbered(names: list[Any], ids: defaultdict[Label, int]) -> PointerArray:
    return np.fromiter(map(ids.__getitem__, plain_names(names)), dtype=np.int64, count=len(names))


def _rows(indptr: PointerArray) -> tuple[PointerArray, PointerArray]:
    sizes = np.diff(indptr)
    return np.repeat(np.arange(len(sizes)), sizes), sizes


def _distinct(keys: PointerArray) -> PointerArray:
    """Return the distinct values, sorted. NumPy's own `unique` takes several times as long from version 2.3 on."""
    ascending = np.sort(keys)
    return ascending[np.diff(ascending, prepend=-1) > 0]


def _is_in(keys: PointerArray, ascending: PointerArray) -> npt.NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(keys), dtype=bool)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    found: npt.NDArray[np.bool_] = ascending[places] == keys
    return found


def _check_types(predicted: list[Any], true: list[Any]) -> None:
    """Reject integers against strings: labels that would match if both sides used the same type, such as 3 and "3"."""
    texts, numbers = (predicted, true) if predicted and isinstance(predicted[0], str) else (true, predicted)
    if not all(isinstance(name, str) for name in texts) or any(isinstance(name, str) for name in numbers):
        return
    same = set(texts).intersection(map(str, numbers))
    if same:
        kinds = ("strings", "integers") if texts is predicted else ("integers", "strings")
        raise InvalidInputError(
            "label-types-differ",
            f"the predicted labels are {kinds[0]}, but those of Y are {kinds[1]}, so none can match",
            got=f"{min(same)!r} and {min(same)}",
            hint="Convert one of them: [[str(label) for label in labels] for labels in Y].",
        )


def _check_distinct(keys: PointerArray, row: PointerArray, names: list[Any]) -> None:
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        place = int(order[again + 1].min())
        raise InvalidInputError(
            "label-predicted-twice",
            f"label {names[place]!r} is predicted more than once",
            where=f"row {row[place]} of predictions",
            hint="List each label once.",
        )

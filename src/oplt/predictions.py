# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Predictions for many examples."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import frames
from oplt._typing import FloatArray, IdArray, Label, PointerArray
from oplt.checks import count
from oplt.errors import InvalidInputError
from oplt.wording import briefly

__all__ = ["Predictions", "as_pairs", "concatenated", "named"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The labels predicted for each example, most probable first, in sparse form.

    The labels of example i are `labels[indptr[i]:indptr[i + 1]]`. Iterating and indexing yield lists of (label,
    probability); a slice is the `Predictions` for a range of examples.

    Attributes
    ----------
    labels
        Names of the labels, an array of objects.
    scores
        Their probabilities, float32.
    indptr
        Row pointers: where the labels of each example begin and end.
    n_examples
        Number of examples that the model had learned at the time of the prediction.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> model = OnlinePLT()
    >>> model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
    >>> found = model.predict_many([{"purrs": 1}, {"barks": 1}], k=2)
    >>> [label for label, probability in found[0]]
    ['cat', 'dog']
    >>> found[:1]
    <Predictions for 1 examples: 2 labels>
    """

    labels: npt.NDArray[np.object_]
    scores: FloatArray
    indptr: PointerArray
    n_examples: int

    def __post_init__(self) -> None:
        labels, scores, indptr = self.labels, self.scores, self.indptr
        _check_array("labels", labels, "objects", "O")
        _check_array("scores", scores, "floats", "f")
        _check_array("indptr", indptr, "integers", "iu")
        if len(labels) != len(scores):
            raise InvalidInputError(
                "predictions-not-valid",
                f"there are {len(labels)} labels but {len(scores)} scores: each label needs a score",
            )
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(labels) or np.any(indptr[1:] < indptr[:-1]):
            raise InvalidInputError(
                "predictions-not-valid",
                f"indptr must increase from 0 to the number of labels, {len(labels)}",
                got=briefly(indptr),
            )
        bad = np.isnan(scores)
        if bad.any():
            place = int(np.argmax(bad))
            row = int(np.searchsorted(indptr, place, side="right")) - 1
            raise InvalidInputError(
                "predictions-not-valid",
                f"the score of label {labels[place]!r} must be a number",
                where=f"row {row} of predictions",
                got="nan",
            )
        count("n_examples", self.n_examples, least=0, most=2**64)

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[tuple[Label, float]]], *, n_examples: int = 0) -> Predictions:
        """Convert lists of (label, probability), best first: results of `predict_one`, or of another system.

        Examples
        --------
        >>> Predictions.from_rows([[("cat", 0.9), ("dog", 0.2)], []])
        <Predictions for 2 examples: 2 labels>
        """
        if not isinstance(rows, Iterable):
            raise InvalidInputError(
                "predictions-not-valid",
                "rows must be lists of (label, probability), one for each example",
                got=briefly(rows),
            )
        pairs: list[tuple[Label, float]] = []
        ends = [0]
        for i, row in enumerate(rows):
            pairs.extend(as_pairs(row, f"row {i}"))
            ends.append(len(pairs))
        labels = np.empty(len(pairs), dtype=object)
        labels[:] = [label for label, _ in pairs]
        with np.errstate(over="ignore"):  # scores of other systems may be infinite
            scores = np.array([score for _, score in pairs], dtype=np.float64).astype(np.float32)
        return cls(labels, scores, np.array(ends, dtype=np.int64), n_examples)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, row: int) -> list[tuple[Label, float]]: ...
    @overload
    def __getitem__(self, row: slice) -> Predictions: ...
    def __getitem__(self, row: int | slice) -> list[tuple[Label, float]] | Predictions:
        if isinstance(row, slice):
            return self._some(np.arange(len(self))[row])
        row = operator.index(row)
        if not -len(self) <= row < len(self):
            msg = f"row {row} of {len(self)} predictions"
            raise IndexError(msg)
        begin, end = self.indptr[row % len(self)], self.indptr[row % len(self) + 1]
        return list(zip(self.labels[begin:end].tolist(), self.scores[begin:end].tolist(), strict=True))

    def _some(self, rows: PointerArray) -> Predictions:
        begins, ends = self.indptr[rows], self.indptr[rows + 1]
        indptr = np.concatenate(([0], np.cumsum(ends - begins)))
        places = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], ends - begins)
        return Predictions(self.labels[places], self.scores[places], indptr, self.n_examples)

    def __iter__(self) -> Iterator[list[tuple[Label, float]]]:
        return (self[row] for row in range(len(self)))

    def to_dicts(self) -> list[dict[Label, float]]:
        """Return a dictionary for each example: its labels, most probable first, and their probabilities.

        Examples
        --------
        >>> Predictions.from_rows([[("cat", 0.75), ("dog", 0.25)], []]).to_dicts()
        [{'cat': 0.75, 'dog': 0.25}, {}]
        """
        return [dict(row) for row in self]

    def to_csr(self, labels: Iterable[Label] | None = None) -> tuple[sp.csr_array, list[Label]]:
        """Return a sparse matrix of probabilities, with a row for each example and a column for each label.

        Parameters
        ----------
        labels
            The labels of the columns, such as ``model.labels``; they must include all predicted labels. If not given,
            the labels that are predicted at least once, in the order in which they first appear.

        Returns
        -------
        The matrix, and the labels of its columns.

        Examples
        --------
        >>> matrix, labels = Predictions.from_rows([[("cat", 0.75), ("dog", 0.25)], [("dog", 0.5)]]).to_csr()
        >>> labels
        ['cat', 'dog']
        >>> matrix.toarray().tolist()
        [[0.75, 0.25], [0.0, 0.5]]
        """
        predicted = self.labels.tolist()
        columns: list[Label] = list(dict.fromkeys(predicted) if labels is None else labels)
        numbers = {label: number for number, label in enumerate(columns)}
        if len(numbers) < len(columns):
            again = next(label for number, label in enumerate(columns) if numbers[label] != number)
            raise InvalidInputError("label-twice", "the labels of the columns must be distinct", got=f"{again!r} twice")
        try:
            indices = np.fromiter(map(numbers.__getitem__, predicted), dtype=np.int64, count=len(predicted))
        except KeyError as error:
            raise InvalidInputError(
                "unknown-label",
                f"the predicted label {error.args[0]!r} is not among the {len(columns)} labels of the columns",
            ) from None
        matrix = sp.csr_array((self.scores.copy(), indices, self.indptr.copy()), shape=(len(self), len(columns)))
        return matrix, columns

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame with a row for each predicted label: the number of the example, the label, the probability.

        Parameters
        ----------
        backend
            The library of the frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``. It must be installed.

        Examples
        --------
        >>> print(Predictions.from_rows([[("cat", 0.75), ("dog", 0.25)], [("dog", 0.5)]]).to_frame())
           example label  probability
        0        0   cat         0.75
        1        0   dog         0.25
        2        1   dog         0.50
        """
        columns = {
            "example": np.repeat(np.arange(len(self)), np.diff(self.indptr)),
            "label": self.labels,
            "probability": self.scores,
        }
        return frames.make(columns, backend)

    def __repr__(self) -> str:
        return f"<Predictions for {len(self)} examples: {len(self.labels)} labels>"


def _check_array(name: str, given: Any, content: str, kinds: str) -> None:
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in kinds:
        raise InvalidInputError(
            "predictions-not-valid",
            f"{name} of predictions must be a 1-D array of {content}",
            got=briefly(given),
            hint="Predictions.from_rows converts lists.",
        )


def as_pairs(row: Any, what: str) -> list[tuple[Label, float]]:
    """Check that a prediction is a list of labels and scores."""
    if not isinstance(row, (str, Mapping)):  # of these, only the keys or the letters would be seen
        with suppress(TypeError, ValueError, OverflowError):
            pairs = list(row)
            array("d", [score for _, score in pairs])  # takes numbers only
            return pairs
    raise InvalidInputError("predictions-not-valid", f"{what} must be a list of (label, probability)", got=briefly(row))


def concatenated(parts: list[Predictions]) -> Predictions:
    """Return predictions for the examples of all parts, of which there is at least one.

    Examples
    --------
    >>> parts = [Predictions.from_rows([[("cat", 0.9)], []]), Predictions.from_rows([[("dog", 0.2)]])]
    >>> [len(row) for row in concatenated(parts)]
    [1, 0, 1]
    """
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    return Predictions(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(parts[0].indptr.dtype),
        parts[0].n_examples,
    )


def named(ids: IdArray, names_of: Callable[[IdArray], list[Label]]) -> npt.NDArray[np.object_]:
    """Look up the names of many ids, once for each distinct id."""
    distinct, places = np.unique(ids, return_inverse=True)
    names = np.empty(len(distinct), dtype=object)
    names[:] = names_of(distinct)
    return names[places.reshape(-1)]

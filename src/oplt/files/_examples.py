# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What is read and written: examples, one by one and in batches, and what was wrong with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isnan
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core
from oplt._typing import FloatArray, Label
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.validation import briefly

__all__ = [
    "Batch",
    "Columns",
    "Example",
    "NotAnExampleError",
    "Problems",
    "as_features",
    "as_label_list",
    "as_name",
    "as_number",
    "as_weight",
]

_MESSAGES_KEPT = 10
_LARGEST_VALUE = _core.LARGEST_VALUE
_LARGEST_WEIGHT = _core.LARGEST_WEIGHT

Names = str | Sequence[str] | None


class Example(NamedTuple):
    """One example, and the line or row that it came from."""

    x: Any  # a text, or features by name
    labels: list[Label]
    weight: float
    number: int


class NotAnExampleError(InvalidInputError):
    """What was read or is to be written is no example of the format. The place is added by whoever knows it."""


@dataclass(frozen=True)
class Columns:
    r"""Which fields of JSONL, and which columns of CSV, TSV and Parquet, hold what. Others are ignored.

    Parameters
    ----------
    text
        The text; several are joined by a space. None: examples have no texts, whatever is in the file.
    features
        A field of JSONL or a column of Parquet that holds names and their values. Or a list of fields or columns that
        are features themselves, each with a number; one that is empty or null is absent. None: examples have texts.
    labels
        The labels. If not given, ``labels`` or ``label``, whichever there is. None: they are not read, and no example
        has any; so are files read whose labels are not known.
    weight
        How much an example counts; where there is none, 1. None: all count 1, so that a feature may be called
        ``weight``.
    separator
        Between the labels of one cell of CSV or TSV. A column called ``label`` holds one label: it is not divided.

    Examples
    --------
    >>> import io
    >>> from oplt import files
    >>> table = io.BytesIO(b"title,abstract,topic\nOn trees,We grow them.,biology|forests\n")
    >>> columns = files.Columns(text=["title", "abstract"], labels="topic", separator="|")
    >>> batch = next(files.read(table, format="csv", columns=columns))
    >>> batch.X, batch.Y
    (['On trees We grow them.'], [['biology', 'forests']])
    """

    text: Names = "text"
    features: Names = "features"
    labels: Names = ("labels", "label")
    weight: str | None = "weight"
    separator: str = ";"

    def __post_init__(self) -> None:
        if self.text is None and self.features is None:
            msg = "Columns: text and features are both None, but an example has one of them"
            raise InvalidParameterError(msg)
        if self.weight is not None and self.weight in (*self.texts, *_listed(self.features)):
            msg = (
                f"Columns: {self.weight!r} is a text or a feature, and the weight of the example, too:"
                " give weight=None, or the name of another field"
            )
            raise InvalidParameterError(msg)
        if not self.separator:
            msg = "Columns: separator must not be empty"
            raise InvalidParameterError(msg)

    @cached_property
    def texts(self) -> list[str]:
        """Names of the fields that make the text."""
        return _listed(self.text)

    @cached_property
    def numbers(self) -> list[str]:
        """Names of the fields that are features themselves."""
        return [] if isinstance(self.features, str) else _listed(self.features)

    def find_labels(self, there: Any) -> str | None:
        """Find the field that has the labels; None if they are not wanted."""
        for name in self._label_names:
            if name in there:
                return name
        names = self._label_names
        if names:
            wanted = " nor ".join(map(repr, names))
            msg = (
                f"there is {'neither ' if len(names) > 1 else 'no '}{wanted}; if labels are not wanted, use labels=None"
            )
            raise NotAnExampleError(msg)
        return None

    @cached_property
    def _label_names(self) -> list[str]:
        return _listed(self.labels)


def _listed(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


@dataclass(frozen=True)
class Batch:
    r"""Some examples of a file, in order, as `learn_many` takes them.

    Parameters
    ----------
    X
        A list of texts or of mappings from feature names to values, or a sparse matrix whose column numbers are the
        names of features.
    Y
        A list of labels for each example, or a sparse indicator matrix whose column numbers are the names of labels.
    weights
        How much each example counts; None if none has a weight.
    numbers
        The line of the file (the row, if it is a table without lines) that each example came from, counted from 1.
    source
        Name of the file.
    unit
        ``"line"`` or ``"row"``.

    Examples
    --------
    >>> import io
    >>> from oplt import OnlinePLT, files
    >>> batch = next(files.read(io.BytesIO(b"0,2 1:0.5 3:1\n\n1 0:2\n")))
    >>> len(batch), batch.kind, batch.where(2)
    (3, 'features', 'the stream, line 3')
    >>> OnlinePLT().learn_many(batch.X, batch.Y, weights=batch.weights)
    >>> batch.part(2).numbers.tolist()
    [3]
    >>> for x, labels, weight in batch:
    ...     print(x, labels, weight)
    {1: 0.5, 3: 1.0} [0, 2] 1.0
    {} [] 1.0
    {0: 2.0} [1] 1.0
    """

    X: Any
    Y: Any
    weights: FloatArray | None
    numbers: npt.NDArray[np.int64]
    source: str
    unit: str = "line"

    @property
    def kind(self) -> str:
        """What the examples are: ``"text"`` or ``"features"``."""
        return "text" if isinstance(self.X, list) and self.X and isinstance(self.X[0], str) else "features"

    def where(self, i: int) -> str:
        """Tell where example i of the batch came from."""
        return f"{self.source}, {self.unit} {self.numbers[i]}"

    def part(self, begin: int, end: int | None = None) -> Batch:
        """Examples [begin, end) of the batch."""
        some = slice(begin, end)
        weights = None if self.weights is None else self.weights[some]
        return replace(self, X=self.X[some], Y=self.Y[some], weights=weights, numbers=self.numbers[some])

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[Any, list[Label], float]]:
        """Go through examples: x, labels, weight."""
        weights = [1.0] * len(self) if self.weights is None else self.weights.tolist()
        rows = self.X if isinstance(self.X, list) else _rows(self.X)
        labels = self.Y if isinstance(self.Y, list) else _columns(self.Y)
        return zip(rows, labels, weights, strict=True)


def _columns(matrix: sp.csr_array) -> list[list[int]]:
    indptr, indices = matrix.indptr.tolist(), matrix.indices.tolist()
    return [indices[begin:end] for begin, end in pairwise(indptr)]


def _rows(matrix: sp.csr_array) -> Iterator[dict[int, float]]:
    """Rows as mappings. A feature that is stored twice counts as the sum."""
    # The shortest decimals that are these float32: 0.1, not 0.10000000149011612.
    shortest = matrix.data.astype(np.str_).astype(np.float64)
    indptr, indices, values = matrix.indptr.tolist(), matrix.indices.tolist(), shortest.tolist()
    for begin, end in pairwise(indptr):
        row = dict(zip(indices[begin:end], values[begin:end], strict=True))
        if len(row) < end - begin:
            row = dict.fromkeys(row, 0.0)
            for name, value in zip(indices[begin:end], values[begin:end], strict=True):
                row[name] += value
        yield row


class Problems:
    r"""What was wrong with a file: raised at once, or counted.

    Parameters
    ----------
    source
        Name of the file.
    skip
        Count, and go on.
    unit
        What examples are counted in: ``"line"`` or ``"row"``.

    Examples
    --------
    >>> import io
    >>> from oplt import files
    >>> lines = b'{"text": "a", "labels": ["x"]}\n{"text"'
    >>> reader = files.read(io.BytesIO(lines), on_error="skip")
    >>> sum(len(batch) for batch in reader), reader.skipped.count
    (1, 1)
    >>> print(reader.skipped)
    1 line skipped:
    the stream, line 2: not JSON: Expecting ':' delimiter in column 8
    """

    def __init__(self, source: str, *, skip: bool = False, unit: str = "line") -> None:
        self.source = source
        self.unit = unit
        self.count = 0
        self.messages: list[str] = []
        self._skip = skip

    def bad(self, number: int, what: object) -> None:
        """Raise what is wrong with a line, or count it; the first few messages are kept."""
        message = f"{self.source}, {self.unit} {number}: {what}"
        if not self._skip:
            raise InvalidInputError(message) from None
        self.count += 1
        if len(self.messages) < _MESSAGES_KEPT:
            self.messages.append(message)

    def fatal(self, what: str) -> NoReturn:
        """Raise what is wrong with the whole file."""
        msg = f"{self.source}: {what}"
        raise InvalidInputError(msg)

    def __str__(self) -> str:
        if not self.count:
            return "nothing skipped"
        more = self.count - len(self.messages)
        lines = [f"{self.count} {self.unit}{'s' * (self.count > 1)} skipped:", *self.messages]
        return "\n".join([*lines, f"and {more} more"] if more else lines)


def as_features(given: Any) -> dict[Any, float]:
    """Check names and values: a mapping, or pairs, whose names keep their types where a format has mappings by text."""
    features = given if isinstance(given, dict) else _paired(given)
    if not _all_in_range(list(features.values())):
        name = next(name for name, value in features.items() if not _all_in_range([value]))
        got = briefly(features[name])
        msg = f"feature {name!r} has the value {got}: values are finite numbers up to {_LARGEST_VALUE:g}"
        raise NotAnExampleError(msg)
    _check_names(list(features), "feature")
    return features


def _all_in_range(values: list[Any]) -> bool:
    if not set(map(type, values)) <= {float, int, bool}:
        return False
    # min and max may overlook NaN, but no sum does.
    return not values or (max(values) <= _LARGEST_VALUE and min(values) >= -_LARGEST_VALUE and not isnan(sum(values)))


def _paired(given: Any) -> dict[Any, float]:
    pairs = given if isinstance(given, list) else [given]
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        msg = f"features must be names with values, as an object or as pairs [name, value], got {briefly(given)}"
        raise NotAnExampleError(msg)
    _check_names([name for name, _ in pairs], "feature")
    features = dict(pairs)
    if len(features) < len(pairs):
        msg = "a feature comes twice"
        raise NotAnExampleError(msg)
    return features


def as_label_list(given: Any) -> list[Label]:
    """Check labels: a list of them, or a single one."""
    if isinstance(given, list):
        labels = given
    elif isinstance(given, (str, int)) and not isinstance(given, bool):
        labels = [given]
    else:
        hint = ": use [] if there is none" if given is None else ""
        msg = f"labels must be a list of strings or integers, or one of them, got {briefly(given)}{hint}"
        raise NotAnExampleError(msg)
    _check_names(labels, "label")
    return labels


def _check_names(names: list[Any], what: str) -> None:
    bad = _core.first_bad_name(names)
    if bad is not None:
        msg = f"{what} {bad[0]} is {bad[1]}: names are non-empty strings or integers"
        raise NotAnExampleError(msg)


def as_name(text: str) -> Label:
    """Take a whole number in its usual form as an integer, for formats that write both alike."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= 18:  # of 64 bits for sure
        number = int(text)
        return number if str(number) == text else text  # not 007, nor -0
    return text


def as_number(text: str) -> float:
    """Read a number as people write it: float() takes 1_000, too."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def as_weight(given: Any) -> float:
    """Check a weight: a number, or its text."""
    try:
        weight = as_number(given) if isinstance(given, str) else given + 0.0
    except (TypeError, ValueError, OverflowError):
        weight = None
    if weight is None or isinstance(given, bool) or not 0 < weight <= _LARGEST_WEIGHT:
        msg = f"the weight must be a number above 0 and at most {_LARGEST_WEIGHT:g}, got {briefly(given)}"
        raise NotAnExampleError(msg)
    return float(weight)

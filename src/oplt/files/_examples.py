# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What is read and written: examples, one by one and in batches, and what was wrong with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt._typing import FloatArray, Label
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.validation import as_weight, check_features, check_labels, check_names
from oplt.wording import briefly

__all__ = [
    "NAME_COLUMNS",
    "Batch",
    "Columns",
    "Example",
    "Problems",
    "as_features",
    "as_label_list",
    "as_name",
    "as_number",
    "as_written_weight",
    "first_repeated",
]

NAME_COLUMNS = "Give columns=Columns(text=..., features=[...])."

_ERRORS_KEPT = 10

Names = str | Sequence[str] | None


class Example(NamedTuple):
    """One example, and the line or row that it came from."""

    x: Any  # a text, or features by name
    labels: list[Label]
    weight: float
    number: int
    kept: dict[str, Any] | None = None  # what `Columns.keep` names


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
    keep
        Further fields or columns, whose values are in `Batch.kept` as they are. One that a line of JSONL lacks is None.
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
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.text is None and self.features is None:
            raise InvalidParameterError(
                "parameters-conflict",
                "text and features are both None, but an example has one of them",
            )
        if self.weight is not None and self.weight in (*self.texts, *_listed(self.features)):
            raise InvalidParameterError(
                "weight-column-taken",
                f"{self.weight!r} is a text or a feature, and the weight of the example, too",
                hint="Give weight=None, or the name of another field.",
            )
        if not self.separator:
            raise InvalidParameterError("parameter-out-of-range", "separator must not be empty")

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
            raise InvalidInputError(
                "labels-missing",
                f"there is {'neither ' if len(names) > 1 else 'no '}{wanted}",
                hint="If labels are not wanted, use labels=None.",
            )
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
    kept
        The fields of each example that `Columns.keep` names; None if it names none.

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
    kept: list[dict[str, Any]] | None = None

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
        kept = None if self.kept is None else self.kept[some]
        return replace(self, X=self.X[some], Y=self.Y[some], weights=weights, numbers=self.numbers[some], kept=kept)

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
    r"""What was wrong with a file: raised at once, or counted, with the first errors in `errors`.

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
    the stream, line 2: not JSON: the line ends in the middle of the example, after column 7
    """

    def __init__(self, source: str, *, skip: bool = False, unit: str = "line") -> None:
        self.source = source
        self.unit = unit
        self.count = 0
        self.errors: list[InvalidInputError] = []
        self._skip = skip

    def bad(self, number: int, error: InvalidInputError) -> None:
        """Raise what is wrong with a line, or count it; the first few errors are kept."""
        located = error.at(f"{self.source}, {self.unit} {number}")
        if not self._skip:
            raise located from None
        self.count += 1
        if len(self.errors) < _ERRORS_KEPT:
            self.errors.append(located)

    def fatal(
        self, code: str, what: str, *, line: int | None = None, got: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise what is wrong with the whole file, and where that is seen."""
        where = self.source if line is None else f"{self.source}, {self.unit} {line}"
        raise InvalidInputError(code, what, where=where, got=got, hint=hint) from None

    def __str__(self) -> str:
        if not self.count:
            return "nothing skipped"
        more = self.count - len(self.errors)
        lines = [f"{self.count} {self.unit}{'s' * (self.count > 1)} skipped:", *map(str, self.errors)]
        return "\n".join([*lines, f"and {more} more"] if more else lines)


def as_features(given: Any) -> dict[Any, float]:
    """Check names and values: a mapping, or pairs, whose names keep their types where a format has mappings by text."""
    features: dict[Any, float] = given if isinstance(given, dict) else _paired(given)
    check_features(features)
    return features


def _paired(given: Any) -> dict[Any, float]:
    pairs = given if isinstance(given, list) else [given]
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise InvalidInputError(
            "row-not-a-mapping",
            "features must be names with values, as an object or as pairs [name, value]",
            got=briefly(given),
        )
    check_names([name for name, _ in pairs], "feature")
    features = dict(pairs)
    if len(features) < len(pairs):
        raise InvalidInputError("feature-twice", "a feature comes twice")
    return features


def as_label_list(given: Any) -> list[Label]:
    """Check labels: a list of them, or a single one."""
    labels = given if isinstance(given, list) else [given]
    check_labels(labels)
    return labels


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


def as_written_weight(given: Any) -> float:
    """Check a weight: a number, or its text."""
    try:
        return as_weight(as_number(given) if isinstance(given, str) else given)
    except ValueError:  # no number, or one out of range: it is shown as it is written
        return as_weight(given)


def first_repeated(names: Iterable[str]) -> str | None:
    """Find the first of the names that occur more than once. Takes linear time."""
    return next((name for name, n in Counter(names).items() if n > 1), None)

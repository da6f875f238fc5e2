# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Examples as they are read and written, one by one and in batches, and the errors of those that are not valid."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt._typing import FloatArray, Label
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.validation import (
    TEXT,
    as_weight,
    check_features,
    check_labels,
    check_names,
    further_features,
    holds_text,
    is_indicator,
    refuse_indicator,
)
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
    "as_positions",
    "as_text_with",
    "as_written_weight",
    "did_you_mean",
    "fields_of",
    "first_repeated",
]

NAME_COLUMNS = "Give columns=Columns(text=..., features=[...])."

_ERRORS_KEPT = 10
_FIELDS_SHOWN = 12
_FIELDS_COMPARED = 1000  # limit on the names that are compared for "Did you mean", which is slow

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
    r"""The fields of JSONL, or the columns of CSV, TSV and Parquet, to read. Others are ignored.

    If no field has exactly the given name, case is ignored: ``text`` also finds ``Text``.

    Parameters
    ----------
    text
        The text; several fields are joined by spaces. If None, no text is read.
    features
        A field of JSONL or a column of Parquet that holds names and values of features. Or a list of fields or columns
        that are features themselves: each holds a number, or a list of numbers, such as an embedding, which becomes the
        features ``name[0]``, ``name[1]``, …; an empty or null value means that the feature is absent. Together with a
        text, a string is a category and becomes the feature ``name=value``. If None, no features are read.
    labels
        The labels; by default ``labels`` or ``label``, whichever exists. If None, no labels are read, which is how to
        read unlabeled files.
    weight
        The weight of the example; 1 where it is missing. If None, all weights are 1, and a feature may be called
        ``weight``.
    keep
        Further fields or columns, whose values are passed through unchanged in `Batch.kept`; None where a line of JSONL
        lacks one.
    separator
        Separates the labels in one cell of CSV or TSV. A column called ``label`` holds a single label and is not split.

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
                "text and features are both None, but one of them is needed",
            )
        if self.weight is not None and self.weight in self.inputs:
            raise InvalidParameterError(
                "weight-column-taken",
                f"{self.weight!r} is used both as the weight and as a text or a feature",
                hint="Pass weight=None, or the name of another field.",
            )
        if not self.separator:
            raise InvalidParameterError("parameter-out-of-range", "separator must not be empty")

    @cached_property
    def texts(self) -> list[str]:
        """Names of the fields that form the text."""
        return _listed(self.text)

    @cached_property
    def numbers(self) -> list[str]:
        """Names of the fields that are features themselves."""
        return [] if isinstance(self.features, str) else _listed(self.features)

    @cached_property
    def wanted(self) -> list[str]:
        """Names of all fields that may be read."""
        own = [*self.inputs, *self.label_names]
        return own if self.weight is None else [*own, self.weight]

    def own_names(self, there: Iterable[str]) -> dict[str, str]:
        """Map fields whose names match only if case is ignored to the requested names."""
        names = set(there)
        in_any_case: dict[str, list[str]] = {}
        for name in names.difference(self.wanted):
            in_any_case.setdefault(name.casefold(), []).append(name)
        wanted = [name for name in self.wanted if name not in names and name.casefold() in in_any_case]
        # `labels` takes precedence over `label`, in any case; two fields that differ only in case are not matched.
        found = {in_any_case[name.casefold()][0]: name for name in wanted if len(in_any_case[name.casefold()]) == 1}
        has_labels = [name for name in self.label_names if name in names]
        return {own: name for own, name in found.items() if not has_labels or name not in self.label_names}

    def find_labels(self, there: Any) -> str | None:
        """Find the field that holds the labels; None if labels are not read."""
        for name in self.label_names:
            if name in there:
                return name
        names = self.label_names
        if names:
            wanted = " nor ".join(map(repr, names))
            raise InvalidInputError(
                "labels-missing",
                f"there is {'neither ' if len(names) > 1 else 'no '}{wanted}",
                got=fields_of(there),
                hint=f"{did_you_mean(names, there)}To read no labels, pass labels=None.",
            )
        return None

    @cached_property
    def label_names(self) -> list[str]:
        """Possible names of the field of labels."""
        return _listed(self.labels)

    @cached_property
    def inputs(self) -> list[str]:
        """Names of the fields that form the text or the features."""
        return [*self.texts, *_listed(self.features)]


def fields_of(there: Iterable[str]) -> str:
    """List the fields, for an error message."""
    names = list(there)
    shown = ", ".join(map(repr, names[:_FIELDS_SHOWN]))
    return f"the fields {shown}{', …' if len(names) > _FIELDS_SHOWN else ''}" if names else "no fields"


def did_you_mean(wanted: Iterable[str], there: Iterable[str]) -> str:
    """Suggest the field whose name is most similar, if there is one."""
    by_fold = {name.casefold(): name for name in islice(there, _FIELDS_COMPARED)}
    for name in wanted:
        near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.7)
        if near:
            return f"Did you mean {by_fold[near[0]]!r}? "
    return ""


def _listed(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


@dataclass(frozen=True)
class Batch:
    r"""A batch of consecutive examples of a file, in the form that `learn_many` takes.

    Parameters
    ----------
    X
        A list of texts or of mappings from feature names to values, or a sparse matrix whose column numbers are the
        names of features.
    Y
        A list of labels for each example, or a sparse indicator matrix whose column numbers are the names of labels.
    weights
        Weight of each example; None if none has a weight.
    numbers
        The line of the file (the row, for Parquet) of each example, counted from 1.
    source
        Name of the file.
    unit
        ``"line"`` or ``"row"``.
    kept
        The fields of each example that are listed in `Columns.keep`; None if there are none.

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
        return "text" if isinstance(self.X, list) and self.X and holds_text(self.X[0]) else "features"

    def where(self, i: int) -> str:
        """Return the file and the line of example i of the batch."""
        return f"{self.source}, {self.unit} {self.numbers[i]}"

    def part(self, begin: int, end: int | None = None) -> Batch:
        """Return examples [begin, end) of the batch."""
        some = slice(begin, end)
        weights = None if self.weights is None else self.weights[some]
        kept = None if self.kept is None else self.kept[some]
        return replace(self, X=self.X[some], Y=self.Y[some], weights=weights, numbers=self.numbers[some], kept=kept)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[Any, list[Label], float]]:
        """Iterate over examples: x, labels, weight."""
        weights = [1.0] * len(self) if self.weights is None else self.weights.tolist()
        rows = self.X if isinstance(self.X, list) else _rows(self.X)
        labels = self.Y if isinstance(self.Y, list) else _columns(self.Y)
        return zip(rows, labels, weights, strict=True)


def _columns(matrix: sp.csr_array) -> list[list[int]]:
    indptr, indices = matrix.indptr.tolist(), matrix.indices.tolist()
    return [indices[begin:end] for begin, end in pairwise(indptr)]


def _rows(matrix: sp.csr_array) -> Iterator[dict[int, float]]:
    """Convert rows to mappings. Values of a feature that is stored twice are summed."""
    # The shortest decimals that round to these float32 values: 0.1, not 0.10000000149011612.
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
    r"""The errors found in a file: raised immediately, or counted, with the first ones kept in `errors`.

    Parameters
    ----------
    source
        Name of the file.
    skip
        Count invalid lines and continue, instead of raising.
    unit
        Unit of positions in messages: ``"line"`` or ``"row"``.

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
        """Raise the error of a line, or count it; the first few errors are kept."""
        located = error.at(f"{self.source}, {self.unit} {number}")
        if not self._skip:
            raise located from None
        self.count += 1
        if len(self.errors) < _ERRORS_KEPT:
            self.errors.append(located)

    def fatal(
        self, code: str, what: str, *, line: int | None = None, got: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise an error that concerns the whole file."""
        where = self.source if line is None else f"{self.source}, {self.unit} {line}"
        raise InvalidInputError(code, what, where=where, got=got, hint=hint) from None

    def __str__(self) -> str:
        if not self.count:
            return "nothing skipped"
        more = self.count - len(self.errors)
        lines = [f"{self.count} {self.unit}{'s' * (self.count > 1)} skipped:", *map(str, self.errors)]
        return "\n".join([*lines, f"and {more} more"] if more else lines)


def as_features(given: Any) -> dict[Any, float]:
    """Validate features: names with values, pairs of names and values, or a list of values, named by position.

    Pairs preserve the types of names, which JSON objects do not.
    """
    features: dict[Any, float] = given if isinstance(given, dict) else _paired(given)
    check_features(features)
    return features


def as_text_with(text: str, further: dict[str, Any]) -> dict[str, Any]:
    """Make an example of a text and further features."""
    features = further_features(further)
    check_features(features)
    return {TEXT: text, **features}


def as_positions(name: str, values: list[Any]) -> dict[str, float]:
    """Make a feature of each position of a list in one field; nulls are absent."""
    return {f"{name}[{place}]": value for place, value in enumerate(values) if value is not None}


def _paired(given: Any) -> dict[Any, float]:
    pairs = given if isinstance(given, list) else [given]
    if pairs and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in pairs):
        return {place: value for place, value in enumerate(pairs) if value != 0}  # NaN is not 0, and refused later
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise InvalidInputError(
            "row-not-a-mapping",
            "features must be an object of names and values, pairs [name, value], or a list of numbers",
            got=briefly(given),
        )
    check_names([name for name, _ in pairs], "feature")
    features = dict(pairs)
    if len(features) < len(pairs):
        raise InvalidInputError("feature-twice", "a feature occurs twice")
    return features


def as_label_list(given: Any) -> list[Label]:
    """Validate labels: a list of labels, or a single one."""
    labels = given if isinstance(given, list) else [given]
    check_labels(labels)
    if is_indicator(labels):
        refuse_indicator(labels)
    return labels


def as_name(text: str) -> Label:
    """Convert a name in the canonical form of an integer to one, for formats that do not distinguish the two."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= 18:  # surely fits in 64 bits
        number = int(text)
        return number if str(number) == text else text  # not 007, nor -0
    return text


def as_number(text: str) -> float:
    """Parse a number. Unlike float(), it rejects 1_000."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def as_written_weight(given: Any) -> float:
    """Validate a weight, given as a number or as text."""
    try:
        return as_weight(as_number(given) if isinstance(given, str) else given)
    except ValueError:  # not a number, or out of range: the message shows it as it is written
        return as_weight(given)


def first_repeated(names: Iterable[str]) -> str | None:
    """Find the first of the names that occur more than once. Takes linear time."""
    return next((name for name, n in Counter(names).items() if n > 1), None)

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Prediction of tables that an engine such as Ray Data, Dask or Spark hands out in batches.

No engine is imported: a `BatchPredictor` is a function from tables to tables, which all of them can call. This is not
batch training, which `PLT.fit` does.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

from oplt import frames
from oplt._typing import Label
from oplt.checks import path_of, refuse
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.files._examples import as_features
from oplt.params import search_params
from oplt.plt import PLT
from oplt.predictions import Predictions
from oplt.thresholds import Thresholds
from oplt.validation import as_label_set
from oplt.wording import briefly

__all__ = ["BatchPredictor"]

_Batch = TypeVar("_Batch")

_BATCH = "the batch"  # what errors call it


class BatchPredictor:
    """Predicts the labels of batches: a function from a table to the same table with two more columns.

    It holds the path of a model file, not the model, so it is cheap to send to other processes and machines. A process
    opens the file for its first batch, and keeps it open. The file is memory-mapped: all processes of a machine share
    one copy of it in memory.

    Parameters
    ----------
    path
        A model file. Every machine that predicts must find it under this path: in a shared folder, or as a copy.
    column
        The column that holds the examples: texts, or features as mappings, as pairs (name, value) or as lists of
        numbers. For a list of columns, these columns together are the features, as in a frame that is passed to
        `PLT.predict_many`.
    k, threshold, beam, allow, deny
        As for `PLT.predict_many`.
    into
        Names of the two new columns, which hold a list of labels, most probable first, and a list of their
        probabilities for each row.

    Notes
    -----
    A batch is a pandas or Polars data frame, an Arrow table or an Arrow record batch, and the result is of the same
    kind. Labels of an Arrow or Polars column must be of one type, strings or integers. Prediction runs on one thread,
    since engines start a process or a thread for each core. If the file is replaced, the next batch uses the new one:
    give a new version of a model a new name while a job is running.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from oplt import OnlinePLT
    >>> model = OnlinePLT(features="text")
    >>> model.learn_many(["It purrs", "It barks"], ["cat", "dog"])
    >>> path = tempfile.mkdtemp() + "/pets.oplt"
    >>> model.save(path)
    >>> predict = BatchPredictor(path, "text", k=1)
    >>> found = predict(pd.DataFrame({"text": ["purrs", "barks"]}))
    >>> found["predicted_labels"].to_list()
    [['cat'], ['dog']]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        column: str | Sequence[str] = "text",
        *,
        k: int | None = None,
        threshold: float | Thresholds | Literal["tuned"] | None = None,
        beam: int | None = None,
        allow: Iterable[Label] | None = None,
        deny: Iterable[Label] | None = None,
        into: tuple[str, str] = ("predicted_labels", "probabilities"),
    ) -> None:
        # Mistakes are reported here, before a job starts, if that needs no model.
        search_params(k, None if threshold == "tuned" or isinstance(threshold, Thresholds) else threshold, beam)
        self._path = path_of(path)
        self._column = _column(column)
        self._into = _two_names(into)
        self._options: dict[str, Any] = {
            "k": k,
            "threshold": threshold,
            "beam": beam,
            "allow": None if allow is None else as_label_set(allow, "allow"),
            "deny": None if deny is None else as_label_set(deny, "deny"),
        }

    def __call__(self, batch: _Batch) -> _Batch:
        """Return the batch with the columns of labels and probabilities."""
        self._check(batch)
        examples = self._examples(batch)
        if not len(examples) and not frames.needs_types(batch, _BATCH):
            return self._added(batch, Predictions.from_rows([]), str)  # engines ask for the columns without a model
        opened = self._opened(is_typed=frames.needs_types(batch, _BATCH))
        return self._added(batch, self._predict(opened.model, examples), opened.label_type)

    def _added(self, batch: _Batch, found: Predictions, label_type: type) -> _Batch:
        ends = found.indptr.tolist()
        rows = [slice(begin, end) for begin, end in pairwise(ends)]
        labels, scores = found.labels.tolist(), found.scores.tolist()
        columns = ([labels[row] for row in rows], label_type), ([scores[row] for row in rows], float)
        result: _Batch = frames.with_lists(batch, dict(zip(self._into, columns, strict=True)), _BATCH)
        return result

    def __repr__(self) -> str:
        options = "".join(f", {name}={briefly(value)}" for name, value in self._options.items() if value is not None)
        return f"BatchPredictor({str(self._path)!r}, {self._column!r}{options})"

    def _check(self, batch: Any) -> None:
        """Reject what is not a table, or lacks a column, or already has one of the new columns."""
        if not frames.is_frame(batch):
            raise InvalidInputError(
                "frame-not-valid",
                "the batch must be a pandas or Polars data frame, an Arrow table or an Arrow record batch",
                got=type(batch).__name__,
                hint="With Ray Data, pass batch_format='pyarrow' to map_batches." if isinstance(batch, dict) else None,
            )
        there = frames.column_names(batch, _BATCH)
        wanted = [self._column] if isinstance(self._column, str) else self._column
        missing = next((name for name in wanted if name not in there), None)
        got = f"the columns {', '.join(map(repr, there))}"
        if missing is not None:
            hint = "Name the column of the texts or features: BatchPredictor(path, column)."
            raise InvalidInputError("column-missing", f"the batch has no column {missing!r}", got=got, hint=hint)
        taken = next((name for name in self._into if name in there), None)
        if taken is not None:
            hint = "Choose other names for the predictions: BatchPredictor(..., into=(labels, probabilities))."
            raise InvalidInputError("column-taken", f"the batch already has a column {taken!r}", got=got, hint=hint)

    def _examples(self, batch: Any) -> Any:
        """Return the examples of a batch in a form that `predict_many` takes."""
        chosen = frames.select(batch, self._column, _BATCH)
        if not isinstance(self._column, str):
            return chosen
        values = frames.as_values(chosen, self._place)
        return _as_mappings(values, self._place) if any(map(_is_named, values)) else values

    def _predict(self, model: PLT, examples: Any) -> Predictions:
        try:
            return model.predict_many(examples, **self._options)
        except InvalidInputError as error:
            row = error.where.removesuffix("X") if error.where else ""  # "row 3 of "
            raise error.at(row + self._place) from None

    @property
    def _place(self) -> str:
        """What errors call the examples of a batch."""
        return f"column {self._column!r} of the batch" if isinstance(self._column, str) else _BATCH

    def _opened(self, *, is_typed: bool) -> _Opened:
        try:
            found = self._path.stat()
            opened = _open(self._path, (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))
        except FileNotFoundError:
            raise InvalidParameterError(
                "model-file-missing",
                f"there is no model file {str(self._path)!r} on the machine {socket.gethostname()!r}",
                hint="Copy the model to this path on every machine, or put it into a folder that all machines share.",
            ) from None
        if is_typed and opened.label_type is object:
            raise InvalidInputError(
                "label-types-mixed",
                "some labels are strings and others integers, but an Arrow or Polars column must have one type",
                where=str(self._path),
                hint="Let the engine pass pandas data frames.",
            )
        return opened


class _Opened(NamedTuple):
    model: PLT
    label_type: type  # str, int, or object if there are both


# Engines send a BatchPredictor to a process anew for each batch; the model must not be opened again each time. Models
# are immutable, and their pages are shared with other processes, so that keeping a few open costs little.
@lru_cache(maxsize=4)
def _open(path: os.PathLike[str], _version: tuple[int, ...]) -> _Opened:
    """Open a model file; `_version` identifies its content, since the file may be replaced."""
    model = PLT.load(path)
    types: set[type] = {type(label) for label in model.labels}
    return _Opened(model, object if len(types) > 1 else next(iter(types), str))


def _column(given: Any) -> str | list[str]:
    """Check the name of a column, or the names of several."""
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, (list, tuple)) or not several or not all(isinstance(one, str) for one in several):
        refuse("column", "the name of a column, or a list of names", given)
    return given if isinstance(given, str) else list(several)


def _two_names(given: Any) -> tuple[str, str]:
    if isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(one, str) for one in given):
        first, second = given
        if first != second:
            return first, second
    return refuse("into", "the names of two columns", given)


def _is_named(value: Any) -> bool:
    """Check whether features have names: a mapping, or pairs, which an Arrow column of the type map yields."""
    if isinstance(value, dict):
        return True
    if isinstance(value, (list, tuple)):
        return not value or isinstance(value[0], (list, tuple))  # a list of numbers is never empty
    return False


def _as_mappings(values: list[Any], what: str) -> list[Any]:
    """Convert pairs to mappings, and leave out null fields of structs: they are absent features."""
    found = []
    for row, value in enumerate(values):
        if isinstance(value, dict):
            found.append({name: one for name, one in value.items() if one is not None})
        else:
            try:
                found.append(as_features(value))
            except InvalidInputError as error:
                raise error.at(f"row {row} of {what}") from None
    return found

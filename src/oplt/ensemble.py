# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Several models that answer together."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from oplt import _core, persistence
from oplt._typing import Label, PointerArray, Row, Rows
from oplt.errors import InvalidInputError, ModelFormatError
from oplt.model import OnlinePLT
from oplt.params import count, predict_params
from oplt.persistence import ENSEMBLE
from oplt.predictions import Predictions
from oplt.text import Texts
from oplt.validation import NamedRows

__all__ = ["Ensemble"]

VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, number of models
_SIZE = struct.Struct("<Q")  # of a model, in bytes
_MOST = 2**31  # labels that can be asked for


class Ensemble:
    """Models whose probabilities are averaged: the same data and different trees err in different places.

    Each model is asked for its best labels, more of them than are wanted in the end; the probability of a label is the
    mean over the models, where a model that does not name it counts as 0. So a label that not all models name may get
    less than its true mean, never more; `predict_many` says by how much.

    For several trees that learn from the same stream, ``OnlinePLT(trees=3)`` is simpler: one model, which shares names,
    rows and a label memory. An ensemble is for models that differ in other ways, or were trained apart.

    Parameters
    ----------
    models
        At least one. They need not know the same labels, and those made online may go on learning. Either all of them
        take texts or none does.

    Examples
    --------
    >>> models = [OnlinePLT(policy="random", seed=seed) for seed in range(3)]
    >>> for model in models:
    ...     model.learn_many([{"purrs": 1}, {"barks": 1}, {"hard": 1}], ["cat", "dog", "stone"])
    >>> Ensemble(models).predict_one({"barks": 1}, k=1)[0][0]
    'dog'
    """

    def __init__(self, models: Iterable[OnlinePLT]) -> None:
        if not isinstance(models, Iterable):
            msg = f"models must be a list of at least one OnlinePLT, got {type(models).__name__}: put it in a list"
            raise InvalidInputError(msg)
        self._models = tuple(models)
        wrong = [type(model).__name__ for model in self._models if not isinstance(model, OnlinePLT)]
        if wrong or not self._models:
            msg = f"models must be a list of at least one OnlinePLT, got {wrong[0] if wrong else 'none'}"
            raise InvalidInputError(msg)
        if len({model._settings.features is None for model in self._models}) > 1:
            msg = "models must all take texts or all take features, got some of each"
            raise InvalidInputError(msg)

    @property
    def models(self) -> tuple[OnlinePLT, ...]:
        """The models."""
        return self._models

    def predict_one(
        self,
        x: Row | str,
        k: int | None = None,
        *,
        threshold: float | None = None,
        beam: int | None = None,
        candidates: int | None = None,
    ) -> list[tuple[Label, float]]:
        """Predict the labels of one example; see `predict_many`."""
        return self._predict(self._models[0]._as_row(x), k, threshold, beam, candidates)[0]

    def predict_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        k: int | None = None,
        *,
        threshold: float | None = None,
        beam: int | None = None,
        candidates: int | None = None,
    ) -> Predictions:
        """Predict the labels of many examples.

        Parameters
        ----------
        X
            Features, as for `OnlinePLT.predict_many`.
        k
            At most so many labels; 5 if neither `k` nor `threshold` is given.
        threshold
            Only labels whose mean probability is at least so large.
        beam
            Each model looks only into so many nodes of each level, as for `OnlinePLT.predict_one`.
        candidates
            How many labels each model names, at least `k`: its most probable ones. If not given, twice `k`, but at
            least 10; without `k`, all those that are at least as probable as `threshold` divided by the number of
            models. As many as there are labels make the means exact, if no model has a label memory.

        Returns
        -------
        Labels and their mean probabilities, most probable first; equally probable ones by name, integers first.
        `n_examples` is that of the model that has learnt least.

        Notes
        -----
        A model that does not name a label counts as 0 in its mean. What a model does not name is at most as probable
        as the least that it names: the mean is too small by at most the sum of these bounds over those models, divided
        by the number of all models. With a `threshold` t and neither `k` nor `candidates`, n models and no beam, that
        is less than t·(n - 1)/n². So no label whose true mean is below t is returned, and none whose true mean is at
        least t·(1 + (n - 1)/n²) is missing.

        All this is so for models without a label memory. One with a memory ranks candidates; a label that is none of
        them has no probability, and counts as 0.
        """
        return self._predict(self._models[0]._as_rows(X), k, threshold, beam, candidates)

    def _predict(
        self, rows: NamedRows | Texts, k: int | None, threshold: float | None, beam: int | None, candidates: int | None
    ) -> Predictions:
        predict_params(k, threshold, beam, threads=1)  # checks them
        if k is None and threshold is None:
            k = 5
        least = None
        if candidates is not None:
            count("candidates", candidates, least=1 if k is None else k)
        elif k is not None:
            candidates = min(max(2 * int(k), 10), _MOST)
        elif threshold is not None:
            least = threshold / len(self._models)

        columns: dict[Label, int] = {}  # of all labels that any model names
        asked = (predict_params(candidates, least, beam, model._threads) for model in self._models)
        answers = [_ask(model, rows, params, columns) for model, params in zip(self._models, asked, strict=True)]
        means = _mean(answers, len(columns))
        return _best(means, list(columns), len(rows), _MOST if k is None else k, threshold or 0.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models to one file. The file holds the old content or the new, whatever happens meanwhile."""
        with persistence.replacing(Path(path), ENSEMBLE) as file:
            file.write(_HEADER.pack(ENSEMBLE.magic, VERSION, len(self._models)))
            for model in self._models:
                data = persistence.to_bytes(model._settings, model._core)
                file.write(_SIZE.pack(len(data)))
                file.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1) -> Ensemble:
        """Read an ensemble from a file."""
        try:
            parts = _split(Path(path).read_bytes())
            return cls([OnlinePLT._of(*persistence.from_bytes(part), threads) for part in parts])
        except ModelFormatError as error:
            msg = f"{path}: {error}"
            raise ModelFormatError(msg) from None

    def __repr__(self) -> str:
        return f"<Ensemble of {len(self._models)} models: {', '.join(map(repr, self._models))}>"


@dataclass(frozen=True)
class _Entries:
    """Probabilities by row and column, and how many examples they were learnt from."""

    row: PointerArray
    column: PointerArray
    probability: npt.NDArray[np.floating]
    n_examples: int


def _ask(model: OnlinePLT, rows: NamedRows | Texts, params: _core.PredictParams, columns: dict[Label, int]) -> _Entries:
    """Get the labels that a model names. Those without a column yet get one."""
    indptr, ids, scores, n_examples = model._ask(rows, params)
    distinct, places = np.unique(ids, return_inverse=True)
    names = model._core.label_names(distinct)
    column_of = np.array([columns.setdefault(name, len(columns)) for name in names], dtype=np.int64)
    row = np.repeat(np.arange(len(rows)), np.diff(indptr))
    return _Entries(row, column_of[places.reshape(-1)], scores, n_examples)


def _mean(answers: list[_Entries], n_columns: int) -> _Entries:
    """Average the probabilities; what an answer lacks counts as 0."""
    keys = np.concatenate([answer.row * n_columns + answer.column for answer in answers])
    distinct, places = np.unique(keys, return_inverse=True)
    total = np.bincount(places.reshape(-1), weights=np.concatenate([answer.probability for answer in answers]))
    row, column = np.divmod(distinct, max(n_columns, 1))
    return _Entries(row, column, total / len(answers), min(answer.n_examples for answer in answers))


def _best(means: _Entries, names: list[Label], n_rows: int, k: int, threshold: float) -> Predictions:
    """Find the most probable labels of each row. Probabilities are compared as float32, as the core does."""
    by_name = sorted(range(len(names)), key=lambda i: (isinstance(names[i], str), names[i]))
    place_of = np.argsort(by_name)
    scores = means.probability.astype(np.float32)
    order = np.lexsort((place_of[means.column], -scores, means.row))
    begins = np.searchsorted(means.row, np.arange(n_rows))
    kept = order[(np.arange(len(order)) - begins[means.row] < k) & (scores[order] >= np.float32(threshold))]
    indptr = np.searchsorted(means.row[kept], np.arange(n_rows + 1))
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    return Predictions(labels[means.column[kept]], scores[kept], indptr, means.n_examples)


def _split(data: bytes) -> list[bytes]:
    """Take the content of a file apart into models, each of which has a checksum of its own."""
    n_models = persistence.unpack_header(data, _HEADER, ENSEMBLE, VERSION)
    parts = []
    begin = _HEADER.size
    while begin + _SIZE.size <= len(data):
        (size,) = _SIZE.unpack_from(data, begin)
        begin += _SIZE.size + size
        parts.append(data[begin - size : begin])
    if len(parts) != n_models or begin != len(data) or not parts:
        msg = f"the ensemble should have {n_models} models, but its parts do not fit together: it is damaged or cut off"
        raise ModelFormatError(msg)
    return parts

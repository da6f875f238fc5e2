# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Several models that answer together."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from oplt import persistence
from oplt._typing import Label, Row, Rows
from oplt.errors import InvalidInputError, ModelFormatError
from oplt.model import OnlinePLT
from oplt.params import count, predict_params
from oplt.predictions import Predictions
from oplt.validation import NamedRows, as_row, as_rows

__all__ = ["Ensemble"]

MAGIC = b"OPLTENSM"
VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, number of models
_SIZE = struct.Struct("<Q")  # of a model, in bytes


class Ensemble:
    """Models whose probabilities are averaged: the same data and different trees err in different places.

    Each model is asked for its best labels, more of them than are wanted in the end; the probability of a label is the
    mean over the models, where a model that does not name it counts as 0. So a label that not all models name may get
    less than its true mean, by at most the least probability that the others gave.

    Parameters
    ----------
    models
        At least one. They need not know the same labels, and those made online may go on learning.

    Examples
    --------
    >>> models = [OnlinePLT(policy="random", seed=seed) for seed in range(3)]
    >>> for model in models:
    ...     model.learn_many([{"purrs": 1}, {"barks": 1}, {"hard": 1}], ["cat", "dog", "stone"])
    >>> Ensemble(models).predict_one({"barks": 1}, k=1)[0][0]
    'dog'
    """

    def __init__(self, models: Sequence[OnlinePLT]) -> None:
        self._models = tuple(models)
        if not self._models or not all(isinstance(model, OnlinePLT) for model in self._models):
            kinds = ", ".join(type(model).__name__ for model in self._models) or "none"
            msg = f"models must be at least one OnlinePLT, got {kinds}"
            raise InvalidInputError(msg)

    @property
    def models(self) -> tuple[OnlinePLT, ...]:
        """The models."""
        return self._models

    def predict_one(self, x: Row, k: int = 5, *, candidates: int | None = None) -> list[tuple[Label, float]]:
        """Predict the k most probable labels of one example; see `predict_many`."""
        return self._predict(as_row(x), k, candidates)[0]

    def predict_many(
        self,
        X: Rows,  # noqa: N803 (a matrix)
        k: int = 5,
        *,
        candidates: int | None = None,
    ) -> Predictions:
        """Predict the labels of many examples.

        Parameters
        ----------
        X
            Features, as for `OnlinePLT.predict_many`.
        k
            At most so many labels.
        candidates
            How many labels each model is asked for, at least `k`; twice `k`, but at least 10, if not given.

        Returns
        -------
        Labels and their mean probabilities, most probable first; equally probable ones by name, integers first.
        `n_examples` is that of the model that has learnt least.
        """
        return self._predict(as_rows(X), k, candidates)

    def _predict(self, rows: NamedRows, k: int, candidates: int | None) -> Predictions:
        k = count("k", k)
        asked = max(2 * k, 10) if candidates is None else count("candidates", candidates, least=k)
        columns: dict[Label, int] = {}  # of all labels that any model names
        answers = [_ask(model, rows, asked, columns) for model in self._models]
        total = sp.csr_array((len(rows), len(columns)), dtype=np.float64)
        for matrix, _ in answers:
            matrix.resize(total.shape)
            total = total + matrix
        return _best(total / len(self._models), k, list(columns), min(n_examples for _, n_examples in answers))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models to one file. The file holds the old content or the new, whatever happens meanwhile."""
        with persistence.replacing(Path(path), MAGIC, "ensemble") as file:
            file.write(_HEADER.pack(MAGIC, VERSION, len(self._models)))
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


def _ask(model: OnlinePLT, rows: NamedRows, k: int, columns: dict[Label, int]) -> tuple[Any, int]:
    """Get the probabilities of a model's best labels as a sparse matrix; labels without a column yet get one."""
    params = predict_params(k, None, None, model._threads)
    indptr, ids, scores, n_examples = model._core.predict_many(rows.indptr, rows.names, rows.values, params)
    distinct, places = np.unique(ids, return_inverse=True)
    names = model._core.label_names(distinct)
    column_of = np.array([columns.setdefault(name, len(columns)) for name in names], dtype=np.int64)
    parts = (scores.astype(np.float64), column_of[places.reshape(-1)], indptr)
    return sp.csr_array(parts, shape=(len(rows), len(columns))), n_examples


def _best(total: Any, k: int, names: list[Label], n_examples: int) -> Predictions:
    """Find the k largest entries of each row."""
    by_name = sorted(range(len(names)), key=lambda i: (isinstance(names[i], str), names[i]))
    rank = np.empty(len(names), dtype=np.int64)
    rank[by_name] = np.arange(len(names))
    row_of = np.repeat(np.arange(total.shape[0]), np.diff(total.indptr))
    order = np.lexsort((rank[total.indices], -total.data, row_of))
    kept = order[np.arange(len(order)) - total.indptr[row_of] < k]  # rows lie where they lay, sorted within
    indptr = np.concatenate(([0], np.cumsum(np.minimum(np.diff(total.indptr), k))))
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    return Predictions(labels[total.indices[kept]], total.data[kept].astype(np.float32), indptr, n_examples)


def _split(data: bytes) -> list[bytes]:
    """Take the content of a file apart into models, each of which has a checksum of its own."""
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        msg = f"not an oplt ensemble: it begins with {data[: len(MAGIC)]!r}"
        raise ModelFormatError(msg)
    _, version, n_models = _HEADER.unpack_from(data)
    if version != VERSION:
        msg = f"format version {version} of an ensemble, but this oplt reads version {VERSION}: install a newer oplt"
        raise ModelFormatError(msg)
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

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What has been learnt: what it answers, how it is kept, and what it is like."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from oplt import _core, inspection, persistence
from oplt._typing import FloatArray, IdArray, Label, PointerArray, Row, Rows
from oplt.inspection import Inspection
from oplt.params import BatchSettings, Settings, count, predict_params
from oplt.predictions import Predictions, named
from oplt.text import TextFeatures, Texts, as_text, as_texts
from oplt.tree import LabelTree
from oplt.validation import NamedRows, as_row, as_rows

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["Predictor"]

# Where the answers to each row begin and end, labels, probabilities, and how many examples had been learnt.
_Answers: TypeAlias = tuple[PointerArray, IdArray, FloatArray, int]


class Predictor:
    """A label tree with its classifiers, as it is now. `OnlinePLT` is how it comes to be and learns."""

    def __init__(self, settings: Settings | BatchSettings, core: _core.Model, threads: int) -> None:
        self._settings = settings
        self._core = core
        self._threads = count("threads", threads)

    @classmethod
    def _of(cls, settings: Settings | BatchSettings, core: _core.Model, threads: int) -> Self:
        """Make one of a subclass, whose own constructor starts from nothing."""
        model = cls.__new__(cls)
        Predictor.__init__(model, settings, core, threads)
        return model

    def predict_one(
        self, x: Row | str, k: int | None = None, *, threshold: float | None = None, beam: int | None = None
    ) -> list[tuple[Label, float]]:
        """Predict the labels of one example.

        Parameters
        ----------
        x
            Its features, or its text if the model takes texts. Those that the model has never seen are ignored.
        k
            At most so many labels; 5 if neither `k` nor `threshold` is given. The best ten and their probabilities do
            not depend on it.
        threshold
            Only labels that are at least so probable; with a label memory and without `k`, of the 200 best candidates.
        beam
            Look only into so many nodes of each level of the tree. If not given, the tree alone is searched exactly;
            with a label memory, which ranks candidates, twice as many as `k`, but at least 20; without `k`, 100.

        Returns
        -------
        Labels and their probabilities, most probable first; empty if the model knows no label yet.
        """
        params = predict_params(k, threshold, beam, threads=1)
        found = _core.predict_one(self._core, x, params)
        return self._predict(self._as_row(x), params)[0] if found is None else found

    def predict_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        k: int | None = None,
        *,
        threshold: float | None = None,
        beam: int | None = None,
    ) -> Predictions:
        """Predict the labels of many examples; see `predict_one` for what can be asked.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> for labels in model.predict_many([{"purrs": 1}, {"barks": 1}], k=1):
        ...     print(labels[0][0])
        cat
        dog
        """
        return self._predict(self._as_rows(X), predict_params(k, threshold, beam, self._threads))

    def _as_row(self, x: Row | str) -> NamedRows | Texts:
        return as_text(x) if self._settings.features else as_row(cast("Row", x))

    def _as_rows(self, X: Rows | Iterable[str]) -> NamedRows | Texts:  # noqa: N803 (a matrix)
        return as_texts(X) if self._settings.features else as_rows(cast("Rows", X))

    def _ask(self, rows: NamedRows | Texts, params: _core.PredictParams) -> _Answers:
        if isinstance(rows, Texts):
            return self._core.predict_texts(rows.texts, params)
        return self._core.predict_many(rows.indptr, rows.names, rows.values, params)

    def _predict(self, rows: NamedRows | Texts, params: _core.PredictParams) -> Predictions:
        indptr, ids, scores, n_examples = self._ask(rows, params)
        return Predictions(named(ids, self._core.label_names), scores, indptr, n_examples)

    def fingerprint(self) -> str:
        """Digest of the whole learnt state. Equal models, and only those, have equal ones."""
        return persistence.fingerprint(self._settings, self._core)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file. The file holds the old content or the new, whatever happens meanwhile."""
        persistence.write(self._settings, self._core, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1) -> Self:
        """Read a model from a file. It goes on exactly as the saved one would have."""
        return cls._of(*persistence.read(Path(path)), threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), persistence.to_bytes(self._settings, self._core), self._threads)

    @property
    def tree(self) -> LabelTree:
        """The tree as it is now; of several, the first."""
        parents, ids = self._core.tree()
        labels: list[Label | None] = [None] * len(ids)
        leaves = np.flatnonzero(ids != _core.NONE)
        for leaf, name in zip(leaves.tolist(), self._core.label_names(ids[leaves]), strict=True):
            labels[leaf] = name
        return LabelTree(np.where(parents == _core.NONE, -1, parents.astype(np.int64)), labels)

    @property
    def n_labels(self) -> int:
        """Number of labels seen so far."""
        return self._core.n_labels

    @property
    def n_features(self) -> int:
        """Number of features seen so far; of those of texts, as many as are kept."""
        return self._core.n_features

    @property
    def features(self) -> TextFeatures | None:
        """A copy of the text features as they are now; None if the model takes no texts.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(features="text")
        >>> model.learn_one("Heap overflow in the kernel", "linux:kernel")
        >>> model.features.names
        ['heap', 'in', 'kernel', 'overflow', 'the']
        """
        core = self._core.text_features()
        return (
            None if core is None or self._settings.features is None else TextFeatures._of(self._settings.features, core)
        )

    @property
    def n_examples(self) -> int:
        """Number of examples learnt so far, without those that were learnt again."""
        return self._core.n_examples

    @property
    def depth(self) -> int:
        """Edges on the longest way from the root of the tree to a leaf; of several trees, the longest."""
        return self._core.depth

    @property
    def n_cells(self) -> int:
        """Number of weights that are not 0, or were not always, in all trees.

        One that was touched takes 8 bytes, and its row some more. Those that a new label's classifier has from the
        start are counted, but kept only once a step changes them.
        """
        return self._core.n_cells

    @property
    def memory_bytes(self) -> int:
        """Memory that the learnt state takes."""
        return self._core.memory_bytes

    def inspect(self, n: int = 5) -> Inspection:
        """Look at what is in the model: sizes, memory by part, its largest nodes, its most and least frequent labels.

        Parameters
        ----------
        n
            How many nodes, and labels at each end, are named.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT(trees=2)
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}, {"barks": 2}], ["cat", "dog", "dog"])
        >>> found = model.inspect()
        >>> found.changed, found.n_nodes
        ({'trees': 2}, 6)
        >>> found.labels.most[0]
        LabelCount(label='dog', n_examples=2)
        """
        return inspection.inspect(self._settings, self._core, count("n", n, least=0))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the model was made with."""
        return asdict(self._settings)

    def __repr__(self) -> str:
        defaults = asdict(type(self._settings)())
        changed = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if value != defaults[name])
        kind = type(self).__name__ + ("" if isinstance(self._settings, Settings) else ".fit_batch")
        return (
            f"<{kind}({changed}): {self.n_labels} labels, {self.n_features} features,"
            f" {self.n_examples} examples, depth {self.depth}>"
        )


def _from_bytes(cls: type[Predictor], data: bytes, threads: int) -> Predictor:
    return cls._of(*persistence.from_bytes(data), threads)

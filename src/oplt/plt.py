# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Immutable trained models: batch-trained models and snapshots of online ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from oplt import _core, persistence
from oplt._typing import IdArray, Label, LabelRows, Rows
from oplt.checks import Flag, Number, count, path_of
from oplt.declarations import with_settings
from oplt.doubts import LabelDoubts
from oplt.errors import InvalidInputError
from oplt.params import BatchSettings, Settings
from oplt.persistence import SavedModel
from oplt.predictor import Predictor, State
from oplt.text import TextFeatures, as_text_features, core_of, rows_to_cluster, settings_of
from oplt.thresholds import Thresholds, as_thresholds
from oplt.tree import LabelTree
from oplt.tree._builders import cluster
from oplt.validation import NamedLabels, NamedRows, Texts, as_inputs, as_labels, as_weights
from oplt.wording import briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["PLT", "tree_arrays"]

_PRUNE = Number(least=0, most=1, single=True)
_HALF = Flag()
_WAIT = Flag()


class PLT(Predictor):
    """A trained probabilistic label tree that does not change.

    `PLT.fit` trains one on a whole data set; `OnlinePLT.snapshot` takes one from an online model; `PLT.load` opens any
    model file. It can predict and can be saved, pickled and inspected, from any number of threads concurrently and
    without locks.

    Examples
    --------
    >>> X = [{"purrs": 1}, {"purrs": 1, "tail": 1}, {"barks": 1, "tail": 1}, {"hard": 1}]
    >>> model = PLT.fit(X, ["cat", "cat", "dog", "stone"])
    >>> [label for label, probability in model.predict_one({"barks": 1}, k=1)]
    ['dog']
    """

    _core: State
    _only_predicts: bool

    def __init__(self, *_: Any, **__: Any) -> None:
        msg = "PLT has no public constructor: use PLT.fit(X, Y), PLT.load(path) or OnlinePLT.snapshot()"
        raise TypeError(msg)

    @classmethod
    def _of(cls, saved: SavedModel, threads: int) -> Self:
        model = cls.__new__(cls)
        model._settings = saved.settings
        model._core = saved.state
        model._only_predicts = saved.only_predicts
        model._thresholds = saved.thresholds
        model._stream = saved.stream
        model._threads = count("threads", threads)
        model._begin()
        return model

    def __getattr__(self, name: str) -> Any:
        what = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in {"learn_one", "learn_many", "partial_fit"}:
            what += ": it cannot be updated. Use OnlinePLT; OnlinePLT.load opens the saved snapshot of an online model."
        raise AttributeError(what, name=name, obj=self)

    def _state(self) -> State:
        return self._core

    def _saved(self) -> SavedModel:
        return SavedModel(self._settings, self._core, self._only_predicts, self._thresholds, self._stream)

    @classmethod
    @with_settings(BatchSettings)
    def fit(
        cls,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
        loss: str = BatchSettings.loss,
        cost: float | None = BatchSettings.cost,
        tolerance: float = BatchSettings.tolerance,
        max_iterations: int = BatchSettings.max_iterations,
        prune: float = BatchSettings.prune,
        normalize: bool = BatchSettings.normalize,
        seed: int = BatchSettings.seed,
        trees: int | LabelTree | Sequence[LabelTree] = BatchSettings.trees,
        features: str | TextFeatures | None = None,
        threads: int = 1,
    ) -> Self:
        """Train a model on a whole data set (a batch PLT; with clustered labels, Parabel).

        Each classifier is optimized close to convergence, as in LIBLINEAR. That takes longer than online training and
        predicts better than an online tree alone. The model cannot be updated: when more examples arrive, train another
        one on all of them, or train ``OnlinePLT.from_tree(model.tree)`` online.

        Parameters
        ----------
        X, Y
            Features and labels, as for `OnlinePLT.learn_many`. If every example has a label, the model assumes that at
            least one label applies to any example.
        weights
            Weight of each example, which multiplies `cost`; 1 if not given. The trees do not depend on the weights.
        {settings}
        threads : int, default 1
            Number of threads for training and for `predict_many`. Neither the model nor its predictions depend on it.
        """
        text = as_text_features(features)
        given = _as_trees(trees)
        settings = BatchSettings(
            loss=loss,
            cost=cost,
            tolerance=tolerance,
            max_iterations=max_iterations,
            prune=prune,
            normalize=normalize,
            seed=seed,
            trees=cast("int", trees) if given is None else len(given),
            features=settings_of(text),
        )
        x = as_inputs(X, texts=text is not None, pattern=settings.features.pattern if settings.features else None)
        y, checked_weights = as_labels(Y, len(x)), as_weights(weights, len(x))
        if len(x) == 0:
            raise InvalidInputError(
                "no-examples",
                "X has no rows, but batch training needs examples",
                hint="To start without examples, use OnlinePLT.from_tree.",
            )
        labels, arrays = _with_common_labels(given or _clustered(x, y, settings, text, threads))
        state = _core.fit(
            settings.to_core(),
            settings.normalize,
            arrays,
            labels,
            x.to_core(),
            y.indptr,
            y.names,
            checked_weights,
            core_of(text),
            count("threads", threads),
        )
        doubts = LabelDoubts(lambda names: [name in known for name in names])
        known = set(labels)
        doubts.look_at(y.names)
        return cls._of(SavedModel(settings, state), threads)

    def with_thresholds(self, thresholds: Thresholds | None) -> Self:
        """Make a copy that uses these thresholds for ``threshold="tuned"`` and saves them.

        The copy shares the model's memory.

        Parameters
        ----------
        thresholds
            The thresholds, such as those chosen by `oplt.thresholds.tune`; None removes the present ones.

        Examples
        --------
        >>> from oplt.thresholds import Thresholds
        >>> model = PLT.fit([{"purrs": 1}, {"barks": 1}], ["cat", "dog"]).with_thresholds(Thresholds(0.5))
        >>> [label for label, probability in model.predict_one({"barks": 1}, threshold="tuned")]
        ['dog']
        """
        own = None if thresholds is None else as_thresholds(thresholds)
        return self._of(replace(self._saved(), thresholds=own), self._threads)

    def for_prediction(self, *, prune: float = 0.0, half: bool = False) -> Self:
        """Make a smaller copy for prediction only, without the state that training needs, such as AdaGrad accumulators.

        `PLT.load` opens the file of such a copy; `OnlinePLT.load` rejects it. The copy has no position in a stream.

        Parameters
        ----------
        prune
            Drop weights smaller than this.
        half
            Store weights in half precision (16-bit IEEE floats). They are rounded to 11 significant bits and clipped
            to ±65504, so probabilities change slightly. A model that already has half precision keeps it in any case.

        Examples
        --------
        >>> from oplt import OnlinePLT
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> small = model.snapshot().for_prediction()
        >>> small.predict_one({"barks": 1}) == model.predict_one({"barks": 1})
        True
        """
        state = self._core.for_prediction(_PRUNE("prune", prune) or 0.0, _HALF("half", half))
        return self._of(replace(self._saved(), state=state, only_predicts=True, stream=None), self._threads)

    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[True] = True) -> None: ...
    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[False]) -> Future[None]: ...
    def save(self, path: str | os.PathLike[str], *, wait: bool = True) -> Future[None] | None:
        """Write the model to a file. The write is atomic: the file holds either the old content or the new.

        Parameters
        ----------
        path, wait
            As for `OnlinePLT.save`.
        """
        return self._write(path, wait=wait)

    def _write(self, path: str | os.PathLike[str], *, wait: bool) -> Future[None] | None:
        if _WAIT("wait", wait):
            persistence.write(self._saved(), path_of(path))
            return None
        return persistence.write_in_background(self._saved(), path_of(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1, verify: bool = True) -> Self:
        """Open any model file, for prediction.

        Parameters
        ----------
        path
            A file written by `PLT.save` or `OnlinePLT.save`.
        threads
            Number of threads for `predict_many`.
        verify
            Read and verify the whole file first. If False, opening takes milliseconds; use that only for files that you
            trust, since a damaged file may crash the process.

        Notes
        -----
        The file is memory-mapped: processes that open the same file share one copy of it in memory. While it is open,
        replacing the file by `save` is safe; overwriting it in place by other means is not.
        """
        return cls._of(persistence.read(path_of(path), verify=verify), threads)

    def __copy__(self) -> Self:
        return self  # it never changes

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), persistence.to_bytes(self._saved()), self._threads)


def _from_bytes(cls: type[PLT], data: bytearray, threads: int) -> PLT:
    return cls._of(persistence.from_bytes(data), threads)


def _as_trees(trees: Any) -> list[LabelTree] | None:
    """Return the trees that were given as a list; None if a number of trees, or something else, was given."""
    given = [trees] if isinstance(trees, LabelTree) else trees
    if isinstance(given, (list, tuple)):
        if not given or not all(isinstance(tree, LabelTree) for tree in given):
            raise InvalidInputError(
                "not-a-tree", "trees must be a number, a LabelTree or a list of them", got=briefly(trees)
            )
        return list(given)
    return None


def _clustered(
    x: NamedRows | Texts, y: NamedLabels, settings: BatchSettings, text: TextFeatures | None, threads: int
) -> list[LabelTree]:
    if len(y.names) == 0:
        raise InvalidInputError(
            "no-labels", f"none of the {len(x)} examples has a label", hint="Pass labeled examples, or a tree."
        )
    rows = rows_to_cluster(x, text)
    shape = Settings(arity=2, max_leaves=100)
    seeds = range(settings.seed, settings.seed + settings.trees)
    return [cluster(rows, y, replace(shape, seed=seed % 2**64), threads) for seed in seeds]


def tree_arrays(tree: LabelTree, ids: dict[Label, int]) -> tuple[IdArray, IdArray]:
    """Convert a tree to the arrays that the core takes: the parents and the label ids of all nodes."""
    leaves, labels = tree.leaves()
    label_ids = np.full(tree.n_nodes, _core.NONE, dtype=np.uint32)
    label_ids[leaves] = [ids[label] for label in labels]
    return np.where(tree.parents < 0, _core.NONE, tree.parents).astype(np.uint32), label_ids


def _with_common_labels(given: list[LabelTree]) -> tuple[list[Label], list[tuple[IdArray, IdArray]]]:
    """Use the label numbers of the first tree for all trees."""
    labels = given[0].leaves()[1]
    ids = {label: i for i, label in enumerate(labels)}
    for number, tree in enumerate(given):
        own = set(tree.leaves()[1])
        if own != set(ids):
            other = next(iter(own ^ set(ids)))
            raise InvalidInputError(
                "trees-differ",
                "all trees must have the same labels",
                where=f"tree {number}",
                got=f"a tree that differs from the first one in label {other!r}",
            )
    return labels, [tree_arrays(tree, ids) for tree in given]

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Models that have been learnt, and do not change any more: batch-trained ones, and snapshots of online ones."""

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
from oplt.doubts import LabelDoubts
from oplt.errors import InvalidInputError
from oplt.params import BatchSettings, Settings, with_settings
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
    """A probabilistic label tree that has been learnt, and does not change any more.

    `PLT.fit` trains one on data that is all there; `OnlinePLT.snapshot` takes one from a model that goes on learning;
    `PLT.load` opens the file of any model. It predicts, saves, pickles and can be inspected, from any number of threads
    at once, without waiting for each other.

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
        msg = "a PLT is made by PLT.fit(X, Y), PLT.load(path) or OnlinePLT.snapshot()"
        raise TypeError(msg)

    @classmethod
    def _of(cls, saved: SavedModel, threads: int) -> Self:
        model = cls.__new__(cls)
        model._settings = saved.settings
        model._core = saved.state
        model._only_predicts = saved.only_predicts
        model._thresholds = saved.thresholds
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
        return SavedModel(self._settings, self._core, self._only_predicts, self._thresholds)

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
        """Train a model on data that is all there (a batch PLT; with clustered labels, Parabel).

        Each classifier is solved to near its optimum, as LIBLINEAR does. That takes longer than online learning and
        predicts better. The model cannot be updated: when more examples have come, train another one on all of them, or
        let ``OnlinePLT.from_tree(model.tree)`` learn them online.

        Parameters
        ----------
        X, Y
            Features and labels, as for `OnlinePLT.learn_many`. If every example has labels, the model takes for granted
            that some label applies.
        weights
            How much each example counts: a weight multiplies `cost`. 1 if not given. The trees do not depend on them.
        {settings}
        threads : int, default 1
            Number of threads, now and for `predict_many`. Neither the model nor the answers depend on it.
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
                hint="OnlinePLT.from_tree starts a model without any.",
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
        """Make a copy that uses these thresholds for ``threshold="tuned"`` and saves them. Both share all memory.

        Parameters
        ----------
        thresholds
            What `oplt.thresholds.tune` chose; None takes those away that there are.

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
        """Make a smaller copy that only predicts: without what learning needs, such as AdaGrad's accumulators.

        Saved, it is a file that `PLT.load` reads and `OnlinePLT.load` refuses.

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
        return self._of(replace(self._saved(), state=state, only_predicts=True), self._threads)

    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[True] = True) -> None: ...
    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[False]) -> Future[None]: ...
    def save(self, path: str | os.PathLike[str], *, wait: bool = True) -> Future[None] | None:
        """Write the model to a file. The file holds the old content or the new, whatever happens meanwhile.

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
        """Open a model file of any kind, to predict.

        Parameters
        ----------
        path
            A file that `save` of a `PLT` or an `OnlinePLT` wrote.
        threads
            Number of threads for `predict_many`.
        verify
            Read and check the whole file first. False: open it in milliseconds; only for files that you trust, since a
            damaged one may crash the process.

        Notes
        -----
        The file is memory-mapped, not read: processes that open the same file share one copy. Replacing the file by
        `save` is safe meanwhile; overwriting it in place by other means is not.
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
    """Check trees that are given; None for a number of trees, or for what is no tree at all."""
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
            "no-labels", f"none of the {len(x)} examples has a label", hint="Give examples that have some, or a tree."
        )
    rows = rows_to_cluster(x, text)
    shape = Settings(arity=2, max_leaves=100)
    seeds = range(settings.seed, settings.seed + settings.trees)
    return [cluster(rows, y, replace(shape, seed=seed % 2**64), threads) for seed in seeds]


def tree_arrays(tree: LabelTree, ids: dict[Label, int]) -> tuple[IdArray, IdArray]:
    """Make what the core takes: parents, and label ids, of all nodes."""
    leaves, labels = tree.leaves()
    label_ids = np.full(tree.n_nodes, _core.NONE, dtype=np.uint32)
    label_ids[leaves] = [ids[label] for label in labels]
    return np.where(tree.parents < 0, _core.NONE, tree.parents).astype(np.uint32), label_ids


def _with_common_labels(given: list[LabelTree]) -> tuple[list[Label], list[tuple[IdArray, IdArray]]]:
    """Give the labels of several trees the numbers that they have in the first one."""
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
                got=f"one that differs from the first tree by {other!r}",
            )
    return labels, [tree_arrays(tree, ids) for tree in given]

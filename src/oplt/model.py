# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The online model: how it is made, saved and loaded. How it learns is in `oplt.learning`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy.typing as npt

from oplt import _core, persistence
from oplt._typing import LabelRows, Rows
from oplt.checks import path_of
from oplt.declarations import with_settings
from oplt.errors import InvalidInputError, ModelFormatError
from oplt.learning import OnlineLearner
from oplt.params import Settings, check_setting_names, preset
from oplt.persistence import SavedModel
from oplt.plt import PLT, tree_arrays
from oplt.text import TextFeatures, as_text_features, core_of, rows_to_cluster, settings_of
from oplt.thresholds import Thresholds, as_thresholds
from oplt.tree import LabelTree
from oplt.tree._builders import cluster
from oplt.validation import as_inputs, as_labels, as_weights

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["OnlinePLT"]

_Core: TypeAlias = _core.OnlineModel


@with_settings(Settings)
class OnlinePLT(OnlineLearner):
    """An online probabilistic label tree: multi-label and multi-class classification with a growing set of labels.

    Labels and features need not be declared in advance: they, and the tree, grow as examples arrive. At any time, the
    classifiers are bit for bit those that training on the same examples would have produced had the final tree been
    known from the start. Labels and features are named by strings or integers of your choice. The features and labels
    of an example are sets: their order does not matter.

    Parameters
    ----------
    {settings}
    threads : int, default 1
        Number of threads for `learn_many` and `predict_many`. Neither the model nor its predictions depend on it.

    Notes
    -----
    Thread safety: one thread at a time updates the model; any number of threads may predict, save and take snapshots
    at the same time. They wait for at most one short call or one batch of a long one.

    Every prediction comes from the model after a whole number of examples. It includes all calls that have returned; of
    a long `learn_many` that is still running, it includes the examples up to a moment ago (up to a second ago, under a
    steady load of predictions). If two threads call `learn_many` concurrently, their examples are interleaved in an
    unspecified order. Signal handlers may use any model. A forked child process gets the model as it was at the fork.

    Examples
    --------
    >>> model = OnlinePLT()
    >>> model.learn_one({"heap": 1.0, "overflow": 2.0}, ["linux:kernel"])
    >>> model.learn_one({"script": 1.0, "injection": 1.0}, ["wordpress:wordpress", "php:php"])
    >>> [label for label, probability in model.predict_one({"heap": 1.0}, k=1)]
    ['linux:kernel']
    >>> model.n_labels
    3

    The same with texts:

    >>> model = OnlinePLT(features="text")
    >>> model.learn_many(["Heap overflow in Linux", "Script injection"], ["linux:kernel", ["wordpress:wordpress"]])
    >>> model.predict_one("an injection", k=1)[0][0]
    'wordpress:wordpress'
    """

    def __init__(
        self,
        *,
        policy: str = Settings.policy,
        alpha: float = Settings.alpha,
        arity: int = Settings.arity,
        max_leaves: int = Settings.max_leaves,
        spread_new_labels: bool = Settings.spread_new_labels,
        learner: str = Settings.learner,
        arow_r: float = Settings.arow_r,
        sparsity: float = Settings.sparsity,
        learning_rate: float = Settings.learning_rate,
        adagrad_eps: float = Settings.adagrad_eps,
        gate: float = Settings.gate,
        bias: bool = Settings.bias,
        normalize: bool = Settings.normalize,
        seed: int = Settings.seed,
        label_memory: int = Settings.label_memory,
        trees: int = Settings.trees,
        history: int = Settings.history,
        max_memory: int | str | None = Settings.max_memory,
        features: str | TextFeatures | None = None,
        threads: int = 1,
    ) -> None:
        text = as_text_features(features)
        settings = Settings(
            policy=policy,
            alpha=alpha,
            arity=arity,
            max_leaves=max_leaves,
            spread_new_labels=spread_new_labels,
            learner=learner,
            arow_r=arow_r,
            sparsity=sparsity,
            learning_rate=learning_rate,
            adagrad_eps=adagrad_eps,
            gate=gate,
            bias=bias,
            normalize=normalize,
            seed=seed,
            label_memory=label_memory,
            trees=trees,
            history=history,
            max_memory=max_memory,  # type: ignore[arg-type]  # converted by the check
            features=settings_of(text),
        )
        self._start(settings, _core.OnlineModel.start(settings.to_core(), core_of(text)), threads)

    @classmethod
    def paper(cls, **changes: Any) -> OnlinePLT:
        """Make a model with the paper's settings: a binary tree, AdaGrad without a gate, no label memory.

        Parameters
        ----------
        **changes
            Settings that differ from the paper's.
        """
        check_setting_names("OnlinePLT.paper", changes)
        return cls(**preset("paper", changes))

    @classmethod
    def accurate(cls, **changes: Any) -> OnlinePLT:
        """Make a model that favors precision over speed and memory: three trees instead of one.

        Learning takes about three times as long as with the default settings, and predicting up to twice as long.

        Parameters
        ----------
        **changes
            Settings that differ from these.
        """
        check_setting_names("OnlinePLT.accurate", changes)
        return cls(**preset("accurate", changes))

    @classmethod
    def from_tree(cls, tree: LabelTree, **settings: Any) -> OnlinePLT:
        """Start from a given tree (the paper's IPLT).

        New labels extend the tree as they arrive, unless the policy is ``"fixed"``. With that policy, new labels are
        ignored (the paper's IPLT-U), and no auxiliary classifiers are trained, since only extending the tree needs
        them.

        Parameters
        ----------
        tree
            The `tree` of another model, a tree built by `oplt.tree`, or a `LabelTree` of your own.
        **settings
            As for `OnlinePLT`.

        Examples
        --------
        >>> model = OnlinePLT.from_tree(LabelTree.from_nested([["cat", "dog"], ["stone", "brick"]]))
        >>> model.learn_one({"purrs": 1.0}, "cat")
        >>> model.predict_one({"purrs": 1.0}, k=1)[0][0]
        'cat'
        """
        check_setting_names("OnlinePLT.from_tree", settings)
        threads = settings.pop("threads", 1)
        text = as_text_features(settings.pop("features", None))
        own = Settings(**{"history": 0, **settings}, features=settings_of(text))
        own.expect_one_tree("OnlinePLT.from_tree")
        if not isinstance(tree, LabelTree):
            raise InvalidInputError(
                "not-a-tree",
                "tree must be a LabelTree",
                got=type(tree).__name__,
                hint="LabelTree.from_nested builds one from nested lists.",
            )
        labels = tree.leaves()[1]
        parents, ids = tree_arrays(tree, {label: i for i, label in enumerate(labels)})
        core = _core.OnlineModel.start_from_tree(own.to_core(), parents, ids, labels, core_of(text))
        return cls._of(own, core, threads)

    @classmethod
    def _of(cls, settings: Settings, core: _Core, threads: int, thresholds: Thresholds | None = None) -> Self:
        """Make an instance around an existing core, without calling the constructor, which starts an empty model."""
        model = cls.__new__(cls)
        model._start(settings, core, threads)
        model._thresholds = thresholds
        return model

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds that ``threshold="tuned"`` uses, saved with the model; None if there are none.

        They can be set at any time. Further updates of the model do not change them. `oplt.thresholds.tune` chooses
        them.

        Examples
        --------
        >>> from oplt.thresholds import Thresholds
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> model.thresholds = Thresholds(0.1, {"dog": 0.9})
        >>> [label for label, probability in model.predict_one({"purrs": 1}, threshold="tuned")]
        ['cat']
        """
        return self._thresholds

    @thresholds.setter
    def thresholds(self, thresholds: Thresholds | None) -> None:
        self._thresholds = None if thresholds is None else as_thresholds(thresholds)

    def snapshot(self) -> PLT:
        """Take a snapshot: a `PLT` that predicts, saves and never changes, while this model continues to be updated.

        It takes microseconds, whatever the size of the model: both share memory, and this model copies a part before it
        first changes that part (copy on write).

        Examples
        --------
        >>> model = OnlinePLT()
        >>> model.learn_one({"purrs": 1}, "cat")
        >>> before = model.snapshot()
        >>> model.learn_one({"barks": 1}, "dog")
        >>> before.n_labels, model.n_labels
        (1, 2)
        """
        taken = PLT._of(self._saved(), self._threads)
        taken._kinds.n_columns = self._kinds.n_columns
        return taken

    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[True] = True) -> None: ...
    @overload
    def save(self, path: str | os.PathLike[str], *, wait: Literal[False]) -> Future[None]: ...
    def save(self, path: str | os.PathLike[str], *, wait: bool = True) -> Future[None] | None:
        """Write the model, as it is now, to a file. Updates and predictions continue while it is written.

        The file contains the model's history, that is its examples. To publish a model without them, save
        ``model.snapshot().for_prediction()``.

        The write is atomic: at any time, the file holds either the old content or the new.

        Parameters
        ----------
        path
            The file to write. If it exists, it must hold a model, which is replaced.
        wait
            If False, return immediately and write in the background. The result is a future, whose ``result()`` waits
            until the file is written and raises any error. The interpreter does not exit before the file is written.
        """
        return self.snapshot()._write(path, wait=wait)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int = 1, verify: bool = True) -> Self:
        """Open a model file, to continue training exactly where the saved model stopped.

        Parameters
        ----------
        path
            A file written by `save`. Batch-trained models are opened by `PLT.load`.
        threads
            As for `OnlinePLT`.
        verify
            As for `PLT.load`.
        """
        saved = persistence.read(path_of(path), verify=verify)
        try:
            return cls._learning(saved, threads)
        except ModelFormatError as error:
            raise error.at(str(path)) from None

    @classmethod
    def _learning(cls, saved: SavedModel, threads: int) -> Self:
        if not isinstance(saved.settings, Settings):
            raise ModelFormatError(
                "model-of-another-kind",
                "a batch-trained model cannot be updated",
                hint="Open it with PLT.load to predict.",
            )
        if saved.only_predicts:
            raise ModelFormatError(
                "model-of-another-kind",
                "the model was saved for prediction only and cannot be updated",
                hint="Open it with PLT.load to predict.",
            )
        core = _core.OnlineModel(saved.settings.to_core(), saved.state)
        model = cls._of(saved.settings, core, threads, saved.thresholds)
        model._stream = saved.stream
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (type(self), persistence.to_bytes(self._saved()), self._threads)

    @classmethod
    def warm_start(
        cls,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
        **settings: Any,
    ) -> OnlinePLT:
        """Warm-start from a sample (the paper's OPLT-W): build a tree over its labels, then train on it.

        The tree is built by `oplt.tree.kmeans` with the model's `arity`, `max_leaves` and `seed`. The policy extends it
        by the labels that arrive later.

        Parameters
        ----------
        X, Y, weights
            The sample, as for `learn_many`. The paper uses a tenth of the data.
        **settings
            As for `OnlinePLT`.

        Examples
        --------
        >>> X = [{"purrs": 1, "fur": 1}, {"gray": 1, "hard": 1}, {"barks": 1, "fur": 1}, {"red": 1, "hard": 1}]
        >>> model = OnlinePLT.warm_start(X, ["cat", "granite", "dog", "brick"], arity=2, max_leaves=2)
        >>> model.tree.to_nested()
        [['granite', 'brick'], ['cat', 'dog']]
        >>> model.learn_one({"moos": 1, "fur": 1}, "cow")       # and so on
        >>> model.n_labels, model.n_examples
        (5, 5)
        """
        check_setting_names("OnlinePLT.warm_start", settings)
        text = as_text_features(settings.get("features"))
        pattern = text.pattern if text else None
        rows = as_inputs(X, texts=text is not None, pattern=pattern)
        labels, checked_weights = as_labels(Y, len(rows)), as_weights(weights, len(rows))
        threads = settings.get("threads", 1)
        others = {name: value for name, value in settings.items() if name not in ("threads", "features")}
        own = Settings(**{"history": 0, **others})
        own.expect_one_tree("OnlinePLT.warm_start")
        model = cls.from_tree(cluster(rows_to_cluster(rows, text), labels, own, threads), **settings)
        model._doubts.look_at(labels.names)
        model._learn(rows, labels, checked_weights)
        return model


def _from_bytes(cls: type[OnlinePLT], data: bytearray, threads: int) -> OnlinePLT:
    return cls._learning(persistence.from_bytes(data), threads)

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The online model, which is updated one example at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from oplt import _core, forks, persistence
from oplt._typing import FloatArray, LabelRows, Labels, Row, Rows
from oplt.checks import count, path_of
from oplt.doubts import LabelDoubts
from oplt.errors import InvalidInputError, InvalidParameterError, ModelFormatError
from oplt.params import Settings, check_setting_names, preset, with_settings
from oplt.persistence import SavedModel
from oplt.plt import PLT, tree_arrays
from oplt.predictor import Predictor, State
from oplt.text import TextFeatures, as_text_features, core_of, rows_to_cluster, settings_of
from oplt.thresholds import Thresholds, as_thresholds
from oplt.tree import LabelTree
from oplt.tree._builders import cluster
from oplt.validation import (
    NamedLabels,
    NamedRows,
    Origin,
    Texts,
    as_inputs,
    as_labels,
    as_labels_of_one,
    as_numbers,
    as_weight,
    as_weights,
)

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["OnlinePLT"]

_Core: TypeAlias = _core.OnlineModel

_CHUNK = 65_536  # rows handed to the core per call; their names are copied for it


@with_settings(Settings)
class OnlinePLT(Predictor):
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

    _core: _Core
    _settings: Settings

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

    def _start(self, settings: Settings, core: _Core, threads: int) -> None:
        self._settings = settings
        self._core = core
        self._threads = count("threads", threads)
        self._know_names(core)
        forks.wait_for(core)

    def _know_names(self, core: _Core) -> None:
        """Start to watch for doubtful names of labels and features."""
        self._doubts = LabelDoubts(core.known_labels, core.labels_since)
        self._n_singles, self._next_look = 0, 1
        self._begin()

    def _state(self) -> State:
        return self._core.snapshot()

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

    @property
    def is_repeating(self) -> bool:
        """Whether the model had already seen the latest examples, as in a second pass; False in the paper's setting.

        Ranking and calibration are not updated on repeated examples, because predictions for them are too optimistic. A
        repetition is noticed after about 16 examples, in a long stream after about a thousand.
        """
        return self._state().is_repeating

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
        return cls._of(saved.settings, core, threads, saved.thresholds)

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

    def learn_one(self, x: Row | str, labels: Labels, *, weight: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The features of the example, as a mapping from names to values; or its text, if the model takes texts.
        labels
            The labels of the example, or a single label; ``[]`` if none applies. New labels extend the tree, unless the
            policy is ``"fixed"``.
        weight
            Weight of the example.
        """
        if not self._is_quick or not _core.learn_one(self._core, x, labels, weight):
            weights = np.array([as_weight(weight)], dtype=np.float32)
            self._learn(self._as_row(x), as_labels_of_one(labels), weights)
        self._n_singles += 1
        if self._n_singles >= self._next_look:  # checked inline: a call would cost as much as a small example
            self._next_look = self._doubts.note(labels, self._n_singles)

    def learn_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from many examples, one after the other; bit for bit the same as calling `learn_one` in a loop.

        If it is interrupted (Ctrl-C), the model has learned the examples up to that point; `n_examples` counts them.

        Parameters
        ----------
        X
            Features: a SciPy sparse or 2-D NumPy matrix, whose column numbers name the features; an iterable of
            mappings from names to values; or a pandas, Polars or Arrow frame, in which each numeric column is a feature
            and a null means that the feature is absent. Duplicate entries of a sparse matrix are summed. An iterable is
            read to its end first, because all examples are validated before the model changes. `oplt.features.join`
            combines several sources of features. For a model that takes texts: an iterable or a column of texts.
        Y
            Labels: a list of labels or a single label for each example; an indicator matrix of 0 and 1, whose column
            numbers name the labels; a column of a frame; or a frame of indicators, whose columns name the labels.
        weights
            Weight of each example; 1 if not given.
        """
        rows = self._as_rows(X)
        labels, checked_weights = as_labels(Y, len(rows)), as_weights(weights, len(rows))
        self._doubts.look_at(labels.names)
        self._learn(rows, labels, checked_weights)

    def regrow(self) -> None:
        """Build a better tree from all examples so far, and train it on them again, in order.

        Where a label goes in the tree is decided by its first example. Regrowing places all labels anew, by 2-means
        over all their examples. The result is bit for bit the model that learns the same stream on the new tree from
        the start (`from_tree`). The label memory and the ranking do not change.

        A model does this by itself whenever its stream has doubled; see the setting `history`. Call it at the end of a
        stream, or before a model is published. It takes less time than learning the stream did, and about twice the
        memory of the tree meanwhile. Other threads can predict and learn during the call. If it is interrupted
        (Ctrl-C), the model stays as it was.

        Examples
        --------
        >>> model = OnlinePLT(arity=2, max_leaves=2)
        >>> X = [{"purrs": 1, "fur": 1}, {"gray": 1, "hard": 1}, {"barks": 1, "fur": 1}, {"red": 1, "hard": 1}]
        >>> model.learn_many(X, ["cat", "granite", "dog", "brick"])
        >>> model.regrow()
        >>> model.tree.to_nested()
        [['granite', 'brick'], ['cat', 'dog']]
        """
        self._expect_history("regrow")
        if self._settings.policy != "best-greedy":
            raise InvalidParameterError(
                "policy-prescribes-tree",
                "regrow needs the policy best-greedy, because other policies determine the shape of the tree",
                got=self._settings.policy,
            )
        self._core.regrow(self._threads)

    def forget(self, numbers: int | Iterable[int]) -> None:
        """Forget examples: afterwards, the model is bit for bit the one that never learned them.

        All other examples are learned again, in order, which takes about as long as it did the first time. The model
        forgets all names of features and labels, too, that occurred only in these examples, and thresholds of such
        labels. The examples after a forgotten one then have lower numbers. Trees that were regrown on request are not
        kept: call `regrow` again. An example that was learned twice has two numbers. If the call is interrupted
        (Ctrl-C), the model stays as it was.

        Parameters
        ----------
        numbers
            The numbers of the examples, counted from 0 in the order in which they were learned: the number of an
            example is `n_examples` just before it is learned.

        Examples
        --------
        >>> model = OnlinePLT()
        >>> model.learn_many([{"purrs": 1}, {"secret": 1}, {"barks": 1}], ["cat", "private", "dog"])
        >>> model.forget(1)
        >>> model.n_examples, model.n_labels
        (2, 2)
        >>> other = OnlinePLT()
        >>> other.learn_many([{"purrs": 1}, {"barks": 1}], ["cat", "dog"])
        >>> model.fingerprint() == other.fingerprint()
        True
        """
        self._expect_history("forget")
        self._core.forget(as_numbers(numbers, self.n_examples), self._threads)
        n_columns = self._kinds.n_columns
        self._know_names(self._core)
        self._kinds.n_columns = n_columns
        if self._thresholds is not None:
            left = [label for label in self._thresholds.labels if label in self.labels]
            own = {label: self._thresholds.labels[label] for label in left}
            self._thresholds = Thresholds(self._thresholds.value, own)

    @property
    def has_history(self) -> bool:
        """Whether the model keeps all its examples, so that it can regrow its tree and forget examples."""
        state = self._state()
        return self._settings.history > 0 and state.n_in_history == state.n_examples

    def _expect_history(self, method: str) -> None:
        if self.has_history:
            return
        n_examples = self.n_examples
        why = (
            "it keeps none (history=0)"
            if self._settings.history == 0
            else f"it has learned {n_examples:,} examples and keeps at most {self._settings.history:,} (history)"
        )
        raise InvalidInputError(
            "no-history",
            f"{method} needs all examples that the model has learned, but {why}",
            hint="A model keeps its examples if it is created with a larger history, and without a given tree.",
        )

    def _learn(self, rows: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> None:
        if isinstance(rows, NamedRows) and rows.origin is Origin.ARRAY and len(rows):
            self._kinds.n_columns = rows.n_columns
        if isinstance(rows, Texts) and rows.further is not None:
            self._doubts.look_at_further(rows.further)
        chunk = _CHUNK if isinstance(rows, NamedRows) and isinstance(rows.names, list) else max(len(rows), 1)
        for begin in range(0, len(rows), chunk):
            end = min(begin + chunk, len(rows))
            y = labels.chunk(begin, end)
            w = None if weights is None else weights[begin:end]
            self._core.learn(rows.chunk(begin, end).to_core(), y.indptr, y.names, w, self._threads)


def _from_bytes(cls: type[OnlinePLT], data: bytearray, threads: int) -> OnlinePLT:
    return cls._learning(persistence.from_bytes(data), threads)

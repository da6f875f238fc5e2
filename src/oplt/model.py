# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The model: how it comes to be, and how it learns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from oplt import _core, trees
from oplt._typing import FloatArray, LabelRows, Labels, Row, Rows
from oplt.errors import InvalidInputError
from oplt.params import BEYOND_THE_PAPER, BatchSettings, Settings, check_setting_names
from oplt.predictor import Predictor
from oplt.text import TextFeatures, Texts, as_text_features, as_texts, core_of, rows_to_cluster, settings_of
from oplt.tree import LabelTree
from oplt.validation import NamedLabels, NamedRows, as_labels, as_rows, as_weights

__all__ = ["OnlinePLT"]

# Rows handed to the core at once: few enough that Ctrl-C is answered soon, many enough that the core, which goes
# through them block by block, finds each block's work together.
_CHUNK = 8192  # for one tree without replay


class OnlinePLT(Predictor):
    """An online probabilistic label tree: multi-label and multi-class classification without an end to the labels.

    Nothing is known ahead: labels, features and the tree grow as examples come. At any time the tree with its
    classifiers is exactly, to the last bit, the one that would have been trained on the same examples had the final
    tree been known from the start. Labels and features are strings or integers of your own; an example's features and
    labels are sets: their order never matters.

    Parameters
    ----------
    policy
        Where a new label goes: ``"best-greedy"`` (near labels that look alike, keeping the tree balanced),
        ``"random"``, ``"complete"`` (a complete tree in order of arrival), ``"cpet"`` (a binary tree whose leaves are
        split), ``"flat"`` (one level: one-versus-rest), ``"best-greedy-printed"`` (with the balance term as the paper
        prints it, which lets the tree degenerate). ``"fixed"``: nowhere. The tree of `from_tree` stays as it is; labels
        that it lacks are ignored, and an example that has no other counts as one without labels.
    alpha
        Best-greedy and cpet: from 0, go where the classifiers point, to 1, balance the tree.
    arity
        Children of an internal node (the paper's b). Used by best-greedy, random and complete.
    max_leaves
        Children of a node that has only leaves (b_max), at least ``arity``. Used by best-greedy and random.
    learning_rate, adagrad_eps
        Of the AdaGrad steps of the logistic classifiers.
    gate
        A classifier that is wrong by less than this takes no step. 0 turns it off. It saves time and memory and raises
        precision, at the cost of calibration for improbable labels.
    bias
        Give each classifier a constant term.
    normalize
        Scale each example's features to Euclidean norm 1.
    seed
        Of all that is drawn at random: by the random policy, by replay, and by the 2-means of a warm-up.
    label_memory
        Remember what the examples of each label look like on the whole, by up to so many features a label, and rank
        the best candidates of tree and memory together: how far each can be trusted is learnt from the stream. Much
        better for labels that are still rare, and better for most others; see "beyond the paper" in the documentation
        for what it costs. Probabilities are those that were right so far: on a stream whose labels are all new, all are
        small. 0: rank by the tree alone, exactly.
    trees
        Grow so many trees over the stream, and rank by the mean of their probabilities: trees of different forms err in
        different places. Time and memory grow with their number. In turn, trees have the `arity` and `max_leaves` that
        are set, half the arity, and twice the leaves; besides, tree i, from 0, has i leaves more, and `seed` + i. Only
        for best-greedy and random: other policies make the same tree again.
    warm_up
        Keep the first examples, so many of them. When they have been learnt, build the tree that `warm_start` would
        have built from them, learn them again on it, and forget them: a warm start for those who have no sample ahead.
        Until then the tree grows by the policy. The example that ends the warm-up takes as long as all of it, and
        Ctrl-C waits for that. Only for best-greedy and random. 0: there is none.
    replay
        After each new example, learn so many past ones again, drawn from a sample of the stream of at most 65,536: more
        than one pass over the data, while the stream goes on. Each costs about the time of a new one. The label memory,
        which would count them twice, does not see them; nor does `n_examples` count them. 0: none.
    features
        ``"text"``: examples are texts, and the model makes features of them. `oplt.text.TextFeatures` has settings for
        it and says how; one that has learnt already is copied as it is. Not given: examples are features.
    threads
        Used by `learn_many` and `predict_many`. Neither the model nor the answers depend on it.

    Notes
    -----
    Threads: one thread at a time learns, any number predict at once; calls wait for their turn by themselves, and the
    interpreter goes on meanwhile. Each answer is that of the model after a whole number of examples. The examples of
    two threads that learn at once are interleaved in no certain order. A signal handler must not use a model that is
    being saved.

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
        learning_rate: float = Settings.learning_rate,
        adagrad_eps: float = Settings.adagrad_eps,
        gate: float = Settings.gate,
        bias: bool = Settings.bias,
        normalize: bool = Settings.normalize,
        seed: int = Settings.seed,
        label_memory: int = Settings.label_memory,
        trees: int = Settings.trees,
        warm_up: int = Settings.warm_up,
        replay: int = Settings.replay,
        features: str | TextFeatures | None = None,
        threads: int = 1,
    ) -> None:
        text = as_text_features(features)
        settings = Settings(
            policy=policy,
            alpha=alpha,
            arity=arity,
            max_leaves=max_leaves,
            learning_rate=learning_rate,
            adagrad_eps=adagrad_eps,
            gate=gate,
            bias=bias,
            normalize=normalize,
            seed=seed,
            label_memory=label_memory,
            trees=trees,
            warm_up=warm_up,
            replay=replay,
            features=settings_of(text),
        )
        super().__init__(settings, _core.Model(settings.to_core(), core_of(text)), threads)

    @classmethod
    def paper(cls, **changes: Any) -> OnlinePLT:
        """Make a model with the settings of the paper: binary internal nodes, 100 leaves a node, no gate.

        Parameters
        ----------
        **changes
            Settings to change.
        """
        check_setting_names("OnlinePLT.paper", changes)
        settings = {"policy": "best-greedy", "alpha": 0.75, "arity": 2, "max_leaves": 100, "gate": 0.0}
        return cls(**{**settings, "learning_rate": 1.0, "adagrad_eps": 0.01, **BEYOND_THE_PAPER, **changes})

    @classmethod
    def from_tree(cls, tree: LabelTree, **settings: Any) -> OnlinePLT:
        """Start from a tree that is known ahead (the paper's IPLT).

        Labels that it lacks extend it as they come, unless the policy is ``"fixed"``. Then they are ignored (the
        paper's IPLT-U), and no auxiliary classifiers are learnt, which only an extension would need.

        Parameters
        ----------
        tree
            What `tree` of another model gives, one made by `oplt.trees`, or a `LabelTree` of your own.
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
        own = Settings(**settings, features=settings_of(text))
        own.expect_one_tree("OnlinePLT.from_tree")
        return cls._on_tree(tree, own, threads, text)

    @classmethod
    def _on_tree(
        cls, tree: LabelTree, settings: Settings | BatchSettings, threads: int, text: TextFeatures | None
    ) -> OnlinePLT:
        if not isinstance(tree, LabelTree):
            msg = f"tree must be a LabelTree, got {type(tree).__name__}; see LabelTree.from_nested for nested lists"
            raise InvalidInputError(msg)
        leaves, labels = tree.leaves()
        ids = np.full(tree.n_nodes, _core.NONE, dtype=np.uint32)
        ids[leaves] = np.arange(len(leaves), dtype=np.uint32)
        parents = np.where(tree.parents < 0, _core.NONE, tree.parents).astype(np.uint32)
        core = _core.Model.from_tree(settings.to_core(), parents, ids, labels, core_of(text))
        return cls._of(settings, core, threads)

    @classmethod
    def fit_batch(
        cls,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
        tree: LabelTree | None = None,
        loss: str = BatchSettings.loss,
        cost: float | None = None,
        tolerance: float = BatchSettings.tolerance,
        max_iterations: int = BatchSettings.max_iterations,
        prune: float = BatchSettings.prune,
        normalize: bool = BatchSettings.normalize,
        seed: int = BatchSettings.seed,
        features: str | TextFeatures | None = None,
        threads: int = 1,
    ) -> OnlinePLT:
        """Train a model at once, when all data is at hand (a batch PLT; with a tree of clustered labels, Parabel).

        Each classifier is solved to near its optimum, as LIBLINEAR does. That takes longer than to learn online and
        predicts better. The model predicts, saves and loads like any other, but learns no more: `learn_one` and
        `learn_many` raise `FrozenModelError`. When more examples have come, train another one on all of them, or let
        ``OnlinePLT.from_tree(model.tree)`` learn them online.

        Parameters
        ----------
        X, Y
            Features and labels, as for `learn_many`. If every example has labels, the model takes for granted that
            some label applies.
        weights
            How much each example counts: a weight multiplies `cost`. 1 if not given. The tree does not depend on them.
        tree
            A tree that has all labels of `Y` as leaves; if not given, that of `oplt.trees.kmeans`, as in Parabel.
        loss
            ``"squared-hinge"`` (a support vector machine in each node; a score s means the probability
            exp(-max(0, 1 - s)²), as in Parabel) or ``"logistic"`` (better calibrated).
        cost
            How much the examples count against the size of the weights: larger fits closer. LIBLINEAR's C. If not
            given, 1 for the squared hinge loss and 10 for the logistic one, whose gradients are smaller.
        tolerance, max_iterations
            A classifier is good enough at this tolerance, and is taken as it is after so many passes.
        prune
            Weights smaller than this are dropped, which makes the model much smaller. It suits normalised features:
            the larger the values, the smaller the weights, so use 0 with ``normalize=False``.
        normalize
            Scale each example's features to Euclidean norm 1.
        seed
            Of the order in which examples are gone through, and of the tree if none is given.
        features
            As for `OnlinePLT`. All texts are counted before any gets its features.
        threads
            Used now, and by `predict_many`. Neither the model nor the answers depend on it.

        Examples
        --------
        >>> X = [{"purrs": 1}, {"purrs": 1, "tail": 1}, {"barks": 1, "tail": 1}, {"hard": 1}]
        >>> model = OnlinePLT.fit_batch(X, ["cat", "cat", "dog", "stone"])
        >>> [label for label, probability in model.predict_one({"barks": 1}, k=1)]
        ['dog']
        """
        text = as_text_features(features)
        settings = BatchSettings(
            loss=loss,
            cost=(10.0 if loss == "logistic" else BatchSettings.cost) if cost is None else cost,
            tolerance=tolerance,
            max_iterations=max_iterations,
            prune=prune,
            normalize=normalize,
            seed=seed,
            features=settings_of(text),
        )
        x = as_rows(cast("Rows", X)) if text is None else as_texts(X)
        y, checked_weights = as_labels(Y, len(x)), as_weights(weights, len(x))
        if len(x) == 0:
            msg = "X has no rows, but training at once needs examples; OnlinePLT.from_tree starts a model without any"
            raise InvalidInputError(msg)
        if tree is None:
            if len(y.names) == 0:
                msg = f"no example of the {len(x)} has a label: give examples that have some, or a tree"
                raise InvalidInputError(msg)
            shape = Settings(arity=2, max_leaves=100, seed=settings.seed)
            tree = trees.cluster(rows_to_cluster(x, text), y, shape, threads)
        model = cls._on_tree(tree, settings, threads, text)
        args = (y.indptr, y.names, checked_weights, settings.to_solver(), model._threads)
        if isinstance(x, Texts):
            model._core.fit_texts(x.texts, *args)
        else:
            model._core.fit(x.indptr, x.names, x.values, *args)
        return model

    @classmethod
    def warm_start(
        cls,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
        **settings: Any,
    ) -> OnlinePLT:
        """Start from a sample (the paper's OPLT-W): build a tree over its labels, then learn it.

        The tree is that of `oplt.trees.kmeans` with the model's own `arity`, `max_leaves` and `seed`. Labels that come
        later extend it by the policy.

        Parameters
        ----------
        X, Y, weights
            The sample, as for `learn_many`. A tenth of the data is what the paper takes.
        **settings
            As for `OnlinePLT`.

        Examples
        --------
        >>> X = [{"purrs": 1, "fur": 1}, {"grey": 1, "hard": 1}, {"barks": 1, "fur": 1}, {"red": 1, "hard": 1}]
        >>> model = OnlinePLT.warm_start(X, ["cat", "granite", "dog", "brick"], arity=2, max_leaves=2)
        >>> model.tree.to_nested()
        [['granite', 'brick'], ['cat', 'dog']]
        >>> model.learn_one({"moos": 1, "fur": 1}, "cow")       # and so on
        >>> model.n_labels, model.n_examples
        (5, 5)
        """
        check_setting_names("OnlinePLT.warm_start", settings)
        text = as_text_features(settings.get("features"))
        rows = as_rows(cast("Rows", X)) if text is None else as_texts(X)
        labels, checked_weights = as_labels(Y, len(rows)), as_weights(weights, len(rows))
        threads = settings.get("threads", 1)
        own = Settings(**{name: value for name, value in settings.items() if name not in ("threads", "features")})
        own.expect_one_tree("OnlinePLT.warm_start")
        model = cls.from_tree(trees.cluster(rows_to_cluster(rows, text), labels, own, threads), **settings)
        model._learn(rows, labels, checked_weights)
        return model

    def learn_one(self, x: Row | str, labels: Labels, *, weight: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            Its features: names and values; or its text if the model takes texts.
        labels
            Its labels, or a single one; ``[]`` if none applies. New ones extend the tree, unless it is fixed.
        weight
            How much it counts.
        """
        if not _core.learn_one(self._core, x, labels, weight):
            self._learn(self._as_row(x), as_labels([labels], 1), as_weights([weight], 1))

    def learn_many(
        self,
        X: Rows | Iterable[str],  # noqa: N803 (a matrix)
        Y: LabelRows,  # noqa: N803 (a matrix)
        *,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from many examples, one after the other; equal to a loop of `learn_one`, to the bit.

        If it is interrupted (Ctrl-C), the model has learnt the first examples, and `n_examples` tells how many.

        Parameters
        ----------
        X
            Features: a SciPy sparse or 2-D NumPy matrix, whose column numbers are the names, or an iterable of
            mappings, which is read to its end first: everything is checked before anything is learnt. Duplicate
            entries of a sparse matrix are summed, and their order does not matter. Or a frame of pandas, Polars or
            Arrow: a column of numbers is a feature, a null is none. `oplt.features.join` puts several together.
            If the model takes texts, an iterable or a column of them.
        Y
            Labels: for each example a list of them or a single one, or an indicator matrix of 0 and 1, whose column
            numbers are the names. Or a column of a frame, or a frame of indicators, whose columns are the names.
        weights
            How much each example counts; 1 if not given.
        """
        rows = self._as_rows(X)
        self._learn(rows, as_labels(Y, len(rows)), as_weights(weights, len(rows)))

    def _learn(self, rows: NamedRows | Texts, labels: NamedLabels, weights: FloatArray | None) -> None:
        own = self._settings
        lessons = own.trees * (1 + own.replay) if isinstance(own, Settings) else 1  # for each example
        chunk = max(_CHUNK // lessons, 256)
        for begin in range(0, max(len(rows), 1), chunk):  # no examples at all are refused by a frozen model, too
            end = min(begin + chunk, len(rows))
            x, y = rows.chunk(begin, end), labels.chunk(begin, end)
            w = None if weights is None else weights[begin:end]
            if isinstance(x, Texts):
                self._core.learn_texts(x.texts, y.indptr, y.names, w, self._threads)
            else:
                self._core.learn_many(x.indptr, x.names, x.values, y.indptr, y.names, w, self._threads)

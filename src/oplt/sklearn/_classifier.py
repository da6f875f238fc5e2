# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The classifier. How it takes its target is in `_targets`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from oplt.checks import Flag, Integer
from oplt.declarations import declared, with_settings
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.model import OnlinePLT
from oplt.params import Settings
from oplt.predictions import Predictions
from oplt.predictor import Predictor
from oplt.sklearn._targets import as_names, as_target, expect_kind, merged_classes, sorted_classes
from oplt.text import TextFeatures
from oplt.wording import briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = ["OPLTClassifier"]

_Array = npt.NDArray[Any]

_MOST_DENSE = 1000  # classes up to which probabilities are a dense array by default
_TOP_K = 10  # classes of each row of a sparse one
_SMALL = np.finfo(np.float32).tiny  # stands for a probability of 0, so that log-odds are finite
_SETTINGS = {**{one.name: one.default for one in declared(Settings)}, "threads": 1}

_check_top_k = Integer(optional=True)
_check_flag = Flag()


def _can_learn(classifier: OPLTClassifier) -> bool:
    if classifier._given() is not None:
        what = "partial_fit does not update a model that was passed as learner: call the model's learn_many instead"
        raise AttributeError(what)
    return True


@with_settings(Settings)
class OPLTClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An online probabilistic label tree as a scikit-learn classifier, multi-class and multi-label.

    `X` is a dense or sparse matrix or a frame; with ``features="text"``, a list or column of texts. `y` holds class
    labels, integers or strings, or, for multi-label classification, it is an indicator matrix of 0 and 1, dense or
    sparse. `partial_fit` accepts new classes at any time.

    To use a model that is already trained, pass it as `learner`: ``OPLTClassifier(learner=model)`` predicts without
    `fit`, which then does nothing. It takes whatever `X` the model takes, and follows the model if that is updated.

    Parameters
    ----------
    {settings}
    threads : int, default 1
        Number of threads. Neither the model nor its predictions depend on it.
    shuffle : bool, default True
        Let `fit` learn the examples in random order, drawn with `seed`. Without it, a model that is trained on examples
        sorted by class is poor. `partial_fit` keeps the order.
    top_k : int or None, default None
        Let `predict_proba` return a sparse matrix with the N most probable classes of each row. None: a dense array if
        there are at most 1,000 classes, otherwise a sparse matrix with the 10 most probable ones.
    multilabel : bool or None, default None
        Predict any number of classes for each row, as an indicator matrix, instead of one class. None: `y` decides; a
        model passed as `learner` predicts one class.

    Attributes
    ----------
    classes_ : array
        The classes, sorted; of an indicator matrix, the numbers of its columns.
    model_ : OnlinePLT
        The trained model; or the model that was passed as `learner`.
    n_features_in_ : int
        Number of columns of `X`. Absent for texts and for a model that was passed as `learner`.
    feature_names_in_ : array of str
        Names of the columns, if `X` is a frame whose columns all have string names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_digits(return_X_y=True)
    >>> scores = cross_val_score(OPLTClassifier(), X, y)
    >>> len(scores), bool(scores.min() > 0.9)
    (5, True)

    New classes may arrive at any time:

    >>> classifier = OPLTClassifier(features="text")
    >>> classifier = classifier.partial_fit(["Heap overflow in Linux", "Script injection"], ["kernel", "web"])
    >>> classifier = classifier.partial_fit(["The password is in the log"], ["secrets"])
    >>> classifier.predict(["a heap of scripts", "my password"]).tolist()
    ['kernel', 'secrets']
    """

    learner: str | Predictor
    features: str | TextFeatures | None
    shuffle: bool
    seed: int
    top_k: int | None
    multilabel: bool | None

    _model: OnlinePLT
    _classes: _Array
    _is_multilabel: bool
    _is_sparse: bool  # y, and therefore predictions

    def __init__(
        self,
        *,
        policy: str = Settings.policy,
        alpha: float = Settings.alpha,
        arity: int = Settings.arity,
        max_leaves: int = Settings.max_leaves,
        spread_new_labels: bool = Settings.spread_new_labels,
        learner: str | Predictor = Settings.learner,
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
        shuffle: bool = True,
        top_k: int | None = None,
        multilabel: bool | None = None,
    ) -> None:
        # scikit-learn wants each parameter as an attribute of its name, as it is. `fit` checks them.
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        if self.features is not None:
            tags.input_tags.string = tags.input_tags.one_d_array = True
            tags.input_tags.two_d_array = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        given = self._given()
        return hasattr(self, "_model") if given is None else given.n_labels > 0

    def _given(self) -> Predictor | None:
        """Return the model that was passed as `learner`; None if there is none."""
        return self.learner if isinstance(self.learner, Predictor) else None

    def _expect_no_settings(self) -> None:
        """Refuse settings beside a model that has its own."""
        for name, default in {**_SETTINGS, "shuffle": True}.items():
            if name != "learner" and getattr(self, name) != default:
                raise InvalidParameterError(
                    "parameters-conflict",
                    f"{name} has no effect with a model passed as learner, which has its own settings",
                    got=f"{name}={briefly(getattr(self, name))}",
                    hint=f"Leave {name} out.",
                )

    @property
    def model_(self) -> Predictor:
        """The trained model."""
        check_is_fitted(self)
        given = self._given()
        if given is None:
            return self._model
        self._expect_no_settings()
        return given

    @property
    def classes_(self) -> _Array:
        """The classes, sorted."""
        check_is_fitted(self)
        given = self._given()
        return self._classes if given is None else sorted_classes(list(given.labels))

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: N803 (a matrix)
        """Train a new model on the examples, in one pass. Does nothing if a model was passed as `learner`.

        Parameters
        ----------
        X
            The examples: a matrix, a frame, or texts.
        y
            Their classes, or an indicator matrix.
        sample_weight
            Weight of each example; 1 if not given. Examples of weight 0 are left out. A weight multiplies the update by
            an example, which is not the same as learning the example several times.
        """
        if self._given() is None:
            self._learn(X, y, sample_weight, is_first=True, shuffle=_check_flag("shuffle", self.shuffle))
        else:
            self._expect_no_settings()
        return self

    @available_if(_can_learn)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,  # noqa: N803 (a matrix)
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Update the model by more examples, in their order. The first call makes a new model.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. Classes that are new extend `classes_`. An indicator matrix may have more columns than those
            before it.
        classes
            Classes to list in `classes_`, with probability 0 until their first example. Not needed.
        """
        self._learn(X, y, sample_weight, classes, is_first=not hasattr(self, "_model"))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803 (a matrix)
        """Predict the most probable class of each row.

        In multi-label classification, predict an indicator matrix instead, sparse if `y` was sparse: of the classes
        whose probability is above 0.5, or of those that reach the thresholds of the model, if it has any. For a model
        passed as `learner`, its columns are those of `classes_`, and it is sparse if there are more than 1,000.
        """
        model, rows = self.model_, self._rows(X)
        if not self._predicts_many():
            return model.predict_many(rows, k=1).labels.astype(self.classes_.dtype)
        if model.thresholds is None:
            chosen = self._matrix(model.predict_many(rows, threshold=0.5)) > 0.5
        else:
            chosen = self._matrix(model.predict_many(rows, threshold="tuned")) > 0
        is_sparse = chosen.shape[1] > _MOST_DENSE if self._given() is not None else self._is_sparse
        return chosen.astype(np.int64) if is_sparse else chosen.toarray().astype(np.int64)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803 (a matrix)
        """Predict the probability of each class, or of the most probable classes.

        The result is a dense array if there are at most 1,000 classes. In multi-class classification, its rows sum to
        1. Otherwise, or if `top_k` is given, it is a SciPy CSR array of the `top_k` (10) most probable classes of each
        row, whose probabilities are those of the model.
        """
        model, rows = self.model_, self._rows(X)
        k = self._top_k()
        if k is not None:
            return self._matrix(model.predict_many(rows, k=k))
        found = self._matrix(model.predict_many(rows, k=max(model.n_labels, 1))).toarray().astype(np.float64)
        if not self._predicts_many():
            total = found.sum(axis=1, keepdims=True)
            found = np.divide(found, total, out=np.full_like(found, 1 / found.shape[1]), where=total > 0)
        return found

    def decision_function(self, X: Any) -> _Array:  # noqa: N803 (a matrix)
        """Predict the log-odds of each class: log(p / (1 - p)), where p is the result of `predict_proba`.

        With two classes, the result is an array with one value for each row, the log-odds of the second one. Needs
        dense probabilities: at most 1,000 classes, and no `top_k`.
        """
        if self._top_k() is not None:
            raise InvalidParameterError(
                "parameters-conflict",
                "decision_function returns all classes, but predict_proba returns the most probable ones",
                got=f"top_k={self.top_k} and {len(self.classes_):,} classes",
                hint="Use predict_proba.",
            )
        found = self.predict_proba(X)
        odds: _Array = np.log(np.maximum(found, _SMALL)) - np.log(np.maximum(1 - found, _SMALL))
        return odds[:, 1] if odds.shape[1] == 2 and not self._predicts_many() else odds

    def _learn(
        self,
        X: Any,  # noqa: N803 (a matrix)
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        *,
        is_first: bool,
        shuffle: bool = False,
    ) -> None:
        """Check everything, then update the model."""
        model = OnlinePLT(**{name: getattr(self, name) for name in _SETTINGS}) if is_first else self._model
        rows = self._rows(X, is_first=is_first)
        labels, known = self._labels(y, is_first=is_first)
        check_consistent_length(rows, labels)
        if classes is not None:
            known = merged_classes(known, np.unique(np.asarray(classes)))
        if not is_first:
            known = merged_classes(self._classes, known)
        if labels.ndim == 2 and labels.shape[1] < len(known):
            raise InvalidInputError(
                "columns-differ",
                f"y must have a column for each of the {len(known)} classes so far",
                got=f"{labels.shape[1]} columns",
                hint="Columns of new classes come after those that were there before.",
            )
        weights = sample_weight
        if weights is not None:
            weights = _check_sample_weight(weights, rows, ensure_non_negative=True)
        order = self._order(labels.shape[0], weights, shuffle=shuffle)
        if order is not None:
            rows, labels = _safe_indexing(rows, order), _safe_indexing(labels, order)
            weights = None if weights is None else weights[order]
        model.learn_many(rows, labels if labels.ndim == 2 else as_names(labels), weights=weights)
        self._model, self._classes = model, known
        self._is_multilabel, self._is_sparse = labels.ndim == 2, sp.issparse(labels)

    def _rows(self, X: Any, *, is_first: bool = False) -> Any:  # noqa: N803 (a matrix)
        """Check a matrix as scikit-learn does; what a model takes that is not a matrix, the model checks."""
        if self._given() is not None or self.features is not None:
            return X
        return validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=is_first)

    def _labels(self, y: Any, *, is_first: bool) -> tuple[Any, _Array]:
        """Check the target. Returns class labels or an indicator matrix, and its classes."""
        labels = as_target(y, self)
        expect_kind(labels, is_indicator=self._multilabel() if is_first else self._is_multilabel)
        return labels, np.unique(labels) if labels.ndim == 1 else np.arange(labels.shape[1])

    def _order(self, n: int, weights: _Array | None, *, shuffle: bool) -> _Array | None:
        """Return the numbers of the examples in the order in which to learn them; None if it is that of `X`."""
        if weights is None:
            order = np.arange(n)
        else:
            order = np.flatnonzero(weights)
            if len(order) == 0:
                raise InvalidInputError(
                    "weight-out-of-range",
                    "the weights must not all be zero",
                    where="sample_weight",
                    got=briefly(weights),
                )
        if shuffle:
            return np.random.default_rng(self.seed).permutation(order)
        return None if len(order) == n else order

    def _multilabel(self) -> bool | None:
        return None if self.multilabel is None else _check_flag("multilabel", self.multilabel)

    def _predicts_many(self) -> bool:
        """Whether a row may have several classes."""
        return bool(self._multilabel()) if self._given() is not None else self._is_multilabel

    def _top_k(self) -> int | None:
        """Return the number of classes of each row of a sparse matrix; None for a dense one."""
        k = _check_top_k("top_k", self.top_k)
        return _TOP_K if k is None and len(self.classes_) > _MOST_DENSE else k

    def _matrix(self, found: Predictions) -> sp.csr_array:
        """Make a matrix of probabilities with a column for each class."""
        matrix, _ = found.to_csr(as_names(self.classes_))
        matrix.sort_indices()
        return matrix

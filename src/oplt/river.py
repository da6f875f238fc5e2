# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Classifiers for river, which work in its pipelines and in `evaluate.progressive_val_score`.

They need the package river: ``pip install 'oplt[river]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from oplt._typing import Label, Row
from oplt.checks import Number
from oplt.errors import InvalidInputError, MissingPackageError
from oplt.model import OnlinePLT
from oplt.wording import briefly

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise MissingPackageError(
        "package-missing", "oplt.river needs the package river", hint="Run: pip install 'oplt[river]'"
    ) from None

__all__ = ["OPLTClassifier", "OPLTMultiLabelClassifier"]

_Value = TypeVar("_Value")


class _Adapter(base.Estimator):
    """What both classifiers have in common: an `OnlinePLT`, and how examples reach it."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings  # under this name, river finds the settings of a clone
        self._model = OnlinePLT(**settings)

    @property
    def model(self) -> OnlinePLT:
        """The model: use it to save, to inspect, or to ask for the `k` most probable labels of many."""
        return self._model

    @property
    def _raw_memory_usage(self) -> int:
        """Count the memory of the core, which river does not see, as well."""
        return int(super()._raw_memory_usage) + self._model.memory_bytes

    def _learn(self, x: Row | str, labels: list[Any], w: float) -> None:
        row = _with_plain_names(x)
        try:
            self._model.learn_one(row, labels, weight=w)
        except InvalidInputError as error:
            raise _for_river(error) from None

    def _predict(self, x: Row | str, **question: Any) -> list[tuple[Label, float]]:
        try:
            return self._model.predict_one(_with_plain_names(x), **question)
        except InvalidInputError as error:
            raise _for_river(error) from None

    def _predict_all(self, x: Row | str) -> dict[Label, float]:
        """Predict the probabilities of all labels that the model knows."""
        return dict(self._predict(x, k=max(1, self._model.n_labels)))


def _with_plain_names(x: Row | str) -> Row | str:
    """Join the words of an n-gram: river's BagOfWords names it by a tuple."""
    if isinstance(x, Mapping) and any(isinstance(name, tuple) for name in x):
        return {" ".join(map(str, name)) if isinstance(name, tuple) else name: value for name, value in x.items()}
    return x


def _for_river(error: InvalidInputError) -> InvalidInputError:
    if error.code != "value-not-a-number":
        return error
    return error.with_hint(
        "For categories, put preprocessing.OneHotEncoder() before the classifier; for texts,"
        " feature_extraction.BagOfWords(), or pass features='text' and the text under the name 'text'."
    )


class OPLTClassifier(_Adapter, base.Classifier):
    """A multi-class classifier for river: any number of classes, which may appear at any time.

    Parameters
    ----------
    **settings
        As for `OnlinePLT`. With ``features="text"``, an example is a text, or a mapping with a text under the name
        ``"text"``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from oplt.river import OPLTClassifier
    >>> model = preprocessing.StandardScaler() | OPLTClassifier()
    >>> score = evaluate.progressive_val_score(datasets.ImageSegments().take(1000), model, metrics.Accuracy())
    >>> score.get() > 0.75
    True

    With texts:

    >>> model = OPLTClassifier(features="text")
    >>> model.learn_one("Heap overflow in the kernel", "memory")
    >>> model.learn_one("Script injection", "web")
    >>> model.predict_one("an injection")
    'web'
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._has_booleans = False

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Row | str, y: base.typing.ClfTarget, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The features of the example, or its text.
        y
            Its class: a string, an integer or a boolean.
        w
            Weight of the example.
        """
        is_boolean = isinstance(y, (bool, np.bool_))
        self._learn(x, [int(y) if is_boolean else y], w)
        self._has_booleans |= is_boolean

    def predict_proba_one(self, x: Row | str, **_: Any) -> dict[base.typing.ClfTarget, float]:
        """Predict the probability of each class seen so far. The probabilities sum to 1.

        To sum to 1, they are divided by their sum: the model itself leaves some probability to classes that it does not
        know yet. With tens of thousands of classes, ``model.predict_one(x, k=5)`` is much faster.
        """
        found = self._predict_all(x)
        total = sum(found.values())
        if not total:
            return dict.fromkeys(map(self._target, found), 1 / len(found)) if found else {}
        return {self._target(label): probability / total for label, probability in found.items()}

    def predict_one(self, x: Row | str, **_: Any) -> base.typing.ClfTarget | None:
        """Predict the most probable class; None if there is none yet."""
        found = self._predict(x, k=1)
        return self._target(found[0][0]) if found else None

    def _target(self, label: Label) -> base.typing.ClfTarget:
        """Convert the name of a label, which is never a boolean, to the class that was learned."""
        return bool(label) if self._has_booleans and label in (0, 1) else label


class OPLTMultiLabelClassifier(_Adapter, base.MultiLabelClassifier):
    """A multi-label classifier for river: any number of labels, which may appear at any time.

    Parameters
    ----------
    threshold
        `predict_one` predicts the labels whose probability is at least this.
    **settings
        As for `OnlinePLT`. With ``features="text"``, an example is a text, or a mapping with a text under the name
        ``"text"``.

    Notes
    -----
    Predictions are dictionaries of all labels seen so far. A label that has not been seen yet reads as False, so that
    river's metrics, which look up each label of an example, also work when a new label appears.

    Examples
    --------
    >>> from oplt.river import OPLTMultiLabelClassifier
    >>> model = OPLTMultiLabelClassifier(features="text", threshold=0.2)
    >>> for _ in range(20):
    ...     model.learn_one("Heap overflow in the kernel", {"kernel": True, "memory": True, "web": False})
    ...     model.learn_one("Script injection", {"kernel": False, "memory": False, "web": True})
    >>> found = model.predict_one("a heap overflow")
    >>> found
    {'kernel': True, 'memory': True, 'web': False}
    >>> found["network"]
    False
    """

    def __init__(self, threshold: float = 0.5, **settings: Any) -> None:
        super().__init__(**settings)
        Number(least=0, most=1)("threshold", threshold)
        self.threshold = threshold
        self._seen: dict[Any, None] = {}  # in order of arrival; also those that no example had yet

    def learn_one(self, x: Row | str, y: Mapping[base.typing.FeatureName, bool], w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            The features of the example, or its text.
        y
            Its labels: a mapping from labels to True and False. Labels that are False may be left out.
        w
            Weight of the example.
        """
        if not isinstance(y, Mapping):
            raise InvalidInputError(
                "labels-not-valid",
                "y must be a mapping from labels to True and False",
                got=briefly(y),
                hint="Pass dict.fromkeys(labels, True).",
            )
        self._learn(x, [label for label, applies in y.items() if applies], w)
        self._seen.update(dict.fromkeys(y))

    def predict_proba_one(self, x: Row | str, **_: Any) -> dict[base.typing.FeatureName, dict[bool, float]]:
        """Predict the probability of each label seen so far, as ``{label: {False: 0.9, True: 0.1}}``."""
        found = self._predict_all(x)
        probabilities = {label: found.get(label, 0.0) for label in self._seen}
        predicted = {label: {False: 1 - p, True: p} for label, p in probabilities.items()}
        return _Predicted(predicted, default={False: 1.0, True: 0.0})

    def predict_one(self, x: Row | str, **_: Any) -> dict[base.typing.FeatureName, bool]:
        """Predict for each label seen so far whether it applies."""
        found = self._predict(x, threshold=self.threshold)
        predicted = {**dict.fromkeys(self._seen, False), **dict.fromkeys(dict(found), True)}
        return _Predicted(predicted, default=False)


class _Predicted(dict[Any, _Value]):
    """Predictions, in which a label that has not been seen yet has a default."""

    def __init__(self, predicted: dict[Any, _Value], *, default: _Value) -> None:
        super().__init__(predicted)
        self._default = default

    def __missing__(self, label: object) -> _Value:
        return self._default

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Thresholds for predictions, chosen on examples whose labels are known: for F1, or for a precision to hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from oplt._typing import FloatArray, IdArray, Label, LabelRows, PointerArray
from oplt.checks import Flag, Number
from oplt.errors import InvalidInputError
from oplt.metrics._matching import Matches, match
from oplt.predictions import Predictions
from oplt.validation import check_names, plain_names
from oplt.wording import briefly, number_of

__all__ = ["FLOOR", "Thresholds", "Tuner", "tune"]

FLOOR = 0.01
"""The least probability that `tune` looks at. The best threshold for F1 is half of that F1 if probabilities are
calibrated, so a lower one would mean an F1 below 0.02."""

_SHARE = Number(least=0, most=1)
_PRECISION = Number(above=0, most=1, optional=True)
_SHRINKAGE = Number(least=0, most=1e9)
_PER_LABEL = Flag()

_NEAR = 1e-7  # to 0 and to 1, beyond which log-odds are not followed


@dataclass(frozen=True, repr=False)
class Thresholds:
    """How probable a label must be to be predicted: one threshold for all labels, and others for some of them.

    A model uses them for ``predict_many(X, threshold=thresholds)``, and those that are its own
    (`OnlinePLT.thresholds`, `PLT.with_thresholds`) for ``threshold="tuned"``. They are immutable.

    Parameters
    ----------
    value
        The threshold, from 0 to 1, of all labels that have none of their own, new ones included.
    labels
        Thresholds of single labels. Infinity: the label is never predicted.

    Examples
    --------
    >>> thresholds = Thresholds(0.3, {"rare": 0.1})
    >>> thresholds["rare"], thresholds["other"]
    (0.1, 0.3)
    >>> thresholds
    <Thresholds: 0.3; own thresholds for 1 label>
    """

    value: float
    labels: Mapping[Label, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.labels, Mapping):
            raise InvalidInputError(
                "thresholds-not-valid", "labels must be a mapping from labels to thresholds", got=briefly(self.labels)
            )
        names = list(self.labels)
        check_names(names, "label")
        own = {
            name: math.inf if given == math.inf else _share(f"the threshold of label {name!r}", given)
            for name, given in zip(plain_names(names), self.labels.values(), strict=True)
        }
        object.__setattr__(self, "value", _share("value", self.value))
        object.__setattr__(self, "labels", MappingProxyType(own))

    def __getitem__(self, label: Label) -> float:
        return self.labels.get(label, self.value)

    __iter__ = None  # every label has a threshold: to look at all of them would never end
    __contains__ = None

    @cached_property
    def least(self) -> float:
        """The least of all of them: no label that is less probable is predicted."""
        return min(self.value, *self.labels.values()) if self.labels else self.value

    def of(self, labels: list[Label]) -> FloatArray:
        """Make an array of the thresholds of many labels. Probabilities are compared as the core does, in float32."""
        return np.array([self.labels.get(label, self.value) for label in labels], dtype=np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Make plain values of it, that can be written as JSON; None stands for infinity.

        Examples
        --------
        >>> Thresholds(0.5, {"b": float("inf"), "a": 0.25, 7: 0.125}).to_dict()
        {'value': 0.5, 'labels': [[7, 0.125], ['a', 0.25], ['b', None]]}
        """
        ordered = sorted(self.labels.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        labels = [[label, None if own == math.inf else own] for label, own in ordered]
        return {"value": self.value, "labels": labels}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Thresholds:
        """Make them of what `to_dict` returns.

        Examples
        --------
        >>> Thresholds.from_dict({"value": 0.5, "labels": [["cat", None]]})["cat"]
        inf
        """
        try:
            labels = {label: math.inf if own is None else own for label, own in values["labels"]}
            return cls(values["value"], labels)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                "thresholds-not-valid",
                "must be {'value': number, 'labels': [[label, number or None], ...]}",
                got=briefly(values),
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value, dict(self.labels))

    def __repr__(self) -> str:
        own = f"; own thresholds for {number_of(len(self.labels), 'label')}" if self.labels else ""
        return f"<Thresholds: {self.value:.4g}{own}>"


def as_thresholds(given: Any) -> Thresholds:
    """Check what is given to a model."""
    if not isinstance(given, Thresholds):
        raise InvalidInputError(
            "thresholds-not-valid",
            "thresholds of a model must be Thresholds or None",
            got=briefly(given),
            hint="oplt.thresholds.tune chooses them; Thresholds(0.3) is the same one for all labels.",
        )
    return given


def _share(name: str, given: Any) -> float:
    number = _SHARE(name, given)
    assert number is not None  # noqa: S101 (ours: it is not optional)
    return number


class Tuner:
    """Chooses thresholds on predictions that come in chunks: of a test set, or of a stream before it is learnt.

    Predictions must have all labels that are at least as probable as the thresholds that are to be considered: ask the
    model for ``threshold=FLOOR``. Memory grows with the number of predicted labels, 9 bytes for each.

    Examples
    --------
    On a stream, predict each block before you learn it:

    >>> from oplt import OnlinePLT
    >>> from oplt.datasets import make_stream
    >>> model, tuner = OnlinePLT(), Tuner()
    >>> examples = list(make_stream(1000, n_labels=20, seed=1))
    >>> for begin in range(0, 1000, 100):
    ...     X, Y = zip(*examples[begin : begin + 100])
    ...     tuner.add(model.predict_many(X, threshold=FLOOR), Y)
    ...     model.learn_many(X, Y)
    >>> model.thresholds = tuner.choose()
    >>> tuner
    <Tuner: 1,000 examples>
    """

    def __init__(self) -> None:
        self._ids: dict[Label, int] = {}
        self._n_true = np.zeros(0, dtype=np.int64)  # by label
        self._chunks: list[_Scored] = []
        self.n_examples = 0

    def add(self, predictions: Predictions, Y: LabelRows) -> None:  # noqa: N803 (a matrix)
        """Add examples: what was predicted, and their true labels in any form that `learn_many` takes."""
        matches = match(predictions, Y)
        _check_probabilities(matches)
        ids = np.array([self._ids.setdefault(name, len(self._ids)) for name in matches.names], dtype=np.uint32)
        self._n_true = np.concatenate((self._n_true, np.zeros(len(self._ids) - len(self._n_true), dtype=np.int64)))
        self._n_true[ids] += np.bincount(matches.true_label, minlength=len(ids))
        self._chunks.append(_Scored(ids[matches.label], matches.score.astype(np.float32), matches.hit))
        self.n_examples += len(matches)

    def choose(self, *, per_label: bool = False, precision: float | None = None, shrinkage: float = 10.0) -> Thresholds:
        """Choose thresholds for all that has been added. See `tune` for the parameters."""
        own, target = _PER_LABEL("per_label", per_label), _PRECISION("precision", precision)
        prior = _SHRINKAGE("shrinkage", shrinkage)
        assert prior is not None  # noqa: S101 (ours: it is not optional)
        scored = self._scored()
        value = self._for_all(scored, target)
        labels = self._for_each(scored, target, value, prior) if own else {}
        return Thresholds(_readable(value), {label: _readable(threshold) for label, threshold in labels.items()})

    def measure(self, thresholds: Thresholds | float) -> dict[str, float]:
        """Measure what thresholds do on all that has been added: precision, recall, micro-F1 and macro-F1.

        Of thresholds that were chosen on the same examples, and of those of single labels most of all, this is better
        than what new examples will show.
        """
        given = thresholds if isinstance(thresholds, Thresholds) else Thresholds(thresholds)
        scored = self._scored()
        kept = scored.score >= given.of(list(self._ids))[scored.label]
        n_predicted = np.bincount(scored.label[kept], minlength=len(self._ids))
        n_hits = np.bincount(scored.label[kept & scored.hit], minlength=len(self._ids))
        n_both = n_predicted + self._n_true
        each = 2 * n_hits[n_both > 0] / n_both[n_both > 0]
        return {
            "precision": _ratio(n_hits.sum(), n_predicted.sum()),
            "recall": _ratio(n_hits.sum(), self._n_true.sum()),
            "micro-F1": _ratio(2 * n_hits.sum(), n_both.sum()),
            "macro-F1": math.fsum(each.tolist()) / len(each) if len(each) else math.nan,
        }

    def _scored(self) -> _Scored:
        """Take all chunks as one."""
        if len(self._chunks) != 1:
            none = _Scored(np.zeros(0, np.uint32), np.zeros(0, np.float32), np.zeros(0, bool))
            chunks = [none, *self._chunks]
            self._chunks = [
                _Scored(
                    np.concatenate([chunk.label for chunk in chunks]),
                    np.concatenate([chunk.score for chunk in chunks]),
                    np.concatenate([chunk.hit for chunk in chunks]),
                )
            ]
        return self._chunks[0]

    def _for_all(self, scored: _Scored, precision: float | None) -> float:
        n_true = int(self._n_true.sum())
        if not n_true:
            raise InvalidInputError(
                "no-labels",
                f"none of the {self.n_examples} examples has a label, so no threshold can be chosen",
            )
        if not scored.hit.any():
            raise InvalidInputError(
                "threshold-not-found",
                f"none of the {len(scored.hit)} predicted labels is true, so no threshold is better than another",
                hint="Give examples of labels that the model has learnt.",
            )
        curve = _Curve(scored.score, scored.hit)
        found = curve.for_f1(n_true) if precision is None else curve.for_precision(precision)
        if found is None:
            best = float(curve.precision.max())
            raise InvalidInputError(
                "threshold-not-found",
                f"no threshold has a precision of {precision:g} on these {self.n_examples} examples",
                got=f"at best {best:.4f}, from {_readable(float(curve.score[np.argmax(curve.precision)])):g} on",
                hint="Ask for a lower precision, or give more examples.",
            )
        return found

    def _for_each(self, scored: _Scored, precision: float | None, value: float, shrinkage: float) -> dict[Label, float]:
        """Choose thresholds of single labels: those that occur and that are predicted at least once."""
        order = np.argsort(scored.label, kind="stable")
        ends = np.cumsum(np.bincount(scored.label, minlength=len(self._ids)))
        found: dict[Label, float] = {}
        for (name, label), end in zip(self._ids.items(), ends.tolist(), strict=True):
            places = order[(ends[label - 1] if label else 0) : end]
            n_true = int(self._n_true[label])
            if not n_true or not len(places):
                continue
            curve = _Curve(scored.score[places], scored.hit[places])
            own = curve.for_f1(n_true) if precision is None else curve.for_precision(precision)
            if own is not None:
                found[name] = _shrunk(own, n_true, value, shrinkage)
            elif precision is not None and n_true >= shrinkage:
                found[name] = math.inf
        return found

    def __repr__(self) -> str:
        return f"<Tuner: {self.n_examples:,} examples>"


class Predicting(Protocol):
    """What `tune` needs of a model: `PLT` and `OnlinePLT` have it."""

    def predict_many(self, X: Any, *, threshold: float) -> Predictions:  # noqa: N803 (a matrix)
        """Predict all labels that are at least this probable."""


def tune(
    model: Predicting,
    X: Any,  # noqa: N803 (a matrix)
    Y: LabelRows,  # noqa: N803 (a matrix)
    *,
    per_label: bool = False,
    precision: float | None = None,
    shrinkage: float = 10.0,
) -> Thresholds:
    """Choose thresholds on examples that the model has not learnt.

    The threshold for all labels is the exact optimum on these examples: that of the largest micro-F1, or the lowest one
    that has the precision asked for.

    Parameters
    ----------
    model
        Whose predictions the thresholds are for. It is not changed.
    X, Y
        Examples and their labels, as for `learn_many`. A model that has learnt them is too sure of their labels.
    per_label
        Choose a threshold of its own for each label that occurs, for the F1 or the precision of that label. It helps
        the macro-F1, and costs some micro-F1. All other labels have the threshold for all.
    precision
        The precision to hold, above 0 and at most 1: choose the lowest threshold that has it. None: choose for F1.
    shrinkage
        With `per_label`: how strongly thresholds of rare labels, which a few examples decide, are drawn towards that
        for all labels. In log-odds, the threshold for all counts like this many examples of the label; 0 is the exact
        optimum of each label on these examples, which holds less well for others.

    Returns
    -------
    The thresholds. With `precision` and `per_label`, a label that does not reach the precision at any threshold is
    never predicted (its threshold is infinity), unless it has fewer examples than `shrinkage`.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> from oplt.datasets import make_stream
    >>> X, Y = zip(*make_stream(1200, n_labels=20, seed=1))
    >>> model = OnlinePLT()
    >>> model.learn_many(X[:1000], Y[:1000])
    >>> model.thresholds = tune(model, X[1000:], Y[1000:])
    >>> labels = model.predict_one(X[1000], threshold="tuned")
    """
    tuner = Tuner()
    tuner.add(model.predict_many(X, threshold=FLOOR), Y)
    return tuner.choose(per_label=per_label, precision=precision, shrinkage=shrinkage)


@dataclass(frozen=True)
class _Scored:
    """Predicted labels: which, how probable, and whether true."""

    label: IdArray
    score: FloatArray
    hit: npt.NDArray[np.bool_]


class _Curve:
    """What each threshold would do: those that differ are the distinct scores, here in descending order."""

    def __init__(self, score: FloatArray, hit: npt.NDArray[np.bool_]) -> None:
        order = np.argsort(-score, kind="stable")
        ascending = score[order]
        last = np.append(ascending[1:] != ascending[:-1], True)  # of those that are equally probable
        self.score = ascending[last]
        self.n_predicted: PointerArray = np.flatnonzero(last) + 1
        self.n_hits: PointerArray = np.cumsum(hit[order])[last]

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        return self.n_hits / self.n_predicted

    def for_f1(self, n_true: int) -> float | None:
        """Find the threshold of the largest F1; of several, the highest. None if it is 0 everywhere."""
        f1 = 2 * self.n_hits / (self.n_predicted + n_true)
        best = int(np.argmax(f1))
        return float(self.score[best]) if f1[best] > 0 else None

    def for_precision(self, precision: float) -> float | None:
        """Find the lowest threshold that has the precision, if any has."""
        places = np.flatnonzero(self.precision >= precision)
        return float(self.score[places[-1]]) if len(places) else None


def _shrunk(own: float, n_true: int, value: float, shrinkage: float) -> float:
    """Draw a threshold towards that for all labels, by the weighted mean of their log-odds."""
    if not shrinkage:
        return own
    log_odds = (n_true * _log_odds(own) + shrinkage * _log_odds(value)) / (n_true + shrinkage)
    return 1 / (1 + math.exp(-log_odds))


def _log_odds(probability: float) -> float:
    p = min(max(probability, _NEAR), 1 - _NEAR)
    return math.log(p / (1 - p))


def _readable(threshold: float) -> float:
    """Take the shortest decimal number that is the same in float32."""
    return threshold if threshold == math.inf else float(str(np.float32(threshold)))


def _ratio(part: Any, whole: Any) -> float:
    return int(part) / int(whole) if whole else math.nan


def _check_probabilities(matches: Matches) -> None:
    bad = ~((matches.score >= 0) & (matches.score <= 1))
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidInputError(
            "score-not-a-probability",
            "thresholds need probabilities, from 0 to 1",
            where=f"row {matches.row[place]} of predictions",
            got=f"the score {matches.score[place]}",
        )

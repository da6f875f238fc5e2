# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Decision thresholds, tuned on labeled examples for the best F1 or for a required precision."""

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
"""The lowest threshold that `tune` considers. If probabilities are calibrated, the best threshold for F1 is half of
that F1, so a lower threshold would mean an F1 below 0.02."""

_SHARE = Number(least=0, most=1)
_PRECISION = Number(above=0, most=1, optional=True)
_SHRINKAGE = Number(least=0, most=1e9)
_PER_LABEL = Flag()

_NEAR = 1e-7  # probabilities are clipped to this distance from 0 and 1 before log-odds are taken


@dataclass(frozen=True, repr=False)
class Thresholds:
    """Decision thresholds: one for all labels, and individual ones for some labels.

    Pass them as ``predict_many(X, threshold=thresholds)``, or attach them to a model (`OnlinePLT.thresholds`,
    `PLT.with_thresholds`), which uses them for ``threshold="tuned"``. They are immutable.

    Parameters
    ----------
    value
        The threshold, from 0 to 1, of every label that has no individual one, new labels included.
    labels
        Individual thresholds by label. A label whose threshold is infinity is never predicted.

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

    __iter__ = None  # every conceivable label has a threshold, so there is nothing finite to iterate over
    __contains__ = None

    @cached_property
    def least(self) -> float:
        """The lowest threshold of any label: no label below it is predicted."""
        return min(self.value, *self.labels.values()) if self.labels else self.value

    def of(self, labels: list[Label]) -> FloatArray:
        """Return the thresholds of many labels as float32, the precision in which the core compares probabilities."""
        return np.array([self.labels.get(label, self.value) for label in labels], dtype=np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values that can be written as JSON; None stands for infinity.

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
        """Restore thresholds from the values that `to_dict` returned.

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
                "thresholds must have the form {'value': number, 'labels': [[label, number or None], ...]}",
                got=briefly(values),
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value, dict(self.labels))

    def __repr__(self) -> str:
        own = f"; own thresholds for {number_of(len(self.labels), 'label')}" if self.labels else ""
        return f"<Thresholds: {self.value:.4g}{own}>"


def as_thresholds(given: Any) -> Thresholds:
    """Check the thresholds that a user assigns to a model."""
    if not isinstance(given, Thresholds):
        raise InvalidInputError(
            "thresholds-not-valid",
            "thresholds must be a Thresholds object or None",
            got=briefly(given),
            hint="Use oplt.thresholds.tune to choose them, or Thresholds(0.3) for the same threshold for all labels.",
        )
    return given


def _share(name: str, given: Any) -> float:
    number = _SHARE(name, given)
    assert number is not None  # noqa: S101 (ours: it is not optional)
    return number


class Tuner:
    """Tunes thresholds on predictions that arrive in chunks: of a held-out set, or of progressive validation.

    Predictions must contain every label that reaches any threshold to be considered: predict with ``threshold=FLOOR``.
    Memory grows by 9 bytes per predicted label.

    Examples
    --------
    On a stream, predict each block before the model learns from it:

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
        """Add examples: their predictions, and their true labels in any form that `learn_many` accepts."""
        matches = match(predictions, Y)
        _check_probabilities(matches)
        ids = np.array([self._ids.setdefault(name, len(self._ids)) for name in matches.names], dtype=np.uint32)
        self._n_true = np.concatenate((self._n_true, np.zeros(len(self._ids) - len(self._n_true), dtype=np.int64)))
        self._n_true[ids] += np.bincount(matches.true_label, minlength=len(ids))
        self._chunks.append(_Scored(ids[matches.label], matches.score.astype(np.float32), matches.hit))
        self.n_examples += len(matches)

    def choose(self, *, per_label: bool = False, precision: float | None = None, shrinkage: float = 10.0) -> Thresholds:
        """Choose thresholds on all examples added so far. See `tune` for the parameters."""
        own, target = _PER_LABEL("per_label", per_label), _PRECISION("precision", precision)
        prior = _SHRINKAGE("shrinkage", shrinkage)
        assert prior is not None  # noqa: S101 (ours: it is not optional)
        scored = self._scored()
        value = self._for_all(scored, target)
        labels = self._for_each(scored, target, value, prior) if own else {}
        return Thresholds(_readable(value), {label: _readable(threshold) for label, threshold in labels.items()})

    def measure(self, thresholds: Thresholds | float) -> dict[str, float]:
        """Measure thresholds on all examples added so far: precision, recall, micro-F1 and macro-F1.

        For thresholds that were tuned on the same examples, the result is optimistic; individual thresholds are
        affected most.
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
        """Merge all chunks into one."""
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
                hint="Pass examples of labels that the model was trained on.",
            )
        curve = _Curve(scored.score, scored.hit)
        found = curve.for_f1(n_true) if precision is None else curve.for_precision(precision)
        if found is None:
            best = float(curve.precision.max())
            raise InvalidInputError(
                "threshold-not-found",
                f"no threshold reaches a precision of {precision:g} on these {self.n_examples} examples",
                got=f"at best {best:.4f}, at threshold {_readable(float(curve.score[np.argmax(curve.precision)])):g}",
                hint="Require a lower precision, or pass more examples.",
            )
        return found

    def _for_each(self, scored: _Scored, precision: float | None, value: float, shrinkage: float) -> dict[Label, float]:
        """Choose individual thresholds, for labels that occur and are predicted at least once."""
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
    """The interface that `tune` needs of a model. `PLT` and `OnlinePLT` have it."""

    def predict_many(self, X: Any, *, threshold: float) -> Predictions:  # noqa: N803 (a matrix)
        """Predict all labels whose probability reaches the threshold."""


def tune(
    model: Predicting,
    X: Any,  # noqa: N803 (a matrix)
    Y: LabelRows,  # noqa: N803 (a matrix)
    *,
    per_label: bool = False,
    precision: float | None = None,
    shrinkage: float = 10.0,
) -> Thresholds:
    """Tune thresholds on held-out examples.

    The common threshold is the exact optimum on these examples: the one with the largest micro-F1, or the lowest one
    that reaches the required precision.

    Parameters
    ----------
    model
        The model whose predictions the thresholds are for. It is not changed.
    X, Y
        Examples and their labels, as for `learn_many`. Do not use training examples: a model is overconfident on them.
    per_label
        Choose an individual threshold for each label that occurs, for the F1 or the precision of that label. This
        improves macro-F1 and costs some micro-F1. All other labels have the common threshold.
    precision
        The required precision, above 0 and at most 1: choose the lowest threshold that reaches it. If None, maximize
        F1.
    shrinkage
        With `per_label`: how strongly the thresholds of rare labels are shrunk toward the common threshold. The
        average is taken in log-odds, and the common threshold counts as `shrinkage` examples of the label. 0 is the
        exact optimum of each label on these examples, which generalizes less well.

    Returns
    -------
    The thresholds. With `precision` and `per_label`, a label that reaches the precision at no threshold is never
    predicted (its threshold is infinity), unless it has fewer than `shrinkage` examples.

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
    """Predicted labels: which label, its probability, and whether it is true."""

    label: IdArray
    score: FloatArray
    hit: npt.NDArray[np.bool_]


class _Curve:
    """Hits and predictions at each distinct threshold, that is, at each distinct score, in descending order."""

    def __init__(self, score: FloatArray, hit: npt.NDArray[np.bool_]) -> None:
        order = np.argsort(-score, kind="stable")
        ascending = score[order]
        last = np.append(ascending[1:] != ascending[:-1], True)  # the last place of each run of equal scores
        self.score = ascending[last]
        self.n_predicted: PointerArray = np.flatnonzero(last) + 1
        self.n_hits: PointerArray = np.cumsum(hit[order])[last]

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        return self.n_hits / self.n_predicted

    def for_f1(self, n_true: int) -> float | None:
        """Find the threshold with the largest F1; of several, the highest. None if F1 is 0 everywhere."""
        f1 = 2 * self.n_hits / (self.n_predicted + n_true)
        best = int(np.argmax(f1))
        return float(self.score[best]) if f1[best] > 0 else None

    def for_precision(self, precision: float) -> float | None:
        """Find the lowest threshold that reaches the precision; None if there is none."""
        places = np.flatnonzero(self.precision >= precision)
        return float(self.score[places[-1]]) if len(places) else None


def _shrunk(own: float, n_true: int, value: float, shrinkage: float) -> float:
    """Shrink a threshold toward the common one: the weighted mean of their log-odds."""
    if not shrinkage:
        return own
    log_odds = (n_true * _log_odds(own) + shrinkage * _log_odds(value)) / (n_true + shrinkage)
    return 1 / (1 + math.exp(-log_odds))


def _log_odds(probability: float) -> float:
    p = min(max(probability, _NEAR), 1 - _NEAR)
    return math.log(p / (1 - p))


def _readable(threshold: float) -> float:
    """Return the shortest decimal number that rounds to the same float32."""
    return threshold if threshold == math.inf else float(str(np.float32(threshold)))


def _ratio(part: Any, whole: Any) -> float:
    return int(part) / int(whole) if whole else math.nan


def _check_probabilities(matches: Matches) -> None:
    bad = ~((matches.score >= 0) & (matches.score <= 1))
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidInputError(
            "score-not-a-probability",
            "thresholds need probabilities from 0 to 1",
            where=f"row {matches.row[place]} of predictions",
            got=f"the score {matches.score[place]}",
        )

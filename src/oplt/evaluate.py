# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Progressive validation: the model predicts each example of a stream before it learns from it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from oplt import _core, frames
from oplt._typing import Label
from oplt.checks import count, refuse
from oplt.errors import InvalidInputError
from oplt.predictions import Predictions, as_pairs
from oplt.reports import Bucket, Report, Run
from oplt.thresholds import FLOOR, Tuner
from oplt.validation import (
    TEXT,
    NamedRows,
    Texts,
    as_inputs,
    as_labels,
    as_labels_of_one,
    as_weight,
    check_names,
    holds_text,
    listed,
    plain_names,
)
from oplt.wording import briefly

__all__ = ["Bucket", "OnlineModel", "Report", "progressive"]


class OnlineModel(Protocol):
    """The interface that `progressive` needs of a model.

    Examples
    --------
    >>> class Parrot:
    ...     last: list[str] = []
    ...     def predict_one(self, x, k):
    ...         return [(label, 1.0) for label in self.last[:k]]
    ...     def learn_one(self, x, labels):
    ...         self.last = labels
    >>> (report,) = progressive(Parrot(), [({}, ["cat"]), ({}, ["cat"]), ({}, ["dog"])])
    >>> round(report.total["P@1"], 3)
    0.333
    """

    def predict_one(self, x: Any, k: int) -> Sequence[tuple[Label, float]]:
        """Predict at most k labels and their scores, best first."""

    def learn_one(self, x: Any, labels: Any) -> object:
        """Learn from an example. The method must accept `weight=` if the stream has weights."""


def progressive(
    model: OnlineModel,
    stream: Iterable[tuple[Any, ...]],
    *,
    k: int = 5,
    window: int = 1000,
    every: int = 1000,
    delay: int = 0,
    frequencies: tuple[int, int] = (10, 100),
    tuner: Tuner | None = None,
) -> Iterator[Report]:
    """Predict each example of a stream, then learn from it, and report how good the predictions were.

    For each example, `predict_one` is called before `learn_one`. So every example serves as a test example, and none is
    predicted by a model that has already learned from it.

    Parameters
    ----------
    model
        An `OnlinePLT`, or any other object that has `predict_one(x, k)` and `learn_one(x, labels)`. It is trained on
        the stream.
    stream
        An iterable of pairs (x, labels) or triples (x, labels, weight), as for `learn_one`. Or one pair (X, Y), a
        tuple, as for `learn_many`: X is a sparse or NumPy matrix, a frame, or a list or column of texts or mappings.
    k
        Number of labels to predict. Metrics are computed at k, and at those of 1, 3 and 5 that are below k.
    window
        Metrics of the window are computed over the last `window` examples.
    every
        Yield a report after every `every` examples, and at the end. A report costs a pass over the window.
    delay
        Simulate labels that become known late: the model learns from an example only after `delay` further examples
        have been predicted. When the stream ends, it learns from the pending examples. They are not copied: the stream
        must not modify them.
    frequencies
        Two numbers of occurrences: labels with fewer occurrences than the first are in the tail, those with at least
        the second in the head.
    tuner
        Collects predictions for tuning thresholds. Each example is predicted a second time for it, without the limit of
        k labels, so `predict_one` must accept ``threshold=``.

    Yields
    ------
    Reports; the last one covers the whole stream. An empty stream gives one report of 0 examples. If you stop iterating
    early, the model stays as it is at that point.

    Notes
    -----
    The occurrences and age of a label are counted from the beginning of the stream, whatever the delay, and do not
    include earlier training of the model.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> from oplt.datasets import make_stream
    >>> for report in progressive(OnlinePLT(), make_stream(600, n_labels=20, seed=1), every=200):
    ...     print(report.n_examples, report.n_labels, report.total["P@1"] > 0.3)
    200 8 True
    400 14 True
    600 18 True

    Thresholds can be tuned along the way:

    >>> from oplt.thresholds import Tuner
    >>> model, tuner = OnlinePLT(), Tuner()
    >>> *_, last = progressive(model, make_stream(600, n_labels=20, seed=1), tuner=tuner)
    >>> model.thresholds = tuner.choose()
    """
    _check_model(model)
    most = count("k", k)
    cutoffs = sorted({*(at for at in (1, 3, 5) if at < most), most})
    run = Run(cutoffs, count("window", window), _as_frequencies(frequencies))
    examples = _examples(_as_stream(stream))
    every, delay = count("every", every), count("delay", delay, least=0)
    return _reports(model, examples, run, every, delay, tuner)


def _check_model(model: Any) -> None:
    for method in ("predict_one(x, k)", "learn_one(x, labels)"):
        if isinstance(model, type) or not callable(getattr(model, method.partition("(")[0], None)):
            is_class = isinstance(model, type)
            raise InvalidInputError(
                "not-a-model",
                f"model must be an object that has the method {method}",
                got=f"the class {model.__name__}" if is_class else type(model).__name__,
                hint="Pass an instance of it." if is_class else None,
            )


def _as_frequencies(frequencies: Any) -> tuple[int, int]:
    bounds = tuple(frequencies) if isinstance(frequencies, Iterable) else ()
    if len(bounds) != 2:
        refuse("frequencies", "two integers, where the torso and the head begin", frequencies)
    torso, head = (count("frequencies", bound) for bound in bounds)
    if torso >= head:
        refuse("frequencies", "two ascending integers", frequencies)
    return torso, head


def _as_stream(stream: Iterable[Any]) -> Iterable[Any]:
    """Return an iterator over the examples. Matrices are validated as a whole first."""
    if isinstance(stream, tuple) and len(stream) == 2 and (_is_matrix(stream[0]) or isinstance(stream[0], list)):
        return _paired(*stream)
    if _is_matrix(stream) or isinstance(stream, (str, bytes, Mapping)) or not isinstance(stream, Iterable):
        raise InvalidInputError(
            "stream-not-valid",
            "stream must be an iterable of pairs (x, labels), such as zip(X, Y), or a tuple (X, Y)",
            got=type(stream).__name__,
        )
    return stream


def _is_matrix(value: Any) -> bool:
    return sp.issparse(value) or isinstance(value, np.ndarray) or frames.is_frame(value)


def _paired(X: Any, Y: Any) -> Iterator[tuple[Any, list[Label]]]:  # noqa: N803 (matrices)
    """Return the examples of (X, Y) as for `learn_many`. Texts are recognized by their type."""
    values = frames.as_values(X, "X") if frames.is_frame(X) and frames.is_column(X, "X") else X
    rows = as_inputs(values, texts=isinstance(values, list) and bool(values) and holds_text(values[0]))
    labels = as_labels(Y, len(rows))
    return zip(_each(rows), (listed(labels.chunk(i, i + 1).names) for i in range(len(labels))), strict=True)


def _each(rows: NamedRows | Texts) -> Iterator[Any]:
    if isinstance(rows, Texts):
        if rows.further is None:
            yield from rows.texts
        else:
            for text, others in zip(rows.texts, _each(rows.further), strict=True):
                yield {TEXT: text, **others}
        return
    for i in range(len(rows)):
        x = rows.chunk(i, i + 1)
        yield dict(zip(listed(x.names), x.values.tolist(), strict=True))


@dataclass(frozen=True)
class _Example:
    place: int  # in the stream
    x: Any
    labels: Any
    names: list[Label]  # the same labels, each once
    weight: dict[str, float]  # a keyword for `learn_one`, or nothing


def _reports(
    model: OnlineModel, examples: Iterator[_Example], run: Run, every: int, delay: int, tuner: Tuner | None
) -> Iterator[Report]:
    waiting: deque[_Example] = deque()
    t = 0
    for t, example in enumerate(examples, start=1):
        run.add(_predict(model, example, run.k), example.names)
        if tuner is not None:
            _tune(model, example, tuner)
        waiting.append(example)
        if len(waiting) > delay:
            _learn(model, waiting.popleft())
        if t % every == 0:
            yield run.report()
    for known in waiting:
        _learn(model, known)
    if t == 0 or t % every:
        yield run.report()


def _predict(model: OnlineModel, example: _Example, k: int) -> list[tuple[Label, float]]:
    with _naming(example.place):
        found = as_pairs(model.predict_one(example.x, k), "what predict_one returns")[:k]
        check_names([label for label, _ in found], "what predict_one returns: label")
        if len(dict(found)) < len(found) or any(math.isnan(score) for _, score in found):
            raise InvalidInputError(
                "predictions-not-valid", "predict_one must return each label once and no NaN", got=briefly(found)
            )
    return found


def _tune(model: OnlineModel, example: _Example, tuner: Tuner) -> None:
    predict: Any = model.predict_one
    with _naming(example.place):
        tuner.add(Predictions.from_rows([predict(example.x, threshold=FLOOR)]), [example.names])


def _learn(model: OnlineModel, example: _Example) -> None:
    learn: Any = model.learn_one
    with _naming(example.place):
        learn(example.x, example.labels, **example.weight)


@contextmanager
def _naming(place: int) -> Iterator[None]:
    """Add the number of the example to an error."""
    try:
        yield
    except InvalidInputError as error:
        raise error.at(f"example {place} of the stream") from None


def _examples(stream: Iterable[Any]) -> Iterator[_Example]:
    for t, given in enumerate(stream):
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (2, 3):
            raise InvalidInputError(
                "stream-not-valid",
                "an example must be (x, labels) or (x, labels, weight)",
                where=f"example {t} of the stream",
                got=briefly(given),
            )
        x, labels = given[:2]
        labels = list(labels) if isinstance(labels, Iterator) else labels
        weight = {"weight": given[2]} if len(given) == 3 else {}
        with _naming(t):
            for value in weight.values():
                as_weight(value)
            names = _distinct_names(labels)
        yield _Example(t, x, labels, names, weight)


def _distinct_names(labels: Any) -> list[Label]:
    names = labels
    if type(labels) is not list or _core.first_bad_name(labels) is not None:  # an unusual form, or not valid
        names = list(as_labels_of_one(labels).names)
    return list(dict.fromkeys(plain_names(names)))

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Progressive validation: each example of a stream is predicted before it is learnt."""

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
    """What `progressive` needs of a model.

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
        """Learn from an example. It must take `weight=` if the stream has weights."""


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
    """Predict each example of a stream, then learn it, and report how good the predictions were.

    Every prediction is made by the model as it is before that very example: `predict_one`, then `learn_one`. So all
    examples serve as test examples, and none is predicted by a model that knows it.

    Parameters
    ----------
    model
        `OnlinePLT`, or any other object that has `predict_one(x, k)` and `learn_one(x, labels)`. It is trained.
    stream
        Pairs (x, labels) or triples (x, labels, weight), as `learn_one` takes them. Or one pair (X, Y), a tuple, as
        `learn_many` takes them: X is a sparse or NumPy matrix, a frame, or a list or column of texts or mappings.
    k
        Labels to predict. The measures are at 1, 3 and 5, as far as they are below k, and at k.
    window
        The measures of the window are of the last so many examples.
    every
        A report is made after each so many examples, and at the end. It costs a pass over the window.
    delay
        The labels of an example become known late: it is learnt after so many further examples have been predicted.
        When the stream ends, those that wait are learnt. They are not copied: the stream must not change them.
    frequencies
        A label that has occurred less often than the first number is in the tail, from the second on it is in the head.
    tuner
        Collects predictions to choose thresholds from. Each example is predicted a second time for it, without the
        limit of k labels, so `predict_one` must take ``threshold=``.

    Yields
    ------
    Reports; the last one is of the whole stream. That of an empty stream has 0 examples. Whoever stops early leaves the
    model as it is at that point.

    Notes
    -----
    Occurrences and age of a label are counted in the stream, delay or not, from its beginning: what the model has
    learnt before is not known here.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> from oplt.datasets import make_stream
    >>> for report in progressive(OnlinePLT(), make_stream(600, n_labels=20, seed=1), every=200):
    ...     print(report.n_examples, report.n_labels, report.total["P@1"] > 0.3)
    200 8 True
    400 14 True
    600 18 True

    With thresholds chosen on the way:

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
                hint="Make one of the class." if is_class else None,
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
    """Many examples. Those of matrices are checked at once."""
    if isinstance(stream, tuple) and len(stream) == 2 and (_is_matrix(stream[0]) or isinstance(stream[0], list)):
        return _paired(*stream)
    if _is_matrix(stream) or isinstance(stream, (str, bytes, Mapping)) or not isinstance(stream, Iterable):
        raise InvalidInputError(
            "stream-not-valid",
            "stream must be an iterable of pairs (x, labels), such as zip(X, Y), or a pair (X, Y) of many",
            got=type(stream).__name__,
        )
    return stream


def _is_matrix(value: Any) -> bool:
    return sp.issparse(value) or isinstance(value, np.ndarray) or frames.is_frame(value)


def _paired(X: Any, Y: Any) -> Iterator[tuple[Any, list[Label]]]:  # noqa: N803 (matrices)
    """Examples of what `learn_many` takes. Without a model to ask, texts are known by what they are."""
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
    """Tell which example an error is about."""
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
    if type(labels) is not list or _core.first_bad_name(labels) is not None:  # not the most usual form, or wrong
        names = list(as_labels_of_one(labels).names)
    return list(dict.fromkeys(plain_names(names)))

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Progressive validation: each example of a stream is predicted before it is learnt."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from oplt import _core
from oplt._typing import Label
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.metrics import Scores
from oplt.params import count
from oplt.predictions import Predictions
from oplt.validation import as_labels, as_rows, plain_names

__all__ = ["Bucket", "OnlineModel", "Report", "progressive"]

_Integers: TypeAlias = npt.NDArray[np.int64]

# Rows that are scored at once: many enough for NumPy, few enough to hold. It does not change the result.
_CHUNK = 4096


class OnlineModel(Protocol):
    """What `progressive` needs of a model."""

    def predict_one(self, x: Any, k: int) -> Sequence[tuple[Label, float]]:
        """Predict at most k labels and their scores, best first."""

    def learn_one(self, x: Any, labels: Any) -> object:
        """Learn from an example. It must take `weight=` if the stream has weights."""


@dataclass(frozen=True)
class Bucket:
    """Labels whose frequency or age was in a range, [low, high), at the moment of the prediction.

    Attributes
    ----------
    low, high
        The range; `high` is None where there is no end.
    n_true, n_predicted, n_hits
        How often such a label was true, was among the first k predicted, and both.
    """

    low: int
    high: int | None
    n_true: int
    n_predicted: int
    n_hits: int

    @property
    def recall(self) -> float:
        """Share of the true labels that were found; NaN if there was none."""
        return self.n_hits / self.n_true if self.n_true else float("nan")

    @property
    def precision(self) -> float:
        """Share of the predicted labels that were true; NaN if there was none."""
        return self.n_hits / self.n_predicted if self.n_predicted else float("nan")


@dataclass(frozen=True)
class Report:
    """How the predictions were up to some point of a stream.

    Attributes
    ----------
    n_examples, n_labels
        Examples and distinct labels so far.
    total, window
        The measures of `oplt.metrics.Scores.result` of all examples so far, and of the last ones.
    new_labels, window_new_labels
        Labels that were never seen before, as a mean per example: of all examples so far, and of the last ones.
    tail, torso, head
        Labels by how often they had occurred before: rare, middling and frequent ones.
    by_occurrences
        Labels by how often they had occurred before, in ranges that double: 0, 1, 2 to 3, 4 to 7, …
    by_age
        Labels by how many examples ago they were born, that is, first occurred: 0 (just now or not yet), 1, 2 to 3, …
    """

    n_examples: int
    n_labels: int
    total: dict[str, float]
    window: dict[str, float]
    new_labels: float
    window_new_labels: float
    tail: Bucket
    torso: Bucket
    head: Bucket
    by_occurrences: tuple[Bucket, ...]
    by_age: tuple[Bucket, ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in self.total.items() if name.startswith("P@"))
        return f"{self.n_examples:,} examples, {self.n_labels:,} labels: {shown}"


def progressive(
    model: OnlineModel,
    stream: Iterable[tuple[Any, ...]],
    *,
    k: int = 5,
    window: int = 1000,
    every: int = 1000,
    delay: int = 0,
    frequencies: tuple[int, int] = (10, 100),
) -> Iterator[Report]:
    """Predict each example of a stream, then learn it, and report how good the predictions were.

    Every prediction is made by the model as it is before that very example: `predict_one`, then `learn_one`. So all
    examples serve as test examples, and none is predicted by a model that knows it.

    Parameters
    ----------
    model
        `OnlinePLT`, or any other object that has `predict_one(x, k)` and `learn_one(x, labels)`. It is trained.
    stream
        Pairs (x, labels) or triples (x, labels, weight), as `learn_one` takes them; or one pair (X, Y) of a sparse or
        NumPy matrix and the labels, as `learn_many` takes them.
    k
        Labels to predict. The measures are at 1, 3 and 5, as far as they are below k, and at k.
    window
        The measures of the window are of the last so many examples.
    every
        A report is made after each so many examples, and at the end. It costs a pass over the window.
    delay
        The labels of an example become known late: it is learnt after so many further examples have been predicted.
        When the stream ends, those that wait are learnt.
    frequencies
        A label that has occurred less often than the first number is in the tail, from the second on it is in the head.

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
    """
    most = count("k", k)
    cutoffs = sorted({*(at for at in (1, 3, 5) if at < most), most})
    torso, head = (count("frequencies", bound) for bound in frequencies)
    if torso >= head:
        msg = f"frequencies must ascend, got {frequencies!r}"
        raise InvalidParameterError(msg)
    run = _Run(cutoffs, count("window", window), (torso, head))
    return _reports(model, _examples(stream), run, count("every", every), count("delay", delay, least=0))


@dataclass(frozen=True)
class _Example:
    x: Any
    labels: Any
    names: list[Label]  # the same labels, each once
    weight: dict[str, float]  # a keyword for `learn_one`, or nothing


def _reports(model: OnlineModel, examples: Iterator[_Example], run: _Run, every: int, delay: int) -> Iterator[Report]:
    learn: Any = model.learn_one
    waiting: deque[_Example] = deque()
    t = 0
    for t, example in enumerate(examples, start=1):
        run.add(list(model.predict_one(example.x, run.k))[: run.k], example.names)
        waiting.append(example)
        if len(waiting) > delay:
            known = waiting.popleft()
            learn(known.x, known.labels, **known.weight)
        if t % every == 0:
            yield run.report()
    for known in waiting:
        learn(known.x, known.labels, **known.weight)
    if t == 0 or t % every:
        yield run.report()


def _examples(stream: Any) -> Iterator[_Example]:
    if isinstance(stream, tuple) and len(stream) == 2 and (sp.issparse(stream[0]) or isinstance(stream[0], np.ndarray)):
        stream = _matrix_examples(*stream)
    for t, given in enumerate(stream):
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) not in (2, 3):
            msg = f"example {t} of the stream must be (x, labels) or (x, labels, weight), got {type(given).__name__}"
            raise InvalidInputError(msg)
        x, labels = given[:2]
        labels = list(labels) if isinstance(labels, Iterator) else labels
        yield _Example(x, labels, _distinct_names(labels, t), {"weight": given[2]} if len(given) == 3 else {})


def _distinct_names(labels: Any, t: int) -> list[Label]:
    names = labels
    if type(labels) is not list or _core.first_bad_name(labels) is not None:  # not the most usual form, or wrong
        try:
            names = list(as_labels([labels], 1).names)
        except InvalidInputError as error:
            msg = f"example {t} of the stream: {error}"
            raise InvalidInputError(msg) from None
    return list(dict.fromkeys(plain_names(names)))


def _matrix_examples(X: Any, Y: Any) -> Iterator[tuple[dict[int, float], list[Label]]]:  # noqa: N803 (matrices)
    rows = as_rows(X)
    labels = as_labels(Y, len(rows))
    for i in range(len(rows)):
        x, y = rows.chunk(i, i + 1), labels.chunk(i, i + 1)
        yield dict(zip(np.asarray(x.names).tolist(), x.values.tolist(), strict=True)), list(y.names)


class _Tally:
    """Counts of true, predicted and found labels in ranges of a number."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds  # where each range but the first begins
        self._counts = np.zeros((len(bounds) + 1, 3), dtype=np.int64)

    def add(self, numbers: _Integers, kinds: _Integers) -> None:
        """Add labels, each with its number and, in columns, whether it is true, predicted, and both."""
        np.add.at(self._counts, np.searchsorted(self._bounds, numbers, side="right"), kinds)

    def buckets(self) -> list[Bucket]:
        lows, highs = [0, *self._bounds], [*self._bounds, None]
        return [
            Bucket(low, high, *counts) for low, high, counts in zip(lows, highs, self._counts.tolist(), strict=True)
        ]

    def used(self) -> tuple[Bucket, ...]:
        """Up to the last range in which there is something."""
        buckets = self.buckets()
        while buckets and not buckets[-1].n_true and not buckets[-1].n_predicted:
            buckets.pop()
        return tuple(buckets)


class _Run:
    """What is known of the stream so far."""

    def __init__(self, cutoffs: list[int], window: int, frequencies: tuple[int, int]) -> None:
        self.k = cutoffs[-1]
        self._cutoffs = cutoffs
        self._total = Scores(cutoffs)
        self._unscored: list[_Row] = []
        self._untallied: list[tuple[int, ...]] = []  # occurrences before, age, is it true, predicted, both
        self._window: deque[_Row] = deque(maxlen=window)
        self._n_examples = 0
        self._seen: dict[Label, tuple[int, int]] = {}  # examples before its birth, occurrences
        doubling = [1 << power for power in range(62)]
        self._frequency, self._occurrences, self._age = _Tally(frequencies), _Tally(doubling), _Tally(doubling)

    def add(self, predicted: list[tuple[Label, float]], labels: list[Label]) -> None:
        """Add an example, with its labels each once."""
        true, found = set(labels), {label for label, _ in predicted}
        n_labels = len(self._seen)
        for label in true | found:
            is_true, is_found = label in true, label in found
            birth, n_before = self._seen.get(label, (self._n_examples, 0))
            self._untallied.append((n_before, self._n_examples - birth, is_true, is_found, is_true and is_found))
            if is_true:
                self._seen[label] = (birth, n_before + 1)
        self._n_examples += 1

        row = _Row(predicted, labels, len(self._seen) - n_labels)
        self._window.append(row)
        self._unscored.append(row)
        if len(self._unscored) == _CHUNK:
            self._score()

    def _score(self) -> None:
        _add_rows(self._total, self._unscored)
        self._unscored.clear()
        labels = np.array(self._untallied, dtype=np.int64).reshape(-1, 5)
        self._untallied.clear()
        n_before, age, kinds = labels[:, 0], labels[:, 1], labels[:, 2:]
        self._frequency.add(n_before, kinds)
        self._occurrences.add(n_before, kinds)
        self._age.add(age, kinds)

    def report(self) -> Report:
        self._score()
        recent = Scores(self._cutoffs)
        _add_rows(recent, self._window)
        n_recent_births = sum(row.n_births for row in self._window)
        tail, torso, head = self._frequency.buckets()
        return Report(
            n_examples=self._n_examples,
            n_labels=len(self._seen),
            total=self._total.result(),
            window=recent.result(),
            new_labels=_mean(len(self._seen), self._n_examples),
            window_new_labels=_mean(n_recent_births, len(self._window)),
            tail=tail,
            torso=torso,
            head=head,
            by_occurrences=self._occurrences.used(),
            by_age=self._age.used(),
        )


@dataclass(frozen=True)
class _Row:
    predicted: list[tuple[Label, float]]
    labels: list[Label]
    n_births: int


def _add_rows(scores: Scores, rows: Iterable[_Row]) -> None:
    rows = list(rows)
    scores.add(Predictions.from_rows(row.predicted for row in rows), [row.labels for row in rows])


def _mean(total: int, n: int) -> float:
    return total / n if n else float("nan")

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Predicts examples just before they are learned, and looks up what the model knew of their labels and features.

Predicting takes about as long as learning, so only a share of the learner's time is spent on it. If examples arrive
faster than that, an evenly spaced sample of them is predicted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oplt import _core
from oplt.errors import OpltError
from oplt.model import OnlinePLT
from oplt.service.examples import Example, Name, Rows, as_inputs_of
from oplt.service.monitoring.windows import KS
from oplt.validation import Texts

__all__ = ["Budget", "LabelFacts", "Predicted", "predict", "unknown_terms", "values_of"]

_MOST_CREDIT = 0.25  # seconds of prediction that a pause can save up


class Budget:
    """Decides how many examples may be predicted.

    Parameters
    ----------
    share
        The share of time that may be spent on it; 0 switches it off.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._credit = _MOST_CREDIT
        self._cost = 0.001  # seconds per prediction, a running mean
        self._before = time.monotonic()

    def affordable(self) -> int:
        """Return the number of examples that may be predicted now."""
        now = time.monotonic()
        self._credit = min(_MOST_CREDIT, self._credit + self._share * (now - self._before))
        self._before = now
        return int(self._credit / self._cost) if self._share > 0 and self._credit > 0 else 0

    def spend(self, seconds: float, n: int) -> None:
        """Note the time that n predictions have taken, and everything that is computed from them."""
        self._credit -= seconds
        if n:
            self._cost = 0.9 * self._cost + 0.1 * seconds / n


@dataclass(frozen=True)
class LabelFacts:
    """A true label of a predicted example: what the model knew of it, and whether it was among the first five."""

    label: Name
    count: int  # earlier examples
    age: int  # examples since the first one; 0 if there is none
    is_found: bool


@dataclass
class Predicted:
    """What is known of an example that was predicted before it was learned."""

    row: int  # its place among those that are learned together
    hits: list[int] = field(default_factory=list)  # number of correct labels among the first 1, 3 and 5
    confidence: float = 0.0  # probability of the first answer
    labels: list[LabelFacts] = field(default_factory=list)
    n_features: int = 0
    n_unknown: int = 0


def predict(model: OnlinePLT, examples: Sequence[Example], rows: Rows, most: int) -> list[Predicted]:
    """Predict an evenly spaced sample of the examples that have labels."""
    labelled = [i for i, one in enumerate(examples) if one.labels]
    n = min(len(labelled), most)
    chosen = [labelled[j * len(labelled) // n] for j in range(n)]
    if not chosen:
        return []
    try:
        xs = as_inputs_of([examples[i] for i in chosen], texts=isinstance(rows.inputs, Texts))
        found = model.predict_many(xs, k=KS[-1])
    except OpltError:  # such as features of another kind, which are learned nevertheless
        return []
    state = model._state()  # let go before the model learns, which would have to copy what it changes otherwise
    return [_compared(state, i, examples[i].labels, answers, rows) for i, answers in zip(chosen, found, strict=True)]


def _compared(
    state: _core.ModelState, row: int, labels: Sequence[Name], answers: Sequence[tuple[Name, float]], rows: Rows
) -> Predicted:
    known = state.find_labels(list(labels))
    names = state.label_names(known)  # an example may use other names of a label than predictions do
    counts, first, _ = (one.tolist() for one in state.label_counts(known))
    answered = [label for label, _ in answers]
    facts = {
        name: LabelFacts(name, n, state.n_examples - begin if n else 0, name in answered)
        for name, n, begin in zip(names, counts, first, strict=True)
    }
    for label in labels if len(known) < len(labels) else ():
        if state.find_label(label) is None:
            facts[label] = LabelFacts(label, 0, 0, is_found=False)
    right = [label in facts for label in answered]
    found = Predicted(row, [sum(right[:k]) for k in KS], float(answers[0][1]) if answers else 0.0, list(facts.values()))
    if not isinstance(rows.inputs, Texts):
        begin, end = rows.inputs.indptr[row : row + 2]
        found.n_features = int(end - begin)
        found.n_unknown = found.n_features - sum(state.known_features(rows.inputs.names[begin:end]))
    return found


def unknown_terms(model: OnlinePLT, predicted: Sequence[Predicted], rows: Rows, n_known: int) -> None:
    """Count the features of predicted texts, and those that are new, once the texts have been learned.

    Which terms a text has is known when all of them have a feature. Features are numbered in order of arrival, so the
    model knew the first `n_known` of them before. If the settings limit their number, a new term takes over the
    feature of another one, and counts as known.
    """
    if not isinstance(rows.inputs, Texts):
        return
    state = model._state()
    for one in predicted:
        x: Any = rows.inputs.chunk(one.row, one.row + 1).to_core()
        features = {occurrence[0] for occurrence in _core.occurrences(state, x)}
        features.update(_core.further_ids(state, x))
        features.discard(_core.NONE)
        numbers = np.fromiter(features, dtype=np.int64, count=len(features))
        one.n_features, one.n_unknown = len(features), int(np.count_nonzero(numbers >= n_known))


def values_of(one: Predicted) -> dict[str, float]:
    """Return the values whose changes are detected."""
    values = {
        "p1": float(one.hits[0]),
        "confidence": one.confidence - one.hits[0],
        "new_labels": float(any(facts.count == 0 for facts in one.labels)),
    }
    if one.n_features:
        values["unknown_features"] = one.n_unknown / one.n_features
    return values

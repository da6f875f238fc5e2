# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The adapters for scikit-learn and river guarantee what `OnlinePLT` does."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from oplt import river, sklearn, testing

WORDS = ["heap", "kernel", "script", "form", "log"]
TEXTS = [(f"{a} in the {b}", [a]) for a in WORDS for b in WORDS]


class _Saved:
    """Saving and loading by pickle, as users of these libraries do."""

    def save(self, path: Path) -> None:
        path.write_bytes(pickle.dumps(self))

    @classmethod
    def load(cls, path: Path) -> Any:
        return pickle.loads(path.read_bytes())


class Sklearn(_Saved):
    """`partial_fit` and `predict_proba` of scikit-learn, for texts with one label."""

    def __init__(self) -> None:
        self.classifier = sklearn.OPLTClassifier(features="text")

    def learn_one(self, x: Any, labels: Any) -> None:
        self.learn_many([x], [labels])

    def learn_many(self, X: Any, Y: Any) -> None:
        if len(X) or len(Y):  # scikit-learn refuses to learn nothing
            self.classifier.partial_fit(X, [label for (label,) in Y])

    def predict_many(self, X: Any, k: int) -> Iterable[list[tuple[Any, float]]]:
        if not hasattr(self.classifier, "classes_"):  # scikit-learn refuses to predict before it has learned
            return [[] for _ in X]
        rows = self.classifier.predict_proba(X)
        return [sorted(zip(self.classifier.classes_, row, strict=True), key=lambda one: -one[1])[:k] for row in rows]


class River(_Saved):
    """`learn_one` and `predict_proba_one` of river."""

    def __init__(self) -> None:
        self.classifier = river.OPLTClassifier(features="text")

    def learn_one(self, x: Any, labels: Any) -> None:
        (label,) = labels
        self.classifier.learn_one(x, label)

    def learn_many(self, X: Any, Y: Any) -> None:
        for x, labels in zip(X, Y, strict=True):
            self.learn_one(x, labels)

    def predict_many(self, X: Any, k: int) -> Iterable[list[tuple[Any, float]]]:
        for x in X:
            found = self.classifier.predict_proba_one(x)
            yield sorted(found.items(), key=lambda one: -one[1])[:k]


@pytest.mark.parametrize("check", testing.CHECKS)
def test_scikit_learn(check: Callable[..., None]) -> None:
    check(Sklearn, TEXTS)


# Bad input is refused as a whole by learn_many, which river does not have.
@pytest.mark.parametrize("check", [check for check in testing.CHECKS if check is not testing.check_bad_input])
def test_river(check: Callable[..., None]) -> None:
    check(River, TEXTS)

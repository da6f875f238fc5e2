# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Our learners pass the checks of `oplt.testing`, and each check can fail."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from oplt import OnlinePLT, testing

LEARNERS: dict[str, Callable[[], OnlinePLT]] = {
    "default": OnlinePLT,
    "paper": OnlinePLT.paper,
    "accurate": OnlinePLT.accurate,
}
WORDS = ["heap", "kernel", "script", "form", "log"]
TEXTS = [(f"{a} in the {b}", [a, b] if a != b else []) for a in WORDS for b in WORDS]


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
@pytest.mark.parametrize("check", testing.CHECKS)
def test_ours(check: Callable[..., None], make: Callable[[], OnlinePLT]) -> None:
    check(make)


@pytest.mark.parametrize("check", testing.CHECKS)
def test_one_that_takes_texts(check: Callable[..., None]) -> None:
    check(lambda: OnlinePLT(features="text"), TEXTS)


# --- The checks can fail ----------------------------------------------------------------------------------------------


class Backward(OnlinePLT):
    """Learns each batch from its end."""

    def learn_many(self, X: Any, Y: Any, **options: Any) -> None:
        super().learn_many(X[::-1], Y[::-1], **options)


class LearnsFromQuestions(OnlinePLT):
    def predict_many(self, X: Any, *args: Any, **options: Any) -> Any:
        found = super().predict_many(X, *args, **options)
        self.learn_one(X[0], [])
        return found


class ForgetsInFiles(OnlinePLT):
    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Any:  # noqa: ARG003
        return cls()


class LosesItsRate(OnlinePLT):
    """Its predictions survive a file, but not how it goes on learning."""

    rate = 1.0

    def learn_many(self, X: Any, Y: Any, **options: Any) -> None:  # noqa: ARG002
        super().learn_many(X, Y, weights=[self.rate] * len(X))

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Any:
        loaded = super().load(path, **options)
        loaded.rate = 0.5
        return loaded


class OneByOne(OnlinePLT):
    """Learns the valid examples that come before a bad one."""

    def learn_many(self, X: Any, Y: Any, **options: Any) -> None:  # noqa: ARG002
        if len(X) != len(Y):
            raise ValueError(f"{len(X)} rows, {len(Y)} labels")
        for x, labels in zip(X, Y, strict=True):
            self.learn_one(x, labels)


class SkipsBadRows(OnlinePLT):
    def learn_one(self, x: Any, labels: Any, **options: Any) -> None:
        with suppress(ValueError):
            super().learn_one(x, labels, **options)


class RaisesAnything(OnlinePLT):
    def learn_one(self, x: Any, labels: Any, **options: Any) -> None:
        try:
            super().learn_one(x, labels, **options)
        except ValueError:
            raise KeyError(x) from None


class SaysNothing(OnlinePLT):
    def learn_one(self, x: Any, labels: Any, **options: Any) -> None:
        try:
            super().learn_one(x, labels, **options)
        except ValueError:
            raise ValueError from None


def unlike_each_other() -> Callable[[], OnlinePLT]:
    seeds = itertools.count()
    return lambda: OnlinePLT(policy="random", arity=2, max_leaves=2, seed=next(seeds))


@pytest.mark.parametrize(
    ("check", "make", "message"),
    [
        (testing.check_deterministic, unlike_each_other(), "learned the same 120 examples differ: label . of the"),
        (testing.check_cuts, Backward, "learned 10 examples and then the rest.* differs: label . of the prediction"),
        (testing.check_cuts, LearnsFromQuestions, "with predictions between, differs"),
        (testing.check_saved_and_loaded, ForgetsInFiles, "saved and loaded after 60 examples differs"),
        (testing.check_saved_and_loaded, LosesItsRate, "after 0 examples differs.* once both learned the rest"),
        (testing.check_bad_input, OneByOne, r"learn_many, last row None, was refused, but changed the learner"),
        (testing.check_bad_input, SkipsBadRows, r"learn_one\(None, .*\) was accepted, but should raise"),
        (testing.check_bad_input, RaisesAnything, r"learn_one\(None, .*\) raised a KeyError"),
        (testing.check_bad_input, SaysNothing, r"learn_one\(None, .*\) raised a ValueError without a message"),
    ],
)
def test_a_broken_learner_fails(check: Callable[..., None], make: Callable[[], OnlinePLT], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(make)


def test_all_checks_in_one_call_find_the_same() -> None:
    with pytest.raises(AssertionError, match="but changed the learner"):
        testing.check_learner(OneByOne)


def test_a_difference_that_predictions_do_not_show_is_found() -> None:
    """Two learners of one example each, whose predictions are equal."""
    settings = itertools.cycle([{}, {"label_memory": 511}])
    with pytest.raises(AssertionError, match="predictions for the examples are equal, but their fingerprints are not"):
        testing.check_deterministic(lambda: OnlinePLT(**next(settings)), [({"a": 1.0}, ["x"])])

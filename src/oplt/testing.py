# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Checks of what every online learner of this library guarantees, for tests of learners that wrap or extend one.

A check takes a function that makes an untrained learner. It returns None, or raises an AssertionError that says what
differs. `CHECKS` lists all of them, for ``pytest.mark.parametrize``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from oplt._typing import Label, Labels
from oplt.datasets import make_stream
from oplt.wording import briefly

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

__all__ = [
    "CHECKS",
    "Learner",
    "check_bad_input",
    "check_cuts",
    "check_deterministic",
    "check_learner",
    "check_saved_and_loaded",
]

_K = 10  # labels that are compared for each example
_N_CUTS = 12

Example: TypeAlias = tuple[Any, Labels]


class Learner(Protocol):
    """The methods that the checks call. If there is a `fingerprint`, as `OnlinePLT` has, it is compared as well.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> learner: Learner = OnlinePLT()
    """

    def learn_one(self, x: Any, labels: Labels, /) -> None:
        """Learn from one example."""

    def learn_many(self, X: Any, Y: Any, /) -> None:  # noqa: N803 (a matrix)
        """Learn from many examples in their order, with the same result as `learn_one` in a loop."""

    def predict_many(self, X: Any, /, k: int) -> Iterable[list[tuple[Label, float]]]:  # noqa: N803 (a matrix)
        """Return, for each example, `k` labels with their probabilities. The learner does not change."""

    def save(self, path: Path, /) -> object:
        """Write the learner to a file. Only `check_saved_and_loaded` calls it."""

    @classmethod
    def load(cls, path: Path, /) -> Self:
        """Read the learner from a file. Only `check_saved_and_loaded` calls it."""


Make: TypeAlias = Callable[[], Learner]


def check_learner(make: Make, examples: Iterable[Example] | None = None) -> None:
    """Run all checks on a learner.

    Parameters
    ----------
    make
        Makes an untrained learner.
    examples
        A short stream of (x, labels), at least four of them; if not given, features by name with lists of labels,
        among them examples without labels, and labels and features that keep emerging.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> check_learner(OnlinePLT)
    >>> check_learner(lambda: OnlinePLT(trees=2))

    A learner that takes texts needs examples of its own:

    >>> words = ["heap", "kernel", "script", "form", "log"]
    >>> examples = [(f"{a} in {b}", [a, b]) for a in words for b in words]
    >>> check_learner(lambda: OnlinePLT(features="text"), examples)
    """
    stream = _stream(examples)
    for check in CHECKS:
        check(make, stream)


def check_deterministic(make: Make, examples: Iterable[Example] | None = None) -> None:
    """Check that two learners that learn the same examples are equal.

    The parameters are those of `check_learner`.

    Examples
    --------
    >>> import itertools
    >>> from oplt import OnlinePLT
    >>> seeds = itertools.count()
    >>> check_deterministic(lambda: OnlinePLT(policy="random", seed=next(seeds)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: two learners that learned the same 120 examples differ: ...
    """
    stream = _stream(examples)
    what = f"two learners that learned the same {len(stream)} examples differ"
    _expect_equal(what, _learned(make(), stream), _learned(make(), stream), stream)


def check_cuts(make: Make, examples: Iterable[Example] | None = None) -> None:
    """Check that the result does not depend on how a stream is cut into calls, nor on predictions between the calls.

    Wherever the stream is cut in two, and if it is learned one by one, the learner equals one that has learned the
    whole stream in one call of `learn_many`.

    The parameters are those of `check_learner`.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> check_cuts(OnlinePLT)
    """
    stream = _stream(examples)
    whole = _learned(make(), stream)
    step = max(1, len(stream) // _N_CUTS)
    for cut in (*range(0, len(stream), step), len(stream)):
        parts = _learned(make(), stream[:cut])
        _predicted(parts, stream)
        what = f"a learner that learned {cut} examples and then the rest, with predictions between, differs"
        _expect_equal(what, _learned(parts, stream[cut:]), whole, stream)
    singly = make()
    for x, labels in stream:
        singly.learn_one(x, labels)
    _expect_equal("a learner that learned by learn_one instead of learn_many differs", singly, whole, stream)


def check_saved_and_loaded(make: Make, examples: Iterable[Example] | None = None) -> None:
    """Check that a saved and loaded learner equals the original, and continues to learn as the original does.

    It is saved untrained, in the middle of the stream and at its end, in a temporary folder.

    The parameters are those of `check_learner`.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> check_saved_and_loaded(OnlinePLT)
    """
    stream = _stream(examples)
    for cut in (0, len(stream) // 2, len(stream)):
        learner = _learned(make(), stream[:cut])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner"
            learner.save(path)
            loaded = type(learner).load(path)
            what = f"the learner that was saved and loaded after {cut} examples differs from the original"
            _expect_equal(what, loaded, learner, stream)
            rest = stream[cut:]
            _expect_equal(f"{what} once both learned the rest", _learned(loaded, rest), _learned(learner, rest), stream)


def check_bad_input(make: Make, examples: Iterable[Example] | None = None) -> None:
    """Check that bad examples are refused with a ValueError or TypeError, and leave the learner as it was.

    Bad are features that are not finite numbers, labels that are not names, and lists of different lengths. They are
    passed alone, and after examples that are valid: these must not be learned either.

    The parameters are those of `check_learner`.

    Examples
    --------
    >>> from oplt import OnlinePLT
    >>> check_bad_input(OnlinePLT)
    """
    stream = _stream(examples)
    half = len(stream) // 2
    learner, undisturbed = (_learned(make(), stream[:half]) for _ in range(2))
    for call, bad in _bad_calls(learner, stream[half:]).items():
        try:
            bad()
        except (ValueError, TypeError) as error:
            if not str(error):
                raise AssertionError(f"{call} raised a {type(error).__name__} without a message") from error
        except Exception as error:
            raise AssertionError(f"{call} raised a {type(error).__name__}, not a ValueError or TypeError") from error
        else:
            raise AssertionError(f"{call} was accepted, but should raise a ValueError or TypeError")
        _expect_equal(f"{call} was refused, but changed the learner", learner, undisturbed, stream)
    what = "a learner that refused bad examples learns the rest of the stream differently"
    rest = stream[half:]
    _expect_equal(what, _learned(learner, rest), _learned(undisturbed, rest), stream)


CHECKS: tuple[Callable[..., None], ...] = (check_deterministic, check_cuts, check_saved_and_loaded, check_bad_input)

_BAD_X = (None, {"a": float("nan")}, {"a": float("inf")}, {"a": "1"}, {None: 1.0})
_BAD_LABELS = (None, [None], 1.5, "")


def _bad_calls(learner: Learner, good: Sequence[Example]) -> dict[str, Callable[[], object]]:
    """Name calls with bad examples, alone and after good ones."""
    x, labels = good[0]
    X, Y = [x for x, _ in good], [labels for _, labels in good]  # noqa: N806 (matrices)
    calls: dict[str, Callable[[], object]] = {}
    for one in _BAD_X:
        calls[f"learn_one({one!r}, {briefly(labels)})"] = partial(learner.learn_one, one, labels)
        calls[f"learn_many, last row {one!r},"] = partial(learner.learn_many, [*X, one], [*Y, labels])
        calls[f"predict_many, last row {one!r},"] = partial(_predicted, learner, [*good, (one, labels)])
    for bad in _BAD_LABELS:
        calls[f"learn_one with the labels {bad!r}"] = partial(learner.learn_one, x, cast("Any", bad))
        calls[f"learn_many, last labels {bad!r},"] = partial(learner.learn_many, [*X, x], [*Y, bad])
    calls["learn_many with more rows than labels"] = partial(learner.learn_many, [*X, x], Y)
    calls["learn_many with more labels than rows"] = partial(learner.learn_many, X, [*Y, labels])
    return calls


def _stream(examples: Iterable[Example] | None) -> list[Example]:
    """Return the given examples, or generate some; each tenth has no labels."""
    if examples is not None:
        return list(examples)
    made = enumerate(make_stream(120, n_labels=30))
    return [(x, [] if number % 10 == 5 else labels) for number, (x, labels) in made]


def _learned(learner: Learner, stream: Sequence[Example]) -> Learner:
    learner.learn_many([x for x, _ in stream], [labels for _, labels in stream])
    return learner


def _predicted(learner: Learner, stream: Sequence[Example]) -> list[list[tuple[Label, float]]]:
    return [list(row) for row in learner.predict_many([x for x, _ in stream], k=_K)]


def _expect_equal(what: str, one: Learner, other: Learner, stream: Sequence[Example]) -> None:
    """Compare the predictions of two learners bit for bit, then their fingerprints, if they have any."""
    pairs = zip(_predicted(one, stream), _predicted(other, stream), strict=True)
    for row, (ours, theirs) in enumerate(pairs):
        if ours != theirs:
            place = next(i for i in range(_K) if ours[i : i + 1] != theirs[i : i + 1])
            got = f"{ours[place : place + 1]} and {theirs[place : place + 1]}"
            raise AssertionError(f"{what}: label {place} of the prediction for example {row} is {got}")
    if hasattr(one, "fingerprint") and one.fingerprint() != other.fingerprint():  # type: ignore[attr-defined]
        raise AssertionError(f"{what}: their predictions for the examples are equal, but their fingerprints are not")

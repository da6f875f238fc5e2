# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learning a stream: with a bar, with a look at how good predictions are, and ready to be interrupted."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from oplt.cli._console import OF_NO_USE
from oplt.cli._progress import Bar, bytes_as_text
from oplt.cli._stream import Stream
from oplt.metrics import Scores
from oplt.wording import number_of

if TYPE_CHECKING:
    from oplt.files import Batch
    from oplt.model import OnlinePLT

__all__ = ["Interrupted", "Lesson", "exit_if_of_no_use", "interruptible"]

# The first so many of each so many examples, but for the very first, when nothing is known, are predicted before they
# are learnt: enough to see how good the model is, for a few per cent of the time. Which ones depends on nothing but
# their place in the stream.
_TRIED = 32
_OF_EACH = 2048


class Interrupted(KeyboardInterrupt):
    """The user, or the system, has asked to stop."""

    def __init__(self, signum: int) -> None:
        super().__init__()
        self.exit_code = 128 + signum


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise `Interrupted`, wherever the program is. What is saved is saved atomically."""

    def interrupt(signum: int, _: FrameType | None) -> None:
        raise Interrupted(signum)

    both = (signal.SIGINT, signal.SIGTERM)
    heeded = [
        which for which in both if signal.getsignal(which) is not signal.SIG_IGN
    ]  # in the background, they are not
    before = {which: signal.signal(which, interrupt) for which in heeded}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


class Lesson:
    """A model that learns a stream, and what there is to tell about it."""

    def __init__(self, model: OnlinePLT) -> None:
        self.model = model
        self._n_before = model.n_examples
        self._scores = Scores(1)
        self._started = time.perf_counter()

    @property
    def n_learnt(self) -> int:
        """Examples learnt so far, in this run."""
        return self.model.n_examples - self._n_before

    @property
    def seconds(self) -> float:
        """Since the beginning of this run."""
        return time.perf_counter() - self._started

    @property
    def speed(self) -> float:
        """Examples a second."""
        return self.n_learnt / max(self.seconds, 1e-9)

    @property
    def precision(self) -> float:
        """P@1 of those that were predicted before they were learnt; NaN if none was."""
        return self._scores.precision(1)

    @property
    def n_tried(self) -> int:
        """How many these are."""
        return self._scores.n_examples

    def learn(self, batch: Batch, *, is_new: bool = True) -> None:
        """Learn a batch. Some of it may be predicted first, which changes nothing, unless it has been learnt before."""
        begin = 0
        while begin < len(batch):
            n_before = self.model.n_examples
            place = n_before % _OF_EACH
            is_first = place < _TRIED and n_before >= _OF_EACH
            part = batch.part(begin, begin + (_TRIED if is_first else _OF_EACH) - place)
            if is_first and is_new and not self.model.is_repeating:
                self._scores.add(self.model.predict_many(part.X, k=1), part.Y)
            self.model.learn_many(part.X, part.Y, weights=part.weights)
            begin += len(part)

    def show(self, bar: Bar, stream: Stream) -> None:
        """Tell how far it is, if somebody watches."""
        if bar.is_due:
            model = self.model
            words = [f"{model.n_examples:,} examples", f"{self.speed:,.0f}/s", f"{model.n_labels:,} labels"]
            words += [f"P@1 {self.precision:.3f}"] if self.n_tried else []
            bar.show(stream.share, ", ".join([*words, bytes_as_text(model.memory_bytes)]))

    def summary(self) -> str:
        """Say what was learnt, how fast, and how good it is."""
        model = self.model
        in_all = f", {model.n_examples:,} in all" if self._n_before else ""
        names = f"{number_of(model.n_labels, 'label')}, {number_of(model.n_features, 'feature')}"
        sizes = f"{names}, {bytes_as_text(model.memory_bytes)} of memory"
        speed = f"{self.seconds:.1f} s ({self.speed:,.0f} a second)"
        lines = [f"Learnt {number_of(self.n_learnt, 'example')} in {speed}{in_all}; {sizes}."]
        if self.n_tried:
            tried = number_of(self.n_tried, "example")
            each = f"{tried}, each predicted before it was learnt; a test set may differ"
            lines.append(f"Progressive P@1 {self.precision:.3f} ({each}).")
        return "\n".join(lines)

    def values(self) -> dict[str, object]:
        """Tell the same for --json."""
        model = self.model
        return {
            "examples": model.n_examples,
            "learnt": self.n_learnt,
            "labels": model.n_labels,
            "features": model.n_features,
            "seconds": round(self.seconds, 3),
            "P@1": self.precision,
            "tried": self.n_tried,
            "fingerprint": model.fingerprint(),
        }


def exit_if_of_no_use(model: OnlinePLT, n_bad: int) -> None:
    """Say so if a model that was saved can predict nothing that is worth it, and end with an exit code of its own."""
    why = _why_of_no_use(model, n_bad)
    if why is not None:
        click.echo(f"Warning: {why}", err=True)
        raise click.exceptions.Exit(OF_NO_USE)


def _why_of_no_use(model: OnlinePLT, n_bad: int) -> str | None:
    if model.n_labels == 0:
        return "The model has no labels: no example had any."
    if model.n_features == 0:
        return "The model has no features: no example had any, so it predicts the same labels for all."
    if model.n_labels == 1 and n_bad:
        were = "was" if n_bad == 1 else "were"
        return f"The model has a single label, and {number_of(n_bad, 'line')} {were} left out that may have had others."
    return None

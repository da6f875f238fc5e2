# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Learning from a stream, with a progress bar, progressive validation and handling of interruptions."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from oplt.cli._console import UNUSABLE
from oplt.cli._progress import Bar, bytes_as_text
from oplt.cli._stream import Stream
from oplt.metrics import Scores
from oplt.wording import number_of

if TYPE_CHECKING:
    from oplt.files import Batch
    from oplt.model import OnlinePLT

__all__ = ["Interrupted", "Updater", "exit_if_unusable", "interruptible"]

# Of every `_OF_EACH` examples, the first `_TRIED` are predicted before they are learned, except at the start of the
# stream: enough to estimate the precision, for a few percent of the time. Which ones depends only on their position.
_TRIED = 32
_OF_EACH = 2048


class Interrupted(KeyboardInterrupt):
    """Raised at Ctrl-C or SIGTERM."""

    def __init__(self, signum: int) -> None:
        super().__init__()
        self.exit_code = 128 + signum


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise `Interrupted` at any point. Saving is atomic, so no file is damaged."""

    def interrupt(signum: int, _: FrameType | None) -> None:
        raise Interrupted(signum)

    both = (signal.SIGINT, signal.SIGTERM)
    heeded = [which for which in both if signal.getsignal(which) is not signal.SIG_IGN]  # background jobs ignore them
    before = {which: signal.signal(which, interrupt) for which in heeded}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


class Updater:
    """Updates a model with a stream, and reports on it."""

    def __init__(self, model: OnlinePLT) -> None:
        self.model = model
        self._n_before = model.n_examples
        self._scores = Scores(1)
        self._started = time.perf_counter()

    @property
    def n_learnt(self) -> int:
        """Number of examples learned in this run so far."""
        return self.model.n_examples - self._n_before

    @property
    def seconds(self) -> float:
        """Seconds since the start of this run."""
        return time.perf_counter() - self._started

    @property
    def speed(self) -> float:
        """Examples per second."""
        return self.n_learnt / max(self.seconds, 1e-9)

    @property
    def precision(self) -> float:
        """P@1 of the examples that were predicted before they were learned; NaN if there are none."""
        return self._scores.precision(1)

    @property
    def n_tried(self) -> int:
        """Number of examples that were predicted before they were learned."""
        return self._scores.n_examples

    def learn(self, batch: Batch, *, is_new: bool = True) -> None:
        """Learn a batch. Some new examples are predicted first, which does not change the model."""
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
        """Update the progress bar if it is due."""
        if bar.is_due:
            model = self.model
            words = [f"{model.n_examples:,} examples", f"{self.speed:,.0f}/s", f"{model.n_labels:,} labels"]
            words += [f"P@1 {self.precision:.3f}"] if self.n_tried else []
            bar.show(stream.share, ", ".join([*words, bytes_as_text(model.memory_bytes)]))

    def summary(self) -> str:
        """Summarize what was learned, how fast, and the precision."""
        model = self.model
        in_all = f", {model.n_examples:,} in all" if self._n_before else ""
        names = f"{number_of(model.n_labels, 'label')}, {number_of(model.n_features, 'feature')}"
        sizes = f"{names}, {bytes_as_text(model.memory_bytes)} of memory"
        speed = f"{self.seconds:.1f} s ({self.speed:,.0f} a second)"
        lines = [f"Learned {number_of(self.n_learnt, 'example')} in {speed}{in_all}; {sizes}."]
        if self.n_tried:
            tried = number_of(self.n_tried, "example")
            each = f"{tried}, each predicted before it was learned; a test set may differ"
            lines.append(f"Progressive P@1 {self.precision:.3f} ({each}).")
        if model.closed_at is not None:
            lines.append(
                f"The model was closed after {number_of(model.closed_at, 'example')}, when it reached --max-memory:"
                " later examples updated it, but new labels and features were ignored."
            )
        return "\n".join(lines)

    def values(self) -> dict[str, object]:
        """Return the same figures for --json."""
        model = self.model
        return {
            "examples": model.n_examples,
            "learnt": self.n_learnt,
            "labels": model.n_labels,
            "features": model.n_features,
            "seconds": round(self.seconds, 3),
            "P@1": self.precision,
            "tried": self.n_tried,
            "closed_at": model.closed_at,
            "fingerprint": model.fingerprint(),
        }


def exit_if_unusable(model: OnlinePLT, n_bad: int) -> None:
    """Warn and exit with a special code if the saved model cannot make useful predictions."""
    why = _why_unusable(model, n_bad)
    if why is not None:
        click.echo(f"Warning: {why}", err=True)
        raise click.exceptions.Exit(UNUSABLE)


def _why_unusable(model: OnlinePLT, n_bad: int) -> str | None:
    if model.n_labels == 0:
        return "The model has no labels, because no example had any."
    if model.n_features == 0:
        return "The model has no features, because no example had any; it predicts the same labels for every input."
    if model.n_labels == 1 and n_bad:
        were = "was" if n_bad == 1 else "were"
        return f"The model has a single label, and {number_of(n_bad, 'line')} {were} skipped that may have had others."
    return None

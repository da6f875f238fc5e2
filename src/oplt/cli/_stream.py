# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The examples of several files, in one or more passes, as one stream."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from oplt.cli._console import WrongUsageError, note
from oplt.cli._hints import OR_SKIP, message_of
from oplt.cli._options import DataOptions
from oplt.errors import InvalidInputError
from oplt.wording import number_of

if TYPE_CHECKING:
    from oplt.files import Batch, Reader
    from oplt.predictor import Predictor

__all__ = ["STANDARD_INPUT", "Stream", "expect_kind", "expect_taken", "prediction", "report_bad_lines", "takes"]

STANDARD_INPUT = "-"

_SHOWN = 5  # bad lines
_MANY = 1 / 3  # a share of the lines that is probably skipped by mistake
_BATCH = 2048  # examples: few enough for smooth progress bars and punctual checkpoints


class Stream:
    """Batches of examples from files or standard input: at least one example, and either texts or features throughout.

    Parameters
    ----------
    paths, data, passes
        What to read, how to read it, and how many times.
    skip
        Number of examples to skip at the start, because they have already been learned.
    """

    def __init__(self, paths: tuple[str, ...], data: DataOptions, *, passes: int = 1, skip: int = 0) -> None:
        _check_paths(paths, passes)
        self.n_bad = 0
        self._n_good = 0
        self.is_first_pass = True
        self._errors: list[InvalidInputError] = []
        self._paths = paths
        self._data = data
        self._passes = passes
        self._skip = skip  # remaining examples to skip
        self._n_to_skip = skip
        self._kind: tuple[str, str] | None = None  # and the place where it was found
        self._reader: Reader | None = None
        self._size = 0  # bytes of the file that is being read
        self._n_done = 0  # bytes of those before it, in all passes
        self._sizes = [Path(path).stat().st_size if Path(path).is_file() else None for path in paths]

    @property
    def share(self) -> float | None:
        """Share of all bytes that has been read; None if unknown."""
        here = self._reader.share_read if self._reader else 0.0
        if here is None or None in self._sizes:
            return None
        return (self._n_done + here * self._size) / max(self._passes * sum(size or 0 for size in self._sizes), 1)

    def __iter__(self) -> Iterator[Batch]:
        n_of_a_pass = 0  # examples
        for number in range(self._passes):
            self.is_first_pass = number == 0
            if number and self._skip >= n_of_a_pass:  # a pass that has been learned completely is not read again
                self._skip -= n_of_a_pass
                self._n_done += sum(size or 0 for size in self._sizes)
                continue
            for path, size in zip(self._paths, self._sizes, strict=True):
                self._size = size or 0
                with self._data.read(path, batch=_BATCH) as self._reader:
                    yield from self._batches(self._reader)
                if number == 0:
                    n_of_a_pass += self._reader.n_examples
                    self.n_bad += self._reader.skipped.count
                    self._n_good = n_of_a_pass
                    self._errors += self._reader.skipped.errors
                self._reader = None
                self._n_done += self._size
        if self._skip and n_of_a_pass:
            raise InvalidInputError(
                "skip-beyond-end",
                f"the first {self._n_to_skip:,} examples should be skipped as already learned, but there are only"
                f" {self._n_to_skip - self._skip:,}",
                where=", ".join(map(_name, self._paths)),
                hint="Nothing was learned or saved.",
            )
        if not n_of_a_pass:
            why = f": {message_of(self._errors[0])}" if self._errors else ""
            raise InvalidInputError(
                "no-examples", f"there is no example{why}", where=", ".join(map(_name, self._paths))
            )

    def _batches(self, reader: Reader) -> Iterator[Batch]:
        for batch in reader:
            self._expect_one_kind(batch)
            n_skipped = min(self._skip, len(batch))
            self._skip -= n_skipped
            if n_skipped < len(batch):
                yield batch.part(n_skipped) if n_skipped else batch

    def _expect_one_kind(self, batch: Batch) -> None:
        kind, where = self._kind = self._kind or (batch.kind, batch.where(0))
        if batch.kind != kind:
            raise InvalidInputError(
                "texts-and-features-mixed",
                f"this is {_called(batch.kind)}, but {where} is {_called(kind)}",
                where=batch.where(0),
                hint="A model takes either texts or features; if examples have both, choose one with --use.",
            )

    def report_bad_lines(self) -> None:
        """Report how many lines were skipped, and the errors of the first ones."""
        report_bad_lines(self.n_bad, self._errors, self._n_good)


def report_bad_lines(n_bad: int, errors: list[InvalidInputError], n_good: int) -> None:
    """Report how many lines were skipped, and the errors of the first ones. Warn if they are many of all lines."""
    if n_bad:
        shown = [message_of(error).replace(OR_SKIP, "") for error in errors[:_SHOWN]]
        more = f"\n  and {n_bad - len(shown)} more" if n_bad > len(shown) else ""
        note(f"Skipped {number_of(n_bad, 'invalid line')}:\n  " + "\n  ".join(shown) + more)
    n = n_bad + n_good
    if n_bad >= _MANY * n > 0:
        note(f"Warning: {n_bad:,} of {number_of(n, 'line')} ({n_bad / n:.0%}) were skipped. Check the errors above.")


def prediction(model: Path, paths: tuple[str, ...], data: DataOptions, *further: str) -> str:
    """Write the command that predicts new examples of the same form."""
    new = STANDARD_INPUT if paths[0] == STANDARD_INPUT else "new" + "".join(Path(paths[0]).suffixes[-2:])
    return shlex.join(["oplt", "predict", str(model), new, *data.words(), *further])


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _called(kind: str) -> str:
    return "a text" if kind == "text" else "a row of features"


def _check_paths(paths: tuple[str, ...], passes: int) -> None:
    """Refuse unreadable input before any work is done."""
    for path in paths:
        if path == STANDARD_INPUT:
            if len(paths) > 1 or passes > 1:
                msg = "standard input (-) can only be read once and cannot be combined with files: pass files instead"
                raise WrongUsageError(msg)
        else:
            with Path(path).open("rb"):
                pass
            if passes > 1 and not Path(path).is_file():
                msg = f"{path} is a pipe, which can only be read once: pass a file for --passes {passes}"
                raise WrongUsageError(msg)


def takes(model: Predictor) -> str:
    """Return the kind of examples that a model takes."""
    return "text" if model.settings["features"] else "features"


def expect_kind(model: Predictor, path: Path, batch: Batch) -> None:
    """Refuse examples of the wrong kind."""
    expect_taken(takes(model), str(path), batch)


def expect_taken(kind: str, name: str, batch: Batch) -> None:
    """Refuse examples that are not of the kind that the model of this name takes."""
    if batch.kind != kind:
        own = "texts" if kind == "text" else "features"
        raise InvalidInputError(
            "model-takes-others",
            f"this is {_called(batch.kind)}, but the model {name} takes {own}",
            where=batch.where(0),
        )

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn`: go on with a saved model."""

from __future__ import annotations

import math
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from oplt.cli._checkpoint import Checkpoint, learn_command_of
from oplt.cli._console import command_line, is_quiet, note, print_json, quiet_option
from oplt.cli._learning import Interrupted, Lesson, exit_if_of_no_use, interruptible
from oplt.cli._lock import locked
from oplt.cli._options import (
    Command,
    DataOptions,
    Seconds,
    check_target,
    data_options,
    force_option,
    json_option,
    skip_option,
    threads_option,
)
from oplt.cli._progress import Bar
from oplt.cli._stream import STANDARD_INPUT, Stream, expect_kind
from oplt.errors import OpltError
from oplt.model import OnlinePLT
from oplt.wording import for_terminals, number_of

__all__ = ["command"]


@click.command("learn", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to save it, if not in MODEL.")
@force_option
@skip_option
@click.option(
    "--checkpoint",
    type=Seconds(),
    metavar="SECONDS",
    default=600,
    show_default=True,
    help="Save what has been learnt every N seconds: from standard input, to the model itself; from files, to"
    " FILE.partial, from which the same command goes on. 0: never.",
)
@click.option(
    "--wait",
    type=Seconds(),
    metavar="SECONDS",
    help="How long to wait while another command updates the model; 0: fail at once.  [default: until it has finished]",
)
@threads_option
@json_option
@quiet_option
@data_options()
def command(
    model_path: Path,
    data_paths: tuple[str, ...],
    out: Path | None,
    force: bool,
    skip: int,
    checkpoint: float,
    wait: float | None,
    threads: int,
    as_json: bool,
    data: DataOptions,
) -> None:
    """Go on with a saved model: learn more examples, with labels that it may never have seen.

    \b
      oplt learn tags.oplt today.jsonl
      tail -n +1 -f log.jsonl | oplt learn tags.oplt -
      oplt learn tags.oplt today.jsonl --out tags-new.oplt

    The model is replaced when all has been learnt; until then the old one stays. What comes from standard input cannot
    be read again: there the model is also saved every ten minutes (--checkpoint). At Ctrl-C or SIGTERM, what has been
    learnt is saved. While one command updates a model, others that would update it wait.
    """
    target = out or model_path
    in_place = target.resolve() == model_path.resolve()
    check_target(target, force=force or in_place, is_model=not in_place, inputs=() if in_place else data_paths)
    stream = Stream(data_paths, data, skip=skip)
    with interruptible(), locked(target, wait=math.inf if wait is None else wait):
        check_target(target, force=force or in_place, is_model=not in_place)  # it may have come while this one waited
        if STANDARD_INPUT in data_paths:
            learning: _Learning = _FromInput(model_path, target, checkpoint, threads, skip)
        else:
            kept = Checkpoint(target, learn_command_of(model_path, data_paths, data, skip), checkpoint)
            learning = _FromFiles(model_path, target, kept, threads, skip)
            if learning.n_done:
                stream = Stream(data_paths, data, skip=skip + learning.n_done)
        try:
            learning.run(stream)
        except Interrupted as interruption:
            learning.interrupted()
            raise click.exceptions.Exit(interruption.exit_code) from None
    stream.tell_bad_lines()
    lesson = learning.lesson
    note(f"{lesson.summary()}\nSaved in {target}.")
    if as_json:
        print_json({"model": str(target), **lesson.values(), "left_out": stream.n_bad})
    exit_if_of_no_use(lesson.model, stream.n_bad)


class _Learning:
    """From the model as it was to the model that has learnt all."""

    def __init__(self, model_path: Path, target: Path, model: OnlinePLT, skip: int, n_done: int = 0) -> None:
        self.n_done = n_done  # examples of this data that an earlier run has learnt
        self.lesson = Lesson(model)
        self._model_path = model_path
        self._target = target
        self._skip = skip

    def run(self, stream: Stream) -> None:
        """Learn all, then save."""
        raise NotImplementedError

    def _learn(self, stream: Stream) -> Iterator[None]:
        with Bar("Learning") as bar:
            for batch in stream:
                expect_kind(self.lesson.model, self._model_path, batch)
                self.lesson.learn(batch)
                self.lesson.show(bar, stream)
                yield

    def interrupted(self) -> None:
        """Save what has been learnt, and tell how to go on."""
        note(f"Interrupted after {self.lesson.n_learnt:,} examples; saving. Ctrl-C again stops at once.")
        self.lesson.model.save(self._target)
        note(f"Saved in {self._target}. To go on: {self._how_to_go_on()}")

    def _how_to_go_on(self) -> str:
        """Make the command that goes on: from what was saved, after what was learnt. Of two --skip, the last counts."""
        words = [str(self._target) if Path(word) == self._model_path else word for word in command_line()]
        n_learnt = self._skip + self.n_done + self.lesson.n_learnt
        return shlex.join(words if STANDARD_INPUT in words else [*words, "--skip", str(n_learnt)])


class _FromFiles(_Learning):
    """Files can be read again: what is learnt so far is kept beside the model, which stays as it is up to the end."""

    def __init__(self, model_path: Path, target: Path, checkpoint: Checkpoint, threads: int, skip: int) -> None:
        model = OnlinePLT.load(model_path, threads=threads)
        saved = checkpoint.load(threads)
        n_done = saved.n_examples - model.n_examples if saved else 0
        super().__init__(model_path, target, saved or model, skip, n_done)
        self._checkpoint = checkpoint
        if saved:
            n_saved = f"{number_of(n_done, 'example')} of this data {'is' if n_done == 1 else 'are'} learnt"
            note(f"Going on from {checkpoint.path}: {n_saved}; next, what comes after them.")

    def run(self, stream: Stream) -> None:
        for _ in self._learn(stream):
            if self._checkpoint.is_due():
                self._checkpoint.save(self.lesson.model)
                n_learnt = self.n_done + self.lesson.n_learnt
                note(f"{number_of(n_learnt, 'example')} learnt and saved in {self._checkpoint.path}.")
        self.lesson.model.save(self._target)
        self._checkpoint.remove()

    def interrupted(self) -> None:
        super().interrupted()
        self._checkpoint.remove()


class _FromInput(_Learning):
    """What has come through a pipe is gone: the model itself is saved from time to time, even while nothing comes."""

    def __init__(self, model_path: Path, target: Path, every: float, threads: int, skip: int) -> None:
        super().__init__(model_path, target, OnlinePLT.load(model_path, threads=threads), skip)
        self._every = every
        self._n_saved = 0
        self._is_quiet = is_quiet()  # which another thread cannot tell

    def run(self, stream: Stream) -> None:
        try:
            with self._saving():
                for _ in self._learn(stream):
                    pass
        except OpltError:
            n_lost = self.lesson.n_learnt - self._n_saved
            if self._n_saved:
                lost = f"; {n_lost:,} after them were learnt, but not saved" if n_lost else ""
                note(f"{self._target} has learnt the first {number_of(self._n_saved, 'example')}{lost}.")
            raise
        self.lesson.model.save(self._target)

    @contextmanager
    def _saving(self) -> Iterator[None]:
        if not self._every:
            yield
            return
        ended = threading.Event()
        saver = threading.Thread(target=self._save_until, args=[ended], daemon=True)
        saver.start()
        try:
            yield
        finally:
            ended.set()
            saver.join()

    def _save_until(self, ended: threading.Event) -> None:
        while not ended.wait(min(self._every, threading.TIMEOUT_MAX)):
            n_learnt = self.lesson.n_learnt  # the save has at least these
            if n_learnt == self._n_saved:
                continue
            try:
                self.lesson.model.save(self._target)
            except (OSError, OpltError) as error:
                self._say(f"Could not save {self._target}: {error}. Next try in {self._every:g} s.")
            else:
                self._n_saved = n_learnt
                self._say(f"{number_of(n_learnt, 'example')} learnt and saved in {self._target}.")

    def _say(self, message: str) -> None:
        if not self._is_quiet:
            click.echo(for_terminals(message), err=True)

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt learn`: update a saved model."""

from __future__ import annotations

import math
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from oplt.cli._checkpoint import Checkpoint, learn_command_of
from oplt.cli._console import WrongUsageError, command_line, is_quiet, note, print_json, quiet_option
from oplt.cli._from_stream import StreamOptions, learn_from_stream, refuse_without_stream, stream_options
from oplt.cli._learning import Interrupted, Updater, exit_if_unusable, interruptible
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
from oplt.cli._sending import send
from oplt.cli._served import check_served
from oplt.cli._server import (
    expect_argument,
    refuse_model,
    refuse_with_server,
    refuse_without_server,
    server_option,
    server_options,
)
from oplt.cli._stream import STANDARD_INPUT, Stream, expect_kind
from oplt.errors import OpltError
from oplt.model import OnlinePLT
from oplt.wording import for_terminals, number_of

__all__ = ["command"]


@click.command("learn", cls=Command)
@click.argument("model_path", metavar="MODEL", required=False, type=click.Path(path_type=Path))
@click.argument("data_paths", metavar="DATA...", nargs=-1, type=click.Path())
@click.option(
    "--out",
    "-o",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to save the updated model.  [default: MODEL]",
)
@force_option
@skip_option
@click.option(
    "--checkpoint",
    type=Seconds(),
    metavar="SECONDS",
    default=600,
    show_default=True,
    help="Save a checkpoint every N seconds; 0 disables it. When reading standard input, each checkpoint overwrites"
    " the model. With files, it goes to FILE.partial, and rerunning the same command resumes from there."
    " With --from, the default is 30.",
)
@click.option(
    "--wait",
    type=Seconds(),
    metavar="SECONDS",
    help="How long to wait while another command updates the model; 0 means fail immediately.  [default: no limit]",
)
@threads_option
@json_option
@quiet_option
@server_options("Send the examples to this server, which oplt serve has started; pass only DATA then, no MODEL.")
@server_option(
    "--key",
    metavar="NAME",
    help="A name for what is sent. The server does not learn the same file again, unless it is sent with another key."
    "  [default: none; examples from standard input always count]",
)
@stream_options
@data_options()
def command(
    model_path: Path | None,
    data_paths: tuple[str, ...],
    out: Path | None,
    force: bool,
    skip: int,
    checkpoint: float,
    wait: float | None,
    threads: int,
    as_json: bool,
    server: str | None,
    token_file: Path | None,
    key: str | None,
    streams: StreamOptions,
    data: DataOptions,
) -> None:
    """Update a saved model with more examples, whose labels may be new to it.

    \b
      oplt learn tags.oplt today.jsonl
      tail -n +1 -f log.jsonl | oplt learn tags.oplt -
      oplt learn tags.oplt today.jsonl --out tags-new.oplt
      oplt learn --server http://127.0.0.1:8000 today.jsonl
      oplt learn tags.oplt --from redis://localhost/tickets

    The model file is replaced once all examples have been learned; until then it stays unchanged. Standard input cannot
    be read twice, so when reading from it, the model is also saved every ten minutes (--checkpoint). On Ctrl-C or
    SIGTERM, the model is saved with the examples learned so far. Only one command at a time can update a model; a
    second oplt learn waits for the first to finish.

    With --server, an interrupted command can be repeated, also after a file has grown: examples that the server has
    already received from the same file are not learned again.

    With --from, the command runs until it is stopped, and saves the model every 30 seconds (--checkpoint). After any
    crash, the same command continues where the model was saved: each message is learned exactly once.
    """
    if streams.source is not None:
        expect_argument("model_path", model_path)
        assert model_path is not None  # noqa: S101 (checked just now)
        if data_paths:
            raise WrongUsageError(f"--from cannot be combined with DATA: {data_paths[0]}")
        learn_from_stream(model_path, streams, data, every=checkpoint, wait=wait, threads=threads, as_json=as_json)
        return
    refuse_without_stream()
    if server is not None:
        _send(_data_for_server(model_path, data_paths), data, skip, server, token_file, key, as_json=as_json)
        return
    refuse_without_server()
    expect_argument("model_path", model_path)
    expect_argument("data_paths", data_paths)
    assert model_path is not None  # noqa: S101 (checked just now)
    target = out or model_path
    in_place = target.resolve() == model_path.resolve()
    check_target(target, force=force or in_place, is_model=not in_place, inputs=() if in_place else data_paths)
    check_served(target, model_path)
    stream = Stream(data_paths, data, skip=skip)
    with interruptible(), locked(target, wait=math.inf if wait is None else wait):
        check_target(target, force=force or in_place, is_model=not in_place)  # may have been created while waiting
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
    stream.report_bad_lines()
    updater = learning.updater
    note(f"{updater.summary()}\nSaved in {target}.")
    if as_json:
        print_json({"model": str(target), **updater.values(), "left_out": stream.n_bad})
    exit_if_unusable(updater.model, stream.n_bad)


def _data_for_server(first: Path | None, others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files to send, and refuse what only a model file allows."""
    own = "the server keeps the model"
    refuse_with_server(out=own, force=own, checkpoint=own, wait=own, threads="the server chooses their number")
    expect_argument("data_paths", first)
    return (refuse_model(str(first)), *others)


def _send(
    paths: tuple[str, ...],
    data: DataOptions,
    skip: int,
    server: str,
    token_file: Path | None,
    key: str | None,
    *,
    as_json: bool,
) -> None:
    stream = Stream(paths, data, skip=skip)
    sent = send(stream, paths, server, token_file, key)
    stream.report_bad_lines()
    note(sent.summary())
    if as_json:
        print_json({**sent.values(), "left_out": stream.n_bad})


class _Learning:
    """One run of the command: from the saved model to the updated one."""

    def __init__(self, model_path: Path, target: Path, model: OnlinePLT, skip: int, n_done: int = 0) -> None:
        self.n_done = n_done  # examples of this data that an earlier run has already learned
        self.updater = Updater(model)
        self._model_path = model_path
        self._target = target
        self._skip = skip

    def run(self, stream: Stream) -> None:
        """Learn all examples, then save."""
        raise NotImplementedError

    def _learn(self, stream: Stream) -> Iterator[None]:
        with Bar("Learning") as bar:
            for batch in stream:
                expect_kind(self.updater.model, self._model_path, batch)
                self.updater.learn(batch)
                self.updater.show(bar, stream)
                yield

    def interrupted(self) -> None:
        """Save the model, and print the command that resumes."""
        note(f"Interrupted after {self.updater.n_learnt:,} examples; saving. Press Ctrl-C again to stop immediately.")
        self.updater.model.save(self._target)
        note(f"Saved in {self._target}. To resume, run: {self._how_to_resume()}")

    def _how_to_resume(self) -> str:
        """Make the command that resumes after the examples learned so far. The last --skip counts."""
        words = [str(self._target) if Path(word) == self._model_path else word for word in command_line()]
        n_learnt = self._skip + self.n_done + self.updater.n_learnt
        return shlex.join(words if STANDARD_INPUT in words else [*words, "--skip", str(n_learnt)])


class _FromFiles(_Learning):
    """Files can be read again: checkpoints are written beside the model, which changes only at the end."""

    def __init__(self, model_path: Path, target: Path, checkpoint: Checkpoint, threads: int, skip: int) -> None:
        model = OnlinePLT.load(model_path, threads=threads)
        saved = checkpoint.load(threads)
        n_done = saved.n_examples - model.n_examples if saved else 0
        super().__init__(model_path, target, saved or model, skip, n_done)
        self._checkpoint = checkpoint
        if saved:
            note(f"Resuming from {checkpoint.path}, after {number_of(n_done, 'example')} of this data.")

    def run(self, stream: Stream) -> None:
        for _ in self._learn(stream):
            if self._checkpoint.is_due():
                self._checkpoint.save(self.updater.model)
                n_learnt = self.n_done + self.updater.n_learnt
                note(f"{number_of(n_learnt, 'example')} learned and saved in {self._checkpoint.path}.")
        self.updater.model.save(self._target)
        self._checkpoint.remove()

    def interrupted(self) -> None:
        super().interrupted()
        self._checkpoint.remove()


class _FromInput(_Learning):
    """A pipe cannot be read again: the model itself is saved regularly, even while no input arrives."""

    def __init__(self, model_path: Path, target: Path, every: float, threads: int, skip: int) -> None:
        super().__init__(model_path, target, OnlinePLT.load(model_path, threads=threads), skip)
        self._every = every
        self._n_saved = 0
        self._is_quiet = is_quiet()  # not accessible from another thread

    def run(self, stream: Stream) -> None:
        try:
            with self._saving():
                for _ in self._learn(stream):
                    pass
        except OpltError:
            n_lost = self.updater.n_learnt - self._n_saved
            if self._n_saved:
                lost = f"; the updates from {n_lost:,} later ones are lost" if n_lost else ""
                note(f"{self._target} was last saved after {number_of(self._n_saved, 'example')}{lost}.")
            raise
        self.updater.model.save(self._target)

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
            n_learnt = self.updater.n_learnt  # the saved model includes at least these
            if n_learnt == self._n_saved:
                continue
            try:
                self.updater.model.save(self._target)
            except (OSError, OpltError) as error:
                why = (isinstance(error, OSError) and error.strerror) or error
                self._say(f"Could not save {self._target}: {why}. Next attempt in {self._every:g} s.")
            else:
                self._n_saved = n_learnt
                self._say(f"{number_of(n_learnt, 'example')} learned and saved in {self._target}.")

    def _say(self, message: str) -> None:
        if not self._is_quiet:
            click.echo(for_terminals(message), err=True)

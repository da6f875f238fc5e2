# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt train`: train a model from scratch."""

from __future__ import annotations

import shlex
from itertools import chain
from pathlib import Path

import click

from oplt.cli._checkpoint import Checkpoint, command_of
from oplt.cli._console import command_line, note, print_json, quiet_option
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
    threads_option,
)
from oplt.cli._progress import Bar, bytes_as_text
from oplt.cli._served import check_served
from oplt.cli._settings import ModelOptions, model_options
from oplt.cli._stream import STANDARD_INPUT, Stream, prediction

__all__ = ["command"]


@click.command("train", cls=Command)
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--model",
    "-m",
    "target",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to save the model.",
)
@force_option
@click.option(
    "--passes",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of passes over the data.",
)
@threads_option
@click.option(
    "--checkpoint",
    type=Seconds(),
    metavar="SECONDS",
    default=600,
    show_default=True,
    help="Save a checkpoint to FILE.partial every N seconds; rerunning the same command resumes from there. 0"
    " disables it.",
)
@click.option(
    "--save-on-interrupt/--no-save-on-interrupt",
    default=True,
    show_default=True,
    help="On Ctrl-C or SIGTERM, save a checkpoint to FILE.partial.",
)
@json_option
@quiet_option
@model_options
@data_options()
def command(
    data_paths: tuple[str, ...],
    target: Path,
    force: bool,
    passes: int,
    threads: int,
    checkpoint: float,
    save_on_interrupt: bool,
    as_json: bool,
    model_options: ModelOptions,
    data: DataOptions,
) -> None:
    """Train a model on examples.

    DATA is one or more files, read in the order given, or - for standard input.

    \b
      oplt train examples.jsonl --model tags.oplt
      oplt train part1.csv.gz part2.csv.gz --text-column title,abstract --model tags.oplt
      zcat logs.gz | oplt train - --format fasttext --model tags.oplt
      oplt train train.txt.xz --paper --passes 3 --model paper.oplt

    Examples are either texts or features, depending on the data. If the command is interrupted or the machine crashes,
    rerun the same command: it resumes from the last checkpoint and produces exactly the model of an uninterrupted run.

    The exit code is 3 if the model was saved but is unusable: no example had labels, no example had features, or there
    is only one label and --on-error skip has skipped lines.
    """
    check_target(target, force=force, is_model=True, inputs=data_paths)
    check_served(target)
    with interruptible(), locked(target):
        check_target(target, force=force, is_model=True)  # it may have been created in the meantime
        training = _Training(data_paths, data, passes, model_options, target, checkpoint, threads)
        try:
            training.run()
        except Interrupted as interruption:
            training.interrupted(save=save_on_interrupt)
            raise click.exceptions.Exit(interruption.exit_code) from None
    updater, stream = training.updater, training.stream
    stream.report_bad_lines()
    note(updater.summary())
    note(f"Saved in {target} ({bytes_as_text(target.stat().st_size)}). Now: {prediction(target, data_paths, data)}")
    if as_json:
        print_json({"model": str(target), **updater.values(), "left_out": stream.n_bad})
    exit_if_unusable(updater.model, stream.n_bad)


class _Training:
    """One run of the command: from the first example, or the last checkpoint, to the model."""

    def __init__(
        self,
        paths: tuple[str, ...],
        data: DataOptions,
        passes: int,
        options: ModelOptions,
        target: Path,
        every: float,
        threads: int,
    ) -> None:
        self._target = target
        self._is_saved = False
        self._from_input = paths == (STANDARD_INPUT,)
        self.stream = Stream(paths, data, passes=passes)
        self._batches = iter(self.stream)
        first = next(self._batches)
        self._checkpoint = Checkpoint(target, command_of(paths, data, passes, options, first.kind), every)
        saved = self._checkpoint.load(threads)
        self.updater = Updater(saved or options.make(first.kind, threads))
        if saved is None or self._from_input:
            self._batches = chain([first], self._batches)
        else:
            self.stream = Stream(paths, data, passes=passes, skip=saved.n_examples)
            self._batches = iter(self.stream)
        if saved is not None:
            rest = " Every example on standard input counts as new." if self._from_input else ""
            note(f"Resuming from {self._checkpoint.path}, after {saved.n_examples:,} examples.{rest}")

    def run(self) -> None:
        """Learn all examples, then save."""
        with Bar("Learning") as bar:
            for batch in self._batches:
                self.updater.learn(batch, is_new=self.stream.is_first_pass)
                self.updater.show(bar, self.stream)
                if self._checkpoint.is_due():
                    self._checkpoint.save(self.updater.model)
                    note(f"{self.updater.model.n_examples:,} examples learned and saved in {self._checkpoint.path}.")
        self.updater.model.save(self._target)
        self._is_saved = True
        self._checkpoint.remove()

    def interrupted(self, *, save: bool) -> None:
        """Save a checkpoint, and print the command that resumes."""
        n_examples = self.updater.model.n_examples
        if self._is_saved:
            self._checkpoint.remove()
            note(f"Interrupted, but training was complete and the model was saved in {self._target}.")
            return
        if not save:
            note(f"Interrupted after {n_examples:,} examples; nothing was saved.")
            return
        note(f"Interrupted after {n_examples:,} examples; saving. Press Ctrl-C again to stop immediately.")
        self._checkpoint.save(self.updater.model)
        what = "rerun the same command with the remaining examples" if self._from_input else "rerun the same command"
        note(f"Saved in {self._checkpoint.path}. To resume, {what}: {shlex.join(command_line())}")

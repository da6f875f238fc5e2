# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt progressive`: progressive validation (predict, then learn)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from oplt.cli._console import WrongUsageError, note, quiet_option
from oplt.cli._learning import Interrupted, exit_if_unusable, interruptible
from oplt.cli._lock import locked
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    json_option,
    skip_option,
)
from oplt.cli._reporting import Pace, reporter
from oplt.cli._served import check_served, note_if_served
from oplt.cli._settings import ModelOptions, model_options
from oplt.cli._stream import STANDARD_INPUT, Stream, expect_kind
from oplt.evaluate import progressive
from oplt.model import OnlinePLT

__all__ = ["command"]


@click.command("progressive", cls=Command)
@click.argument("data_paths", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--every", metavar="N", type=click.IntRange(min=1), default=1000, show_default=True, help="Report every N examples."
)
@click.option(
    "--window",
    metavar="N",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Also report metrics over the last N examples.",
)
@click.option(
    "--delay",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Simulate late labels: learn each example only after N more examples have been predicted.",
)
@click.option(
    "-k", metavar="N", type=click.IntRange(min=1), default=5, show_default=True, help="Number of labels to predict."
)
@click.option(
    "--model", "-m", "target", metavar="FILE", type=click.Path(path_type=Path), help="Save the model to this file."
)
@click.option("--from", "start", metavar="MODEL", type=click.Path(path_type=Path), help="Start from this saved model.")
@skip_option
@force_option
@partial(json_option, says="Print each report as one JSON line.")
@quiet_option
@model_options
@data_options()
def command(
    data_paths: tuple[str, ...],
    every: int,
    window: int,
    delay: int,
    k: int,
    target: Path | None,
    start: Path | None,
    skip: int,
    force: bool,
    as_json: bool,
    model_options: ModelOptions,
    data: DataOptions,
) -> None:
    """Evaluate a model on a stream: each example is predicted first, then learned (progressive validation).

    \b
      oplt progressive examples.jsonl
      oplt progressive examples.jsonl --delay 100 --model tags.oplt
      oplt progressive today.jsonl --from tags.oplt --json > today.reports.jsonl

    Every example serves both as a test example and as a training example. Examples are processed one by one on a single
    thread, so oplt train is faster. On Ctrl-C or SIGTERM with --model, the model is saved in its current state, and the
    command that resumes is printed.
    """
    if target is not None:
        check_target(target, force=force, is_model=True, inputs=data_paths)
    if start is not None and (model_options.preset or model_options.settings or model_options.text):
        msg = f"{start} already has its settings: --from cannot be combined with options that set those of a new model"
        raise WrongUsageError(msg)
    if target is not None:
        check_served(target, start)
    elif start is not None:
        note_if_served(start)
    stream = Stream(data_paths, data, skip=skip)
    with interruptible(), locked(target) if target is not None else nullcontext():
        if target is not None:
            check_target(target, force=force, is_model=True)  # it may have been created in the meantime
        model, examples = _begin(stream, start, model_options)
        n_before = model.n_examples
        started = time.perf_counter()
        try:
            with reporter(as_json=as_json, window=window) as shown:
                for report in progressive(model, examples, k=k, window=window, every=every, delay=delay):
                    seconds = time.perf_counter() - started
                    shown.show(report, Pace(report.n_examples, seconds, stream.share, model.memory_bytes))
        except Interrupted as interruption:
            n_learnt = model.n_examples - n_before
            note(f"Interrupted after {n_learnt:,} examples.")
            _save(model, target)
            if target is not None:
                note(f"To resume, run: {_how_to_resume(data_paths, data, target, skip + n_learnt)}")
            raise click.exceptions.Exit(interruption.exit_code) from None
        _save(model, target)
    stream.report_bad_lines()
    if target is not None:
        exit_if_unusable(model, stream.n_bad)


def _begin(stream: Stream, start: Path | None, options: ModelOptions) -> tuple[OnlinePLT, Iterator[tuple[Any, ...]]]:
    model = None if start is None else OnlinePLT.load(start)
    batches = iter(stream)
    first = next(batches, None)
    if first is None:
        msg = "--skip skips all examples: there is nothing to predict"
        raise WrongUsageError(msg)
    if model is None or start is None:
        model = options.make(first.kind, threads=1)
    else:
        expect_kind(model, start, first)
    return model, chain.from_iterable(chain([first], batches))


def _save(model: OnlinePLT, target: Path | None) -> None:
    if target is not None:
        model.save(target)
        note(f"Saved in {target}: {model.n_examples:,} examples, {model.n_labels:,} labels.")


def _how_to_resume(paths: tuple[str, ...], data: DataOptions, target: Path, n_learnt: int) -> str:
    """Make the command that resumes from the saved model, after the examples that it has learned."""
    skipping = [] if STANDARD_INPUT in paths else ["--skip", str(n_learnt)]
    model = ["--from", str(target), "--model", str(target), "--force"]
    return shlex.join(["oplt", "progressive", *paths, *model, *skipping, *data.words(with_labels=True)])

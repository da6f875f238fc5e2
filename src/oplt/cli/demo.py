# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt demo`: a model that learns from a stream in which new labels keep appearing."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from oplt import files
from oplt.cli import inspect, predict, tree
from oplt.cli._console import quiet_option
from oplt.cli._options import Command
from oplt.cli._progress import Bar
from oplt.datasets import make_stream
from oplt.evaluate import progressive
from oplt.model import OnlinePLT

__all__ = ["command"]

Stream = Iterator[tuple[dict[str, float], list[str]]]

_WINDOW = 2000  # examples
_N_NEW = 3  # examples that are predicted at the end

_BEGINNING = """\
A stream of examples. Each one is predicted before the model learns it, so precision is measured on unseen examples.
The model starts empty: no labels, no words, no tree.
"""
_COLUMNS = f" examples   labels    words  depth   P@1 total  P@1 of the last {_WINDOW:,}   examples/s"


@click.command("demo", cls=Command)
@click.option(
    "--examples",
    metavar="N",
    type=click.IntRange(min=1),
    default=30_000,
    show_default=True,
    help="Number of examples in the stream.",
)
@click.option(
    "--labels",
    metavar="N",
    type=click.IntRange(min=1),
    default=3_000,
    show_default=True,
    help="Number of labels by the end of the stream.",
)
@quiet_option
@click.pass_context
def command(ctx: click.Context, examples: int, labels: int) -> None:
    """Watch a model learn from a stream in which new labels keep appearing, then save, query and inspect it.

    \b
      oplt demo
      oplt demo --examples 100000 --labels 10000

    The stream is synthetic and the same every time. The model is saved in a new temporary directory, so that you can
    continue with it.
    """
    stream = make_stream(examples + _N_NEW, n_labels=labels, seed=1)
    click.echo(_BEGINNING)
    model = OnlinePLT()
    _learn(model, islice(stream, examples), examples)

    folder = Path(tempfile.mkdtemp(prefix="oplt-demo-"))
    path, new = folder / "demo.oplt", folder / "new.jsonl"
    model.save(path)
    new_examples = list(stream)
    files.write(new_examples, new)
    click.echo(f"\nSaved in {path}. The next {_N_NEW} examples of the stream, unseen by the model, are in {new}.")
    for _, true in new_examples:
        click.echo(f"  labels: {', '.join(sorted(true))}")

    sought = model.predict_one(new_examples[0][0], k=1)[0][0]
    _run(ctx, predict.command, path, new, "-k", 3)
    _run(ctx, inspect.command, path, "--top", 3)
    _run(ctx, tree.command, path, "--label", sought, "--children", 5)
    click.echo(
        f"\nTry next:\n  oplt tree {path} --out tree.html\n  oplt learn {path} {new}"
        "\n  oplt train --help    # for your own data"
    )


def _learn(model: OnlinePLT, stream: Stream, n_examples: int) -> None:
    """Predict each example, then learn from it; print ten lines."""
    click.echo(_COLUMNS)
    started = time.perf_counter()
    with Bar("Learning") as bar:
        watched = _watched(stream, n_examples, bar)
        for report in progressive(model, watched, k=1, every=max(n_examples // 10, 1), window=_WINDOW):
            speed = report.n_examples / (time.perf_counter() - started)
            click.echo(
                f"{report.n_examples:9,} {model.n_labels:8,} {model.n_features:8,} {model.depth:6}"
                f" {report.total['P@1']:11.3f} {report.window['P@1']:22.3f} {speed:12,.0f}"
            )


def _watched(stream: Stream, n_examples: int, bar: Bar) -> Stream:
    for number, example in enumerate(stream):
        if bar.is_due:
            bar.show(number / n_examples, f"{number:,} examples")
        yield example


def _run(ctx: click.Context, command: click.Command, *arguments: Any) -> None:
    """Print a command, then its output."""
    words = [str(argument) for argument in arguments]
    click.echo(f"\n$ oplt {shlex.join([str(command.name), *words])}")
    sys.stdout.flush()  # some commands write bytes directly, which would come first
    with command.make_context(command.name, words, parent=ctx) as own:
        command.invoke(own)

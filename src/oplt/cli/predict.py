# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt predict`: labels for new examples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from oplt.cli._console import WrongDataError, json_line, note, quiet_option
from oplt.cli._hints import HINTS
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    is_live,
    threads_option,
    threshold_option,
)
from oplt.cli._progress import Bar
from oplt.cli._stream import STANDARD_INPUT, expect_kind, takes, tell_bad_lines
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.plt import PLT

if TYPE_CHECKING:
    from oplt.files import Batch, Reader
    from oplt.predictions import Predictions

__all__ = ["command"]

_BATCH = 1024  # examples: few enough for `| head`, many enough for all threads


@click.command("predict", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_path", metavar="[DATA]", default=STANDARD_INPUT, type=click.Path())
@click.option(
    "-k",
    metavar="N",
    type=click.IntRange(min=1),
    help="At most so many labels.  [default: 5, if there is no --threshold]",
)
@threshold_option("Only labels with at least this probability.")
@click.option(
    "--beam",
    metavar="N",
    type=click.IntRange(min=1),
    help="Look only into so many nodes of each level of the tree: faster, less exact.",
)
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to write, if not to stdout.")
@force_option
@threads_option
@quiet_option
@data_options(with_labels=False)
def command(
    model_path: Path,
    data_path: str,
    k: int | None,
    threshold: Any,
    beam: int | None,
    out: Path | None,
    force: bool,
    threads: int,
    data: DataOptions,
) -> None:
    """Predict the labels of examples.

    DATA is a file, or - for standard input, which is read if there is no DATA. Labels in it are ignored.

    \b
      oplt predict tags.oplt new.jsonl > tagged.jsonl
      oplt predict tags.oplt new.csv -k 10 --threshold 0.2
      oplt predict tags.oplt new.csv --threshold tuned
      echo "Heap overflow in Linux" | oplt predict tags.oplt --format text
      tail -f log.jsonl | oplt predict tags.oplt

    For each example there is a line, in the same order: {"labels": ["kernel", "linux"], "probabilities": [0.9, 0.4]},
    most probable first. With --on-error skip it has the number of its "line", too. Answers to a pipe come at once.
    """
    if out is not None:
        check_target(out, force=force)
    model = PLT.load(model_path, threads=threads)
    if data_path == STANDARD_INPUT and sys.stdin.isatty():
        data = _at_a_terminal(model, data)
    with (
        _reader(data, data_path, model) as reader,
        _written(out, live=is_live(data_path)) as file,
        Bar("Predicting", wanted=out is not None or not sys.stdout.isatty()) as bar,  # answers tell how far it is
    ):
        for batch in reader:
            expect_kind(model, model_path, batch)
            found = model.predict_many(batch.X, k, threshold=threshold, beam=beam)
            file.write(_lines(found, batch, numbered=data.on_error == "skip"))
            file.flush()
            if bar.is_due:
                bar.show(reader.share_read, f"{reader.n_examples:,} examples")
    tell_bad_lines(reader.skipped.count, reader.skipped.errors)


def _at_a_terminal(model: PLT, data: DataOptions) -> DataOptions:
    """Who types is not asked for a format, if it can be texts."""
    is_text = data.format == "text" or (data.format is None and takes(model) == "text")
    note(f"Type {'a text' if is_text else 'an example'} a line; Ctrl-D ends.")
    return replace(data, format="text") if is_text else data


def _reader(data: DataOptions, path: str, model: PLT) -> Reader:
    try:
        return data.read(path, with_labels=False, batch=_BATCH)
    except InvalidInputError as error:
        if takes(model) == "text" and error.code == "format-not-told":
            hint = f"{HINTS[error.code]} Or, if each line is a text, --format text."
            raise WrongDataError(str(error.with_hint(hint))) from None
        raise


@contextmanager
def _written(out: Path | None, *, live: bool) -> Iterator[IO[bytes]]:
    """Open the output. A file takes its name when all is written, unless somebody may be waiting for each line."""
    if out is None:
        yield sys.stdout.buffer
    elif live:
        with out.open("wb") as file:
            yield file
    else:
        with replacing(out) as file:
            yield file


def _lines(found: Predictions, batch: Batch, *, numbered: bool) -> bytes:
    lines = []
    for row, number in zip(found, batch.numbers.tolist(), strict=True):
        values = {
            "labels": [label for label, _ in row],
            "probabilities": [round(probability, 6) for _, probability in row],
        }
        lines.append(json_line({"line": number, **values} if numbered else values))
    return b"".join(line + b"\n" for line in lines)

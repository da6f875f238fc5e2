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

from oplt.cli._answers import FORMATS, Answers, format_of
from oplt.cli._console import WrongDataError, note, quiet_option, standard_output
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
from oplt.compression import by_name
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.plt import PLT

if TYPE_CHECKING:
    from oplt.files import Reader

__all__ = ["command"]

_BATCH = 1024  # examples: few enough for `| head`, many enough for all threads


@click.command("predict", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_path", metavar="[DATA]", default=STANDARD_INPUT, type=click.Path())
@click.option(
    "-k",
    metavar="N",
    type=click.IntRange(min=1),
    help="At most N labels.  [default: 5, if there is no --threshold]",
)
@threshold_option("Only labels of at least this probability.")
@click.option(
    "--beam",
    metavar="N",
    type=click.IntRange(min=1),
    help="Look only into N nodes of each level of the tree: faster, less exact.",
)
@click.option("--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to write, if not to stdout.")
@click.option(
    "--to",
    "to_format",
    type=click.Choice(FORMATS),
    help="Format to write.  [default: by the suffix of --out (.jsonl, .csv, .tsv, .ft; also compressed, as in"
    " .csv.gz); jsonl if there is none]",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Fields or columns of the data to copy to the output, such as id,text.",
)
@click.option(
    "--to-separator",
    metavar="TEXT",
    default=DataOptions.separator,
    show_default=True,
    help="Between the labels of a cell of CSV or TSV, and between their probabilities.",
)
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
    to_format: str | None,
    to_separator: str,
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
      oplt predict tags.oplt new.csv --keep id,text --out tagged.csv
      tail -f log.jsonl | oplt predict tags.oplt

    For each example there is a line, in the same order: {"labels": ["kernel", "linux"], "probabilities": [0.9, 0.4]},
    most probable first. CSV and TSV have the columns labels and probabilities; fastText's lines look like
    "__label__kernel __label__linux", with the text behind them if it is kept. With --on-error skip an answer has the
    number of its line, too, but for fastText's. Answers to a pipe come at once.
    """
    keep = data.columns(with_labels=False).keep
    answers = Answers(to_format or format_of(out), keep, to_separator, numbered=data.on_error == "skip")
    if out is not None:
        check_target(out, force=force, inputs=[model_path, data_path])
    model = PLT.load(model_path, threads=threads)
    if data_path == STANDARD_INPUT and sys.stdin.isatty():
        data = _at_a_terminal(model, data)
    try:
        opened = _reader(data, data_path, model)
    except InvalidInputError as error:
        if error.code != "no-examples":
            raise
        with _written(out, live=is_live(data_path)) as file:
            file.write(answers.header())
        note("There is no example.")
        return
    with (
        opened as reader,
        _written(out, live=is_live(data_path)) as file,
        Bar("Predicting", wanted=out is not None or not sys.stdout.isatty()) as bar,  # answers tell how far it is
    ):
        file.write(answers.header())
        unseen = set(keep)
        for batch in reader:
            expect_kind(model, model_path, batch)
            found = model.predict_many(batch.X, k, threshold=threshold, beam=beam)
            file.write(answers.lines(found, batch))
            file.flush()
            unseen = {name for name in unseen if all(fields[name] is None for fields in batch.kept or [])}
            if bar.is_due:
                bar.show(reader.share_read, f"{reader.n_examples:,} examples")
    for name in sorted(unseen):
        note(f"No example has a value of {name!r}, which --keep names.")
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
        yield standard_output()
        return
    compression = by_name(out.name)
    with out.open("wb") if live else replacing(out) as file:
        if compression is None:
            yield file
        else:
            with compression.open(file, "wb") as compressed:
                yield compressed

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt predict`: predict labels for examples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from oplt._typing import Label
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
from oplt.cli._stream import STANDARD_INPUT, expect_kind, report_bad_lines, takes
from oplt.compression import by_name
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.plt import PLT
from oplt.wording import number_of

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
    help="Predict at most N labels per example.  [default: 5, or no limit with --threshold]",
)
@threshold_option("Predict only labels with at least this probability.")
@click.option(
    "--beam",
    metavar="N",
    type=click.IntRange(min=1),
    help="Beam width: explore only N nodes per level of the tree. Faster, but less exact.",
)
@click.option(
    "--allow",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Predict only labels that are listed in FILE, one per line.",
)
@click.option(
    "--deny",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Predict no label that is listed in FILE, one per line.",
)
@click.option(
    "--out", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Output file.  [default: standard output]"
)
@click.option(
    "--to",
    "to_format",
    type=click.Choice(FORMATS),
    help="Output format.  [default: by the suffix of --out (.jsonl, .csv, .tsv, .ft; also compressed, as in .csv.gz);"
    " jsonl if there is no suffix]",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME[,NAME...]",
    help="Input fields or columns to copy to the output, such as id,text.",
)
@click.option(
    "--to-separator",
    metavar="TEXT",
    default=DataOptions.separator,
    show_default=True,
    help="Separator between the labels, and between the probabilities, in a CSV or TSV cell.",
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
    allow: Path | None,
    deny: Path | None,
    out: Path | None,
    to_format: str | None,
    to_separator: str,
    force: bool,
    threads: int,
    data: DataOptions,
) -> None:
    """Predict labels for examples.

    DATA is a file, or - for standard input, which is the default. Labels in DATA are ignored.

    \b
      oplt predict tags.oplt new.jsonl > tagged.jsonl
      oplt predict tags.oplt new.csv -k 10 --threshold 0.2
      oplt predict tags.oplt new.csv --threshold tuned
      oplt predict tags.oplt new.csv --allow security-tags.txt
      echo "Heap overflow in Linux" | oplt predict tags.oplt --format text
      oplt predict tags.oplt new.csv --keep id,text --out tagged.csv
      tail -f log.jsonl | oplt predict tags.oplt

    The output has one line per example, in the order of the input, with the most probable label first:
    {"labels": ["kernel", "linux"], "probabilities": [0.9, 0.4]}. CSV and TSV output has the columns labels and
    probabilities. fastText output looks like "__label__kernel __label__linux", followed by the text with --keep text.
    With --on-error skip, each output line also has the line number of its example, except in fastText format. When
    reading from a pipe, predictions are written without waiting for a full batch.
    """
    keep = data.columns(with_labels=False).keep
    answers = Answers(to_format or format_of(out), keep, to_separator, numbered=data.on_error == "skip")
    if out is not None:
        check_target(out, force=force, inputs=[model_path, data_path])
    model = PLT.load(model_path, threads=threads)
    allowed, denied = (None if path is None else _listed(path, model) for path in (allow, deny))
    if data_path == STANDARD_INPUT and sys.stdin.isatty():
        data = _at_a_terminal(model, data)
    try:
        opened = _reader(data, data_path, model)
    except InvalidInputError as error:
        if error.code != "no-examples" or data_path != STANDARD_INPUT:  # a pipe may bring nothing
            raise
        with _written(out, live=is_live(data_path)) as file:
            file.write(answers.header())
        note("There is no example.")
        return
    with (
        opened as reader,
        _written(out, live=is_live(data_path)) as file,
        Bar("Predicting", wanted=out is not None or not sys.stdout.isatty()) as bar,  # else the output shows progress
    ):
        file.write(answers.header())
        unseen = set(keep)
        for batch in reader:
            expect_kind(model, model_path, batch)
            found = model.predict_many(batch.X, k, threshold=threshold, beam=beam, allow=allowed, deny=denied)
            file.write(answers.lines(found, batch))
            file.flush()
            unseen = {name for name in unseen if all(fields[name] is None for fields in batch.kept or [])}
            if bar.is_due:
                bar.show(reader.share_read, f"{reader.n_examples:,} examples")
    for name in sorted(unseen):
        note(f"--keep {name}: no example has a value in this field.")
    report_bad_lines(reader.skipped.count, reader.skipped.errors)


def _listed(path: Path, model: PLT) -> list[Label]:
    labels = model.labels.read(path)
    if not any(label in model.labels for label in labels):
        note(f"{path}: the model knows none of these {number_of(len(labels), 'label')}.")
    return labels


def _at_a_terminal(model: PLT, data: DataOptions) -> DataOptions:
    """Assume texts for a model of texts, so that an interactive user need not pass a format."""
    is_text = data.format == "text" or (data.format is None and takes(model) == "text")
    note(f"Type one {'text' if is_text else 'example'} per line; press Ctrl-D to end.")
    return replace(data, format="text") if is_text else data


def _reader(data: DataOptions, path: str, model: PLT) -> Reader:
    try:
        return data.read(path, with_labels=False, batch=_BATCH)
    except InvalidInputError as error:
        if takes(model) == "text" and error.code == "format-not-told":
            hint = f"{HINTS[error.code]} If each line is a text, pass --format text."
            raise WrongDataError(str(error.with_hint(hint))) from None
        raise


@contextmanager
def _written(out: Path | None, *, live: bool) -> Iterator[IO[bytes]]:
    """Open the output. A file appears under its name when it is complete, except for live input."""
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

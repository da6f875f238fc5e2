# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt predict`: predict labels for examples."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import click

from oplt._typing import Label
from oplt.cli._answers import FORMATS, Answers, format_of
from oplt.cli._console import WrongDataError, WrongUsageError, note, quiet_option, standard_output
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
from oplt.cli._served import note_if_served
from oplt.cli._server import (
    MOST_LABELS,
    Server,
    expect_argument,
    refuse_model,
    refuse_with_server,
    refuse_without_server,
    server_options,
)
from oplt.cli._stream import STANDARD_INPUT, expect_taken, report_bad_lines, takes
from oplt.compression import by_name
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.plt import PLT
from oplt.wording import number_of

if TYPE_CHECKING:
    from typing_extensions import Self  # part of Python since 3.11

    from oplt.files import Batch, Reader
    from oplt.predictions import Predictions

__all__ = ["command"]

_BATCH = 1024  # examples: few enough for `| head`, many enough for all threads


@click.command("predict", cls=Command)
@click.argument("model_path", metavar="MODEL", required=False, type=click.Path(path_type=Path))
@click.argument("data_path", metavar="[DATA]", required=False, type=click.Path())
@click.option(
    "-k",
    metavar="N",
    type=click.IntRange(min=1),
    help="Predict at most N labels per example.  [default: 5, or no limit with --threshold]",
)
@click.option("--text", metavar="TEXT", help="Predict labels for this text, instead of the examples of DATA.")
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
@server_options("Predict with the model of this server, which oplt serve has started; pass only DATA then, no MODEL.")
@data_options(with_labels=False)
def command(
    model_path: Path | None,
    data_path: str | None,
    k: int | None,
    text: str | None,
    threshold: Any,
    beam: int | None,
    allow: Path | None,
    deny: Path | None,
    out: Path | None,
    to_format: str | None,
    to_separator: str,
    force: bool,
    threads: int,
    server: str | None,
    token_file: Path | None,
    data: DataOptions,
) -> None:
    """Predict labels for examples.

    DATA is a file, or - for standard input, which is the default; --text replaces it. Labels in DATA are ignored.

    \b
      oplt predict tags.oplt --text "Heap overflow in Linux"
      oplt predict tags.oplt new.jsonl > tagged.jsonl
      oplt predict tags.oplt new.csv -k 10 --threshold 0.2
      oplt predict tags.oplt new.csv --threshold tuned
      oplt predict tags.oplt new.csv --allow security-tags.txt
      head -n 9 texts.txt | oplt predict tags.oplt --format text
      oplt predict tags.oplt new.csv --keep id,text --out tagged.csv
      tail -f log.jsonl | oplt predict tags.oplt
      oplt predict --server http://127.0.0.1:8000 new.jsonl

    The output has one line per example, in the order of the input, with the most probable label first:
    {"labels": ["kernel", "linux"], "probabilities": [0.9, 0.4]}. CSV and TSV output has the columns labels and
    probabilities. fastText output looks like "__label__kernel __label__linux", followed by the text with --keep text.
    With --on-error skip, each output line also has the line number of its example, except in fastText format. When
    reading from a pipe, predictions are written without waiting for a full batch.
    """
    keep = data.columns(with_labels=False).keep
    answers = Answers(to_format or format_of(out), keep, to_separator, numbered=data.on_error == "skip")
    if server is None:
        refuse_without_server()
        expect_argument("model_path", model_path)
        path = data_path or STANDARD_INPUT
    else:
        path = _data_for_server(model_path, data_path, k, threshold)
    if text is not None:
        if path != STANDARD_INPUT:
            msg = "--text cannot be combined with DATA: pass either a text or a file"
            raise WrongUsageError(msg)
        path, data = "--text", _OneText(text=text, keep=data.keep)
    if out is not None:
        check_target(out, force=force, inputs=[*([model_path] if model_path else []), path])
    if server is None and model_path is not None:
        note_if_served(model_path)
    source: _Source = _Local(model_path, threads) if server is None and model_path else Server(str(server), token_file)
    with source:
        allowed, denied = (None if file is None else source.listed(file) for file in (allow, deny))
        question: dict[str, Any] = {"threshold": threshold, "allow": allowed, "deny": denied}
        question |= {} if beam is None else {"beam": beam}
        _predict(source, path, data, out, answers, lambda batch: source.predict(batch, k, **question))


@dataclass(frozen=True)
class _OneText(DataOptions):
    """Reads one text, which was passed on the command line."""

    text: str = ""

    def read(self, path: str, *, with_labels: bool = True, batch: int | None = None) -> Reader:  # noqa: ARG002
        """Read it as if it were the line of a file."""
        from oplt.files import read

        line = io.BytesIO(json.dumps({"text": self.text}).encode())
        return read(line, format="jsonl", columns=self.columns(with_labels=with_labels))


class _Local:
    """A model of a file, as `Server` is one of a server."""

    def __init__(self, path: Path, threads: int) -> None:
        self.address = str(path)
        self._model = PLT.load(path, threads=threads)
        self.takes = takes(self._model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def predict(self, batch: Batch, k: int | None, **options: Any) -> Predictions:
        """Predict the labels of a batch."""
        return self._model.predict_many(batch.X, k, **options)

    def listed(self, path: Path) -> list[Label]:
        """Read a list of labels."""
        labels = self._model.labels.read(path)
        if not any(label in self._model.labels for label in labels):
            note(f"{path}: the model knows none of these {number_of(len(labels), 'label')}.")
        return labels


_Source: TypeAlias = "_Local | Server"


def _data_for_server(first: Path | None, second: str | None, k: int | None, threshold: Any) -> str:
    """Return what to predict with a server, and refuse what only a model file allows."""
    refuse_with_server(beam="the server chooses the beam width", threads="the server chooses the number of threads")
    path = refuse_model(STANDARD_INPUT if first is None else str(first))
    if second is not None:
        msg = f"with --server, one DATA is passed and no MODEL, got {path} and {second}"
        raise WrongUsageError(msg)
    if threshold == "tuned":
        msg = "--threshold tuned cannot be combined with --server: pass a probability"
        raise WrongUsageError(msg)
    if k is not None and k > MOST_LABELS:
        msg = f"-k: a server predicts at most {MOST_LABELS:,} labels per example, got {k}"
        raise WrongUsageError(msg)
    return path


def _predict(
    source: _Source,
    path: str,
    data: DataOptions,
    out: Path | None,
    answers: Answers,
    predict: Callable[[Batch], Iterable[Any]],
) -> None:
    """Predict all examples, and write the answers."""
    if path == STANDARD_INPUT and sys.stdin.isatty():
        data = _at_a_terminal(source.takes, data)
    live = is_live(path) and not isinstance(data, _OneText)
    try:
        opened = _reader(data, path, source.takes)
    except InvalidInputError as error:
        if error.code != "no-examples" or path != STANDARD_INPUT:  # a pipe may bring nothing
            raise
        with _written(out, live=live) as file:
            file.write(answers.header())
        note("There is no example.")
        return
    with (
        opened as reader,
        _written(out, live=live) as file,
        Bar("Predicting", wanted=out is not None or not sys.stdout.isatty()) as bar,  # else the output shows progress
    ):
        file.write(answers.header())
        unseen = set(answers.keep)
        for batch in reader:
            if source.takes is not None:
                expect_taken(source.takes, source.address, batch)
            file.write(answers.lines(predict(batch), batch))
            file.flush()
            unseen = {name for name in unseen if all(fields[name] is None for fields in batch.kept or [])}
            if bar.is_due:
                bar.show(reader.share_read, f"{reader.n_examples:,} examples")
    for name in sorted(unseen):
        note(f"--keep {name}: no example has a value in this field.")
    report_bad_lines(reader.skipped.count, reader.skipped.errors, reader.n_examples)


def _at_a_terminal(kind: str | None, data: DataOptions) -> DataOptions:
    """Assume texts for a model of texts, so that an interactive user need not pass a format."""
    is_text = data.format == "text" or (data.format is None and kind == "text")
    note(f"Type one {'text' if is_text else 'example'} per line; press Ctrl-D to end.")
    return replace(data, format="text") if is_text else data


def _reader(data: DataOptions, path: str, kind: str | None) -> Reader:
    try:
        return data.read(path, with_labels=False, batch=_BATCH)
    except InvalidInputError as error:
        if kind == "text" and error.code == "format-not-told":
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

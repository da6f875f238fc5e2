# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt explain`: explain a prediction."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from oplt.cli._console import WrongUsageError, note, print_json, quiet_option, say
from oplt.cli._options import Command, DataOptions, check_target, data_options, force_option, json_option
from oplt.cli._served import note_if_served
from oplt.cli._stream import STANDARD_INPUT, expect_kind
from oplt.errors import InvalidInputError
from oplt.persistence import replacing
from oplt.plt import PLT
from oplt.wording import number_of

__all__ = ["command"]


@click.command("explain", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data_path", metavar="[DATA]", default=STANDARD_INPUT, type=click.Path())
@click.option("--text", metavar="TEXT", help="Explain the prediction for this text, instead of an example of DATA.")
@click.option(
    "--example",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Explain the prediction for example N of DATA.",
)
@click.option("--label", metavar="NAME", help="Label to explain, predicted or not.  [default: the most probable label]")
@click.option(
    "--top",
    "n",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of features in each list.",
)
@click.option(
    "--html",
    "out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a page instead, with the words of the text colored by their contributions.",
)
@json_option
@force_option
@quiet_option
@data_options(with_labels=False)
def command(
    model_path: Path,
    data_path: str,
    text: str | None,
    number: int,
    label: str | None,
    n: int,
    out: Path | None,
    as_json: bool,
    force: bool,
    data: DataOptions,
) -> None:
    """Explain why a label is predicted for an example, or why it is not.

    DATA is a file, or - for standard input, which is the default; --text replaces it. The output shows the path to the
    label in each tree, with the features that pushed its probability up or down at each node, the evidence of the label
    memory, how the ranking weighs both, and how the label compares with the best one.

    \b
      oplt explain tags.oplt --text "Heap overflow in Linux"
      oplt explain tags.oplt --text "Heap overflow in Linux" --label kernel
      oplt explain tags.oplt new.jsonl --example 7 --html why.html
      oplt explain tags.oplt new.csv --json | jq .memory.cosine
    """
    if text is not None and (data_path != STANDARD_INPUT or number != 1):
        msg = "--text cannot be combined with DATA or --example: pass either a text or a file"
        raise WrongUsageError(msg)
    if out is not None and as_json:
        msg = "--html and --json cannot be combined: --html writes a page, --json prints the result"
        raise WrongUsageError(msg)
    if out is not None:
        check_target(out, force=force, inputs=[model_path, data_path])
    if not as_json:
        note_if_served(model_path)
    model = PLT.load(model_path)
    x = _example(model, model_path, data_path, number, data) if text is None else text
    found = model.explain(x, None if label is None else model.labels.called(label))
    if out is not None:
        with replacing(out) as file:
            file.write(found.to_html(2 * n).encode())
        note(f"Wrote {out}.")
    elif as_json:
        print_json(found.to_dict())
    else:
        say(found.to_text(n))


def _example(model: PLT, model_path: Path, path: str, number: int, data: DataOptions) -> Any:
    if path == STANDARD_INPUT and sys.stdin.isatty():
        msg = "there is no example to explain: pass --text TEXT, or a file and --example N"
        raise WrongUsageError(msg)
    n_read = 0
    with data.read(path, with_labels=False) as reader:
        for batch in reader:
            expect_kind(model, model_path, batch)
            if number <= n_read + len(batch):
                begin = number - 1 - n_read
                return next(iter(batch.part(begin, begin + 1)))[0]
            n_read += len(batch)
    raise InvalidInputError(
        "no-such-example",
        f"there is no example {number:,}",
        where="standard input" if path == STANDARD_INPUT else path,
        got=number_of(n_read, "example"),
        hint="Examples are counted from 1.",
    )

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt convert`: convert examples from one format to another."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oplt.cli._console import WrongUsageError, note, print_json, quiet_option, standard_output
from oplt.cli._hints import FORMATS, message_of
from oplt.cli._options import (
    Command,
    DataOptions,
    check_target,
    data_options,
    force_option,
    json_option,
)
from oplt.cli._progress import Bar
from oplt.files import convert
from oplt.wording import number_of

__all__ = ["command"]

STANDARD_OUTPUT = "-"


@click.command("convert", cls=Command)
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@click.option(
    "--to",
    "to_format",
    type=click.Choice([name for name in FORMATS if name != "parquet"]),
    help="Format of OUT.  [default: by its suffix]",
)
@click.option(
    "--to-separator",
    metavar="TEXT",
    default=DataOptions.separator,
    show_default=True,
    help="Separator between the labels in a CSV or TSV cell of OUT.",
)
@force_option
@json_option
@quiet_option
@data_options(format_options=("--from", "--format"))
def command(
    source: str,
    target: str,
    to_format: str | None,
    to_separator: str,
    force: bool,
    as_json: bool,
    data: DataOptions,
) -> None:
    """Convert examples from one file format to another, or change their compression.

    IN and OUT are files, or - for standard input and output. OUT is compressed if its name ends in .gz, .bz2, .xz or
    .zst.

    \b
      oplt convert train.csv train.jsonl.gz
      oplt convert posts.parquet posts.ft --text-column title,body
      zcat train.vw.gz | oplt convert - train.txt --from vw --to xmlc
      oplt convert train.txt.xz - --to jsonl | head

    Features can be converted between xmlc, jsonl and vw; texts between jsonl, csv, tsv and fasttext. An example that
    the target format cannot represent is an error; use --on-error skip to skip it. OUT appears only when the conversion
    is complete.
    """
    if as_json and target == STANDARD_OUTPUT:
        msg = "--json cannot be combined with examples on standard output: write OUT to a file"
        raise WrongUsageError(msg)
    if not to_separator:
        msg = "--to-separator must not be empty"
        raise WrongUsageError(msg)
    if target != STANDARD_OUTPUT:
        check_target(Path(target), force=force, inputs=[source])
    with Bar("Converting") as bar:
        done = convert(
            source,
            target if target != STANDARD_OUTPUT or to_format is None else standard_output(),
            from_format=data.format,
            to_format=to_format,
            on_error="skip" if data.on_error == "skip" else "raise",
            columns=data.columns(),
            separator=to_separator,
            on_batch=lambda reader: bar.show(reader.share_read, f"{reader.n_examples:,} examples"),
        )
    if target == STANDARD_OUTPUT:
        sys.stdout.flush()  # keeps the order if both streams go to the same place
    if done.n_skipped:
        note("\n  ".join([f"Skipped {number_of(done.n_skipped, 'example')}:", *map(message_of, done.errors[:5])]))
    where = "standard output" if target == STANDARD_OUTPUT else target
    note(f"{number_of(done.n_examples, 'example')} written to {where}.")
    if as_json:
        print_json({"out": target, "examples": done.n_examples, "left_out": done.n_skipped})

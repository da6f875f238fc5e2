# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt regrow`: build a better tree from all examples of a model."""

from __future__ import annotations

from pathlib import Path

import click

from oplt.cli._console import quiet_option
from oplt.cli._options import Command, force_option, json_option, threads_option
from oplt.cli._rebuilding import out_option, rebuild
from oplt.model import OnlinePLT
from oplt.wording import number_of

__all__ = ["command"]


@click.command("regrow", cls=Command)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@out_option
@force_option
@threads_option
@json_option
@quiet_option
def command(model_path: Path, out: Path | None, force: bool, threads: int, as_json: bool) -> None:
    """Build a better tree from all examples that a model has learned, and train it on them again.

    \b
      oplt regrow tags.oplt
      oplt regrow tags.oplt --out tags-new.oplt

    A model regrows its tree by itself whenever the number of its examples has doubled. This command does it now, for
    example after the last examples of a stream. The model must have a history (see oplt train --history).
    """

    def change(model: OnlinePLT) -> str:
        model.regrow()
        return f"Regrew the tree from {number_of(model.n_examples, 'example')}"

    rebuild(change, model_path, out, force=force, threads=threads, as_json=as_json)

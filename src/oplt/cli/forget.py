# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""`oplt forget`: remove examples from a model, exactly."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oplt.cli._console import WrongUsageError, quiet_option
from oplt.cli._options import Command, force_option, json_option, threads_option
from oplt.cli._rebuilding import out_option, rebuild
from oplt.cli._stream import STANDARD_INPUT
from oplt.model import OnlinePLT
from oplt.wording import number_of

__all__ = ["command"]


class _CommandWithNumbers(Command):
    """A command that reports a negative number as such. Click would report an option that does not exist."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)  # the parser empties the list
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.lstrip("-").isdigit():  # of -17, it is -1
                raise _no_number(next(word for word in given if word.startswith(error.option_name))) from None
            raise


def _no_number(word: str) -> WrongUsageError:
    return WrongUsageError(f"the number of an example must be an integer of at least 0, got {word!r}")


@click.command("forget", cls=_CommandWithNumbers)
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True)
@out_option
@force_option
@threads_option
@json_option
@quiet_option
def command(
    model_path: Path, numbers: tuple[str, ...], out: Path | None, force: bool, threads: int, as_json: bool
) -> None:
    """Forget examples: afterwards, the model is exactly the one that never learned them.

    \b
      oplt forget tags.oplt 17 23
      oplt forget tags.oplt - < numbers.txt

    Examples are numbered from 0 in the order in which the model learned them. Headers and skipped lines do not count;
    an example that was learned in two passes has two numbers. A dash (-) reads numbers from standard input, separated
    by blanks or line breaks. All other examples are learned again, which takes about as long as it did the first time;
    oplt regrow must be called again, too. The examples after a forgotten one then have lower numbers. The model must
    have a history (see oplt train --history).
    """
    words = sys.stdin.read().split() if numbers == (STANDARD_INPUT,) else list(numbers)
    wrong = next((word for word in words if not (word.isascii() and word.isdigit())), None)
    if wrong is not None:
        raise _no_number(wrong)
    if not words:
        msg = "there are no numbers on standard input"
        raise WrongUsageError(msg)
    chosen = {int(word) for word in words}

    def change(model: OnlinePLT) -> str:
        model.forget(chosen)
        return f"Forgot {number_of(len(chosen), 'example')}"

    rebuild(change, model_path, out, force=force, threads=threads, as_json=as_json)

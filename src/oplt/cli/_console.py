# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""What commands say, and where: results to standard output, everything else to standard error."""

from __future__ import annotations

import difflib
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oplt.errors import InvalidParameterError, OpltError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "INTERRUPTED",
    "NOBODY_READS",
    "PYTHON_TO_OPTIONS",
    "console",
    "is_quiet",
    "note",
    "print_json",
    "quiet_option",
    "telling_errors",
]

WRONG_DATA = 1
WRONG_USAGE = 2
INTERRUPTED = 130  # 128 and the number of the signal, as shells have it
NOBODY_READS = 141

_QUIET = "oplt.quiet"

# The library tells what to do in Python; here it is an option.
PYTHON_TO_OPTIONS = {
    "give format= one of": "give --format one of",
    "give a format, one of": "give --format or --to one of",
    "if labels are not wanted, use labels=None": "if it is another one, give --labels-column",
    "give columns=Columns(text=..., features=[...])": "give --text-column, or --features-column for numbers",
    "say which is wanted by text=None or features=None": "give --use text or --use features",
    "say what holds the text or the features by text= or features=": "give --text-column or --features-column",
}


class _OneLineError(click.ClickException):
    """What went wrong, in a line: `Error: ...`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def quiet_option(command: Any) -> Any:
    """Give a command the option --quiet."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 (as Click has it)
        ctx.meta[_QUIET] = value

    return click.option(
        "--quiet",
        "-q",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Say nothing but results and errors.",
    )(command)


def is_quiet() -> bool:
    """Tell whether the command was given --quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def note(message: str) -> None:
    """Say something that is not a result."""
    if not is_quiet():
        click.echo(message, err=True)


def console(*, stderr: bool = False) -> Console:
    """Make what draws tables and bars. It knows about terminals, NO_COLOR and FORCE_COLOR."""
    from rich.console import Console  # only where it is needed: it takes a while to import

    return Console(stderr=stderr, highlight=False)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object in a line. What is not defined (NaN) is null: JSON has no other name for it."""
    click.echo(json.dumps(_without_nan(values), ensure_ascii=False))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def telling_errors() -> Iterator[None]:
    """Tell a user's mistake in one line, with the exit code that it has. Ours are tracebacks."""
    try:
        yield
        sys.stdout.flush()  # not at the interpreter's end, when nobody could tell that nobody reads it
    except BrokenPipeError:
        _forget_output()
        raise click.exceptions.Exit(NOBODY_READS) from None
    except KeyboardInterrupt:
        note("Interrupted.")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except InvalidParameterError as error:
        raise _OneLineError(_in_options(error), WRONG_USAGE) from None
    except OpltError as error:
        raise _OneLineError(_in_options(error), WRONG_DATA) from None
    except OSError as error:
        raise _OneLineError(_of_system(error), WRONG_DATA) from None
    except MemoryError as error:
        raise _OneLineError(f"out of memory: {error}" if str(error) else "out of memory", WRONG_DATA) from None


def _forget_output() -> None:
    """Send what is still in buffers nowhere: flushing them at the end would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _in_options(error: Exception) -> str:
    message = str(error)
    for python, option in PYTHON_TO_OPTIONS.items():
        message = message.replace(python, option)
    return message


def _of_system(error: OSError) -> str:
    if not error.filename:
        return error.strerror or str(error)
    path = Path(os.fsdecode(error.filename))
    if isinstance(error, IsADirectoryError):
        return f"{path}: this is a folder, but a file is needed"
    if isinstance(error, FileNotFoundError) and path.parent.is_dir():
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
        return f"{path}: there is no such file" + (f"; did you mean {path.with_name(near[0])}?" if near else "")
    return f"{path}: {error.strerror}"

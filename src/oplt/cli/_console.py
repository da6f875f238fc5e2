# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Output of the commands: results go to standard output, everything else to standard error."""

from __future__ import annotations

import difflib
import io
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from oplt.cli._hints import message_of, message_of_warning
from oplt.errors import InvalidParameterError, OpltError, OpltWarning
from oplt.wording import for_terminals, on_one_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "COMMAND_LINE",
    "DATA_OR_TEXT",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "UNUSABLE",
    "WrongDataError",
    "WrongUsageError",
    "command_line",
    "console",
    "is_quiet",
    "json_line",
    "note",
    "print_json",
    "quiet_option",
    "reporting_errors",
    "say",
    "showing_what_was_typed",
    "standard_output",
    "without_nan",
]

UNUSABLE = 3  # the model has no labels, no features, or a single label after lines were skipped
INTERRUPTED = 130  # 128 + the number of the signal, as in shells
PIPE_CLOSED = 141

COMMAND_LINE = "oplt.command-line"
DATA_OR_TEXT = "oplt.data-or-text"  # the DATA of a command that also takes --text
_QUIET = "oplt.quiet"


class _OneLineError(click.ClickException):
    """An error that is printed as one line, `Error: ...`, whatever names and texts it quotes."""

    def format_message(self) -> str:
        return on_one_line(self.message)


class WrongDataError(_OneLineError):
    """The data or the model is invalid."""

    exit_code = 1


class WrongUsageError(_OneLineError):
    """The command line is invalid. Click's own error would print three more lines."""

    exit_code = 2


def quiet_option(command: Any) -> Any:
    """Add the option --quiet to a command."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[_QUIET] = value

    return click.option(
        "--quiet",
        "-q",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print only results and errors.",
    )(command)


def is_quiet() -> bool:
    """Check whether --quiet was passed."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def command_line() -> list[str]:
    """Return the words that the user typed."""
    return list(click.get_current_context().meta[COMMAND_LINE])


def note(message: str) -> None:
    """Print a message that is not a result to standard error."""
    if not is_quiet():
        click.echo(for_terminals(message), err=True)


def say(text: str) -> None:
    """Print one or more lines of a human-readable result."""
    click.echo(for_terminals(text))


def console(*, stderr: bool = False) -> Console:
    """Make a Rich console for tables and bars. It respects NO_COLOR and FORCE_COLOR."""
    from rich.console import Console  # imported lazily because it is slow

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled by `reporting_errors`; Rich would exit with its own code

    return Piped(stderr=stderr, highlight=False)


def print_json(values: dict[str, Any]) -> None:
    """Print a JSON object on one line. Undefined values (NaN) become null, since JSON has no NaN."""
    click.echo(json_line(without_nan(values)))


def json_line(value: Any) -> bytes:
    """Format JSON as UTF-8, whatever the terminal's encoding.

    Unpaired surrogates, which UTF-8 cannot represent, and terminal control characters are escaped. JSON parsers read
    the same value.
    """
    return _UNSAFE.sub(_escaped, json.dumps(value, ensure_ascii=False, default=str)).encode()


# DEL and C1; bidirectional marks and overrides; line separators that are not JSON's; invisible tags.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def standard_output() -> IO[bytes]:
    """Return the stream for results. On a terminal, control characters are escaped."""
    return cast("IO[bytes]", _Terminal()) if sys.stdout.isatty() else sys.stdout.buffer


class _Terminal(io.RawIOBase):
    """Writes bytes of text to a terminal with control characters escaped."""

    def writable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        sys.stdout.buffer.write(for_terminals(bytes(content).decode(errors="backslashreplace")).encode())
        return len(content)

    def flush(self) -> None:
        sys.stdout.buffer.flush()


def without_nan(value: Any) -> Any:
    """Replace NaN and infinities by None, at any depth."""
    if isinstance(value, dict):
        return {name: without_nan(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _nowhere(mode: str = "w") -> IO[Any]:
    return Path(os.devnull).open(mode, encoding="utf-8")


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Report a user's mistake in one line, with its exit code. Our own bugs stay tracebacks."""
    # Streams are None in Python if the shell closed them, as `<&-` does.
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    try:
        with _reporting_warnings(), showing_what_was_typed():
            yield
        sys.stdout.flush()  # here, so that a closed pipe is noticed before the interpreter exits
    except BrokenPipeError:
        _forget(sys.stdout, sys.stderr)
        raise click.exceptions.Exit(PIPE_CLOSED) from None
    except KeyboardInterrupt as interruption:
        note("Interrupted.")
        raise click.exceptions.Exit(getattr(interruption, "exit_code", INTERRUPTED)) from None
    except InvalidParameterError as error:
        raise WrongUsageError(message_of(error)) from None
    except OpltError as error:
        raise WrongDataError(message_of(error)) from None
    except OSError as error:
        if error.filename is None:
            _forget(sys.stdout)  # a full disk, most likely
        raise WrongDataError(_of_system(error)) from None
    except MemoryError:
        msg = "out of memory. Free some memory, or run the command on a machine that has more."
        raise WrongDataError(msg) from None


@contextmanager
def _reporting_warnings() -> Iterator[None]:
    """Print each kind of warning once, on one line, however often the data is read."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not isinstance(message, OpltWarning):
            shown_before(message, category, *place, **more)
        elif message.code not in shown:
            shown.add(message.code)
            note(f"Warning: {message_of_warning(message)}")

    with warnings.catch_warnings():
        shown_before = warnings.showwarning
        warnings.simplefilter("always", OpltWarning)
        warnings.showwarning = show
        yield


# Click's messages about numbers, and plainer wording for them.
_IN_WORDS = [
    (re.compile(r"is not a valid integer( range)?\."), "is not a whole number."),
    (re.compile(r"is not a valid float( range)?\."), "is not a number."),
    (re.compile(r"(\S+) is not in the range x>=(\S+)\."), r"it must be at least \2, not \1."),
    (re.compile(r"(\S+) is not in the range (\S+)<=x<=(\S+)\."), r"it must be from \2 to \3, not \1."),
]


@contextmanager
def showing_what_was_typed() -> Iterator[None]:
    """Escape control characters in Click's errors, which quote the command line."""
    try:
        yield
    except click.UsageError as error:
        message = error.message
        for found, words in _IN_WORDS:
            message = found.sub(words, message)
        error.message = for_terminals(message)  # type: ignore[misc]  # final only by annotation
        raise


def _forget(*streams: IO[str]) -> None:
    """Discard what is still in the buffers: flushing it at exit would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _of_system(error: OSError) -> str:
    if not error.filename:
        return error.strerror or str(error)
    path = Path(os.fsdecode(error.filename))
    advice = _if_text(path)
    if isinstance(error, IsADirectoryError):
        return f"{path}: this is a folder, but a file is needed"
    if isinstance(error, FileNotFoundError) and path.parent.is_dir():
        near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.8)
        return f"{path}: there is no such file" + (f"; did you mean {path.with_name(near[0])}?" if near else advice)
    return f"{path}: {error.strerror}{advice}"


def _if_text(path: Path) -> str:
    """Advise those who pass a text where a command takes a file."""
    context = click.get_current_context(silent=True)
    may_be = context is not None and context.meta.get(DATA_OR_TEXT) == str(path)
    return ". If it is a text, pass it with --text" if may_be else ""

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Options that several commands share, and help that groups options in sections."""

from __future__ import annotations

import csv
import errno
import hashlib
import math
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from oplt.cli._console import COMMAND_LINE, DATA_OR_TEXT, WrongDataError, WrongUsageError
from oplt.cli._hints import FORMATS
from oplt.wording import briefly

if TYPE_CHECKING:
    from oplt.files import Columns, Reader

__all__ = [
    "Command",
    "DataOptions",
    "Option",
    "Seconds",
    "beside",
    "check_target",
    "data_options",
    "force_option",
    "is_given",
    "is_live",
    "json_option",
    "refuse_with",
    "skip_option",
    "threads_option",
    "threshold_option",
]

Decorated = Callable[..., Any]

_LONGEST_NAME = 240  # bytes; most systems allow 255, and temporary files have longer names

_LABEL_FIELDS = ("labels_column", "weight_column", "separator")  # not needed where labels are not read


class Option(click.Option):
    """An option that belongs to a section of the help."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Seconds(click.FloatRange):
    """A number of seconds, possibly infinite."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a number; refuse NaN."""
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return seconds


class Command(click.Command):
    """A command whose help groups options in sections, the most important first."""

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse empty file names, which would mean the current directory, and remember what may be a text."""
        empty = {""} if "." in ctx.meta.get(COMMAND_LINE, []) else {"", Path()}
        for param in self.get_params(ctx):
            given = ctx.params.get(param.name or "")
            names = given if isinstance(given, tuple) else (given,)
            if isinstance(param.type, click.Path) and empty.intersection(names):
                name = param.opts[0] if isinstance(param, click.Option) else param.make_metavar(ctx)
                msg = f"{name}: the file name is empty. Is a shell variable unset?"
                raise WrongUsageError(msg)
        if "text" in ctx.params:
            ctx.meta[DATA_OR_TEXT] = ctx.params.get("data_path")
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Format the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


@dataclass(frozen=True)
class DataOptions:
    """How examples are read: the options of `data_options`."""

    format: str | None = None
    text_column: tuple[str, ...] = ()
    features_column: str | None = None
    number_columns: tuple[str, ...] = ()
    labels_column: str | None = None
    weight_column: str | None = None
    separator: str = ";"
    use: str | None = None
    on_error: str = "stop"
    keep: tuple[str, ...] = ()

    def words(self, *, with_labels: bool = False) -> list[str]:
        """List the options needed to read more examples of the same form: those that differ from the defaults."""
        found: list[str] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default and (with_labels or field.name not in _LABEL_FIELDS):
                name = "feature_columns" if field.name == "number_columns" else field.name
                option = f"--{name.replace('_', '-')}"
                values = value if isinstance(value, tuple) else (value,)
                found += [word for one in values for word in (option, one)]
        return found

    def columns(self, *, with_labels: bool = True) -> Columns:
        """Convert to the argument of `oplt.files`."""
        from oplt.files import Columns

        texts, numbers = _split(self.text_column), _split(self.number_columns)
        if numbers and self.features_column is not None:
            msg = "--features-column and --feature-columns cannot be combined: features are in one column or in several"
            raise WrongUsageError(msg)
        labels: Any = self.labels_column or Columns.labels
        return Columns(
            text=None if self.use == "features" else (texts or Columns.text),
            features=None if self.use == "text" else (numbers or self.features_column or Columns.features),
            labels=labels if with_labels else None,
            weight=self.weight_column or (None if Columns.weight in (*texts, *numbers) else Columns.weight),
            separator=self.separator,
            keep=tuple(dict.fromkeys(_split(self.keep))),
        )

    def read(self, path: str, *, with_labels: bool = True, batch: int | None = None) -> Reader:
        """Read a file or standard input. Input from a pipe or a terminal is processed as it arrives."""
        from oplt.files import read

        size = {} if batch is None else {"batch": batch}
        return read(
            path,
            format=self.format,
            on_error="skip" if self.on_error == "skip" else "raise",
            columns=self.columns(with_labels=with_labels),
            live=is_live(path),
            **size,
        )


def is_live(path: str) -> bool:
    """Check whether the input may arrive slowly: from a pipe or a terminal."""
    return path == "-" or not Path(path).is_file()


def _split(names: tuple[str, ...]) -> list[str]:
    try:
        return [name for row in csv.reader(names, skipinitialspace=True) for name in row if name]
    except csv.Error:
        msg = f"not a comma-separated list of names: {briefly(', '.join(names))}"
        raise WrongUsageError(msg) from None


def _option(*names: str, **kwargs: Any) -> Callable[[Any], Any]:
    return click.option(*names, cls=Option, section="How to read the data", **kwargs)


_DETECTED = "  [default: detected from content and file name]"

_OF_EXAMPLES = [
    _option(
        "--text-column",
        multiple=True,
        metavar="NAME[,NAME...]",
        help="Field or column with the text; several are joined. Quote a name that contains a comma, as in CSV."
        "  [default: text]",
    ),
    _option(
        "--features-column",
        metavar="NAME",
        help="JSONL field or Parquet column that maps feature names to values.  [default: features]",
    ),
    _option(
        "--feature-columns",
        "--number-columns",
        "number_columns",
        multiple=True,
        metavar="NAME[,NAME...]",
        help="Columns to use as features: numbers, or lists of numbers such as embeddings. String columns are allowed"
        " together with a text column and are treated as categories.",
    ),
    _option(
        "--use",
        type=click.Choice(["text", "features"]),
        help="Which one to use if examples have both a text and features.",
    ),
    _option(
        "--on-error",
        type=click.Choice(["stop", "skip"]),
        default=DataOptions.on_error,
        show_default=True,
        help="On an invalid line: stop with an error, or skip the line and report how many were skipped.",
    ),
]

_OF_LABELS = [
    _option(
        "--labels-column",
        metavar="NAME",
        help="Field or column with the labels.  [default: labels or label]",
    ),
    _option(
        "--separator",
        metavar="TEXT",
        default=DataOptions.separator,
        show_default=True,
        help="Separator between the labels in a CSV or TSV cell.",
    ),
    _option(
        "--weight-column",
        metavar="NAME",
        help="Field or column with the weight of each example.  [default: weight]",
    ),
]


def data_options(
    *, with_labels: bool = True, format_options: tuple[str, ...] = ("--format",)
) -> Callable[[Decorated], Decorated]:
    """Add the options for reading data to a command, which receives them as one object, `data`."""
    if with_labels:
        formats = [
            _option(*format_options, "format", type=click.Choice(FORMATS), help=f"Format of the data.{_DETECTED}")
        ]
    else:
        known = click.Choice(("text", *FORMATS))
        formats = [
            _option(
                *format_options,
                "format",
                type=known,
                help=f"Format of the data; text means one text per line.{_DETECTED}",
            )
        ]
    options = [*formats, *(_OF_LABELS if with_labels else []), *_OF_EXAMPLES]

    def decorate(function: Decorated) -> Decorated:
        @wraps(function)
        def packed(*args: Any, **kwargs: Any) -> Any:
            own = {field.name: kwargs.pop(field.name) for field in fields(DataOptions) if field.name in kwargs}
            return function(*args, data=DataOptions(**own), **kwargs)

        decorated: Decorated = packed
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def threads_option(function: Decorated) -> Decorated:
    """Add the option --threads to a command."""
    return click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        default=lambda: os.cpu_count() or 1,
        show_default="all cores",
        help="Number of threads; it does not affect the result.",
    )(function)


class _Threshold(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic only in newer versions of Click
    """A probability, or the word `tuned`."""

    name = "threshold"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "tuned":
            return value
        try:
            return click.FloatRange(0, 1).convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is neither a number from 0 to 1 nor the word tuned.", param, ctx)


def threshold_option(says: str) -> Callable[[Decorated], Decorated]:
    """Add the option --threshold to a command."""
    return click.option(
        "--threshold",
        metavar="P|tuned",
        type=_Threshold(),
        help=f"{says} tuned: use the thresholds that oplt tune has saved with the model.",
    )


def json_option(function: Decorated, says: str = "Print the result as one JSON object.") -> Decorated:
    """Add the option --json to a command."""
    return click.option("--json", "as_json", is_flag=True, help=says)(function)


def skip_option(function: Decorated) -> Decorated:
    """Add the option --skip to a command."""
    return click.option(
        "--skip",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        help="Skip the first N examples, because the model has already learned them.",
    )(function)


def force_option(function: Decorated) -> Decorated:
    """Add the option --force to a command."""
    return click.option("--force", "-f", is_flag=True, help="Overwrite an existing file.")(function)


def is_given(name: str) -> bool:
    """Check whether an option, given by the name of its parameter, was passed on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_with(other: str, **reasons: str) -> None:
    """Refuse options, given by the names of their parameters, that were passed together with another one."""
    for parameter in click.get_current_context().command.params:
        why = reasons.get(parameter.name or "")
        if why and is_given(parameter.name or ""):
            raise WrongUsageError(f"{max(parameter.opts, key=len)} cannot be combined with {other}: {why}")


def beside(target: Path, suffix: str) -> Path:
    """Name a file that accompanies another one. If the name would be too long, it is a digest instead."""
    name = f"{target.name}{suffix}"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".oplt-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}{suffix}"
    return target.with_name(name)


def check_target(path: Path, *, force: bool, is_model: bool = False, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a target that exists, is also an input, or is not writable, before hours of work are spent on it."""
    if path.is_file() and any(Path(read).is_file() and path.samefile(read) for read in inputs):
        msg = f"{path} is an input of this command and would be overwritten by its output: choose another name"
        raise WrongUsageError(msg)
    if path.is_dir() and is_model:
        msg = f"{path}: this is a folder, but a file is needed. Pass a file name, such as {path / 'tags.oplt'}"
        raise WrongDataError(msg)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.is_file() and not force:
        msg = f"{path} already exists: choose another name, or pass --force to overwrite it"
        raise WrongUsageError(msg)
    if path.is_file() and is_model:
        _expect_model(path)
    if path.exists() and not path.is_file():  # a pipe or a device
        if is_model:
            msg = f"{path} is not a regular file: a model cannot be saved there"
            raise WrongUsageError(msg)
        return
    folder = path.absolute().parent
    if not folder.exists():
        msg = f"{folder}: there is no such folder"
        raise WrongDataError(msg)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"{folder}: cannot write to this folder: {error.strerror}"
        raise WrongDataError(msg) from None


def _expect_model(path: Path) -> None:
    """Let --force overwrite models only, as the library does, so that no other file is lost by accident."""
    from oplt.persistence import MODEL

    with path.open("rb") as file:
        if file.read(len(MODEL.magic)) != MODEL.magic:
            msg = f"{path} is not an oplt model, so --force does not overwrite it: choose another name or remove it"
            raise WrongUsageError(msg)

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Writing examples, and converting between formats."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from oplt.compression import by_name
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.files import _fasttext, _jsonl, _table, _vw, _xmlc
from oplt.files._examples import Batch, Columns, Example, Problems, as_features, as_label_list, as_text_with
from oplt.files._formats import checked, of_name
from oplt.files._reader import Reader, read
from oplt.persistence import replacing
from oplt.validation import TEXT, as_weight, holds_text, plain_names
from oplt.wording import briefly

__all__ = ["Converted", "convert", "write"]

Target = str | os.PathLike[str] | IO[bytes]
Write = Callable[[Example], str]

_WRITABLE = ("xmlc", "jsonl", "csv", "tsv", "fasttext", "vw")


class Converted(NamedTuple):
    r"""The result of `convert`: the number of examples written, and the lines skipped, with their first errors.

    Examples
    --------
    >>> lines = io.BytesIO(b"__label__cat it purrs\n__label__ it barks\n")
    >>> convert(lines, io.BytesIO(), to_format="csv", on_error="skip")[:2]
    (1, 1)
    """

    n_examples: int
    n_skipped: int
    errors: list[InvalidInputError]


def write(
    examples: Iterable[Any],
    target: Target,
    *,
    format: str | None = None,  # noqa: A002 (it is one)
    separator: str = ";",
) -> int:
    r"""Write examples to a file.

    Reading the file again gives the same examples, except for what a format cannot distinguish: labels of CSV, TSV and
    fastText come back as strings; names in Vowpal Wabbit files that are whole numbers come back as integers; line
    breaks in a text become spaces in fastText. Values are preserved; those of XMLC are rounded to float32. What a
    format cannot represent is an error: texts in XMLC and Vowpal Wabbit, features in fastText, CSV and TSV, names in
    XMLC that are not numbers, weights in XMLC and fastText, whitespace in labels of fastText.

    Parameters
    ----------
    examples
        Triples (x, labels, weight) or pairs (x, labels), where x is a text or a mapping from feature names to values;
        or batches, such as those of `read`.
    target
        A path, ``"-"`` for standard output, or a binary stream. A file whose name ends with .gz, .bz2, .xz or .zst is
        compressed. An existing file is replaced once everything has been written.
    format
        As for `read`, except ``"parquet"``. If not given, it is derived from the name.
    separator
        Separates the labels in one cell of CSV or TSV.

    Returns
    -------
    Number of examples written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.vw"
    >>> write([({"heap": 1, "overflow": 2}, ["kernel"]), ({"script": 1}, [], 2.5)][:1], path)
    1
    >>> path.read_text()
    'kernel | heap:1 overflow:2\n'
    """
    problems = Problems(_name(target), unit="example")
    return _write(_counted(examples), target, _writable(format, target), separator, problems)


def convert(
    source: str | os.PathLike[str] | IO[bytes],
    target: Target,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    on_error: str = "raise",
    columns: Columns | None = None,
    separator: str = ";",
    on_batch: Callable[[Reader], object] | None = None,
) -> Converted:
    r"""Convert a file to another format or compression, with bounded memory.

    Parameters
    ----------
    source, from_format, columns
        The input, as for `read`.
    target, to_format, separator
        The output, as for `write`.
    on_error
        ``"raise"`` or ``"skip"``: with the latter, invalid lines, and examples that the target format cannot represent,
        are skipped.
    on_batch
        Called after each batch with the `Reader`, which knows the progress.

    Examples
    --------
    >>> import io
    >>> texts = io.BytesIO(b'text,labels\n"It purrs, or not",cat;pet\n')
    >>> target = io.BytesIO()
    >>> convert(texts, target, to_format="fasttext").n_examples
    1
    >>> target.getvalue()
    b'__label__cat __label__pet It purrs, or not\n'
    """
    to = _writable(to_format, target)
    with read(source, format=from_format, on_error=on_error, columns=columns) as reader:
        n_written = _write(_located(reader, on_batch), target, to, separator, reader.skipped)
        return Converted(n_written, reader.skipped.count, reader.skipped.errors)


def _name(target: Target) -> str:
    return os.fspath(target) if isinstance(target, (str, os.PathLike)) else "the stream"


def _writable(format: str | None, target: Target) -> str:  # noqa: A002
    known = of_name(_name(target)) if format is None else checked(format)
    if known not in _WRITABLE:
        name = "standard output" if target == "-" else _name(target)
        what = (
            f"{known} files cannot be written"
            if known
            else f"the name of {name} does not determine the format to write"
        )
        raise InvalidParameterError("format-not-writable", what, hint=f"Pass a format, one of {', '.join(_WRITABLE)}.")
    return known


def _counted(examples: Iterable[Any]) -> Iterator[Example]:
    """Yield examples, numbered from 1."""
    number = 0
    for item in examples:
        for example in item if isinstance(item, Batch) else [item]:
            number += 1
            yield _checked(example, number)


def _located(reader: Reader, on_batch: Callable[[Reader], object] | None) -> Iterator[Example]:
    """Yield examples with their line numbers. They have been validated."""
    for batch in reader:
        for (x, labels, weight), number in zip(batch, batch.numbers.tolist(), strict=True):
            yield Example(x, labels, weight, number)
        if on_batch is not None:
            on_batch(reader)


def _checked(item: Any, number: int) -> Example:
    if not isinstance(item, tuple) or len(item) not in (2, 3):
        raise InvalidInputError(
            "stream-not-valid",
            "an example must be (x, labels), (x, labels, weight) or a Batch",
            where=f"example {number}",
            got=briefly(item),
        )
    x, given, weight = (*item, 1.0)[:3]
    try:
        labels = as_label_list(list(given) if _holds_labels(given) else _plain(given))
        checked_x = _checked_x(x)
        return Example(checked_x, plain_names(labels), as_weight(_plain(weight)), number)
    except InvalidInputError as error:
        raise error.at(f"example {number}") from None


def _checked_x(x: Any) -> Any:
    if isinstance(x, str):
        return x
    plain = _plain_features(x)
    return as_text_with(plain.pop(TEXT), plain) if holds_text(plain) else as_features(plain)


def _holds_labels(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping))


def _plain_features(x: Any) -> dict[Any, Any]:
    if not isinstance(x, Mapping):
        what = "x must be a text or a mapping from feature names to values"
        raise InvalidInputError("row-not-a-mapping", what, got=briefly(x))
    return {_plain(name): _plain(value) for name, value in x.items()}


def _plain(value: Any) -> Any:
    """Convert NumPy scalars to Python numbers, which the formats can write."""
    return value.item() if isinstance(value, np.generic) else value


def _write(examples: Iterator[Example], target: Target, format: str, separator: str, problems: Problems) -> int:  # noqa: A002
    with _opened(target) as file:
        if format == "xmlc":
            return _write_xmlc(examples, file, problems)
        delimiter = _table.DELIMITERS.get(format, "")
        if delimiter:
            file.write(f"{_table.header(delimiter)}\n".encode())
        line = partial(_table.line, delimiter=delimiter, separator=separator) if delimiter else _LINES[format]
        return sum(1 for _ in _written(examples, file, line, problems))


_LINES: dict[str, Write] = {"jsonl": _jsonl.line, "fasttext": _fasttext.line, "vw": _vw.line}


def _written(examples: Iterator[Example], file: IO[bytes], line: Write, problems: Problems) -> Iterator[Example]:
    """Write examples, and yield those that the format can represent."""
    for example in examples:
        try:
            if line is not _jsonl.line and not isinstance(example.x, str) and holds_text(example.x):
                what = "only JSONL can hold a text together with further features"
                raise InvalidInputError("not-writable", what)  # noqa: TRY301
            file.write(f"{line(example)}\n".encode())
        except UnicodeEncodeError:
            what = "a text or a name has an unpaired surrogate, which UTF-8 cannot represent"
            problems.bad(example.number, InvalidInputError("not-utf-8", what))
        except InvalidInputError as error:
            problems.bad(example.number, error)
        else:
            yield example


def _write_xmlc(examples: Iterator[Example], file: IO[bytes], problems: Problems) -> int:
    """Write lines to a temporary file first, since the header is known only at the end."""
    n_examples, n_features, n_labels = 0, 0, 0
    with tempfile.TemporaryFile() as body:
        for example in _written(examples, body, _xmlc.line, problems):
            n_examples += 1
            n_features = max(n_features, 1 + max(example.x, default=-1))
            n_labels = max(n_labels, 1 + max(map(int, example.labels), default=-1))
        file.write(f"{n_examples} {n_features} {n_labels}\n".encode())
        body.seek(0)
        shutil.copyfileobj(body, file)
    return n_examples


@contextmanager
def _opened(target: Target) -> Iterator[IO[bytes]]:
    if target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif isinstance(target, (str, os.PathLike)):
        path = Path(target)
        compression = by_name(path.name)
        with replacing(path) as file:
            if compression is None:
                yield file
            else:
                with compression.open(file, "wb") as compressed:
                    yield compressed
    elif isinstance(target, io.TextIOBase) or not callable(getattr(target, "write", None)):
        raise InvalidInputError(
            "target-not-writable",
            "the target must be a path, '-' for standard output, or a binary stream",
            got=briefly(target),
        )
    else:
        yield target

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Tables as text: CSV and TSV, with the names of the columns in the first line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any

from oplt.errors import InvalidInputError
from oplt.files._examples import NAME_COLUMNS, Columns, Example, Problems, as_number, first_repeated
from oplt.files._jsonl import from_fields
from oplt.files._source import MOST_LINE_BYTES
from oplt.wording import briefly, number_of

__all__ = ["DELIMITERS", "as_cell", "cells", "delimiter_of", "examples", "header", "line"]

DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = {",": ";"}  # of spreadsheets where numbers have a comma

_CLOSING_QUOTE = re.compile(r'(?<!")(?:"")*"(?!")')  # quotes in pairs stand for themselves

Line = tuple[int, str]


def examples(lines: Iterator[Line], columns: Columns, problems: Problems, delimiter: str) -> Iterator[Example]:
    """Read examples; blank lines are ignored."""
    first = next((line for line in lines if line[1].strip("\r\n")), (0, ""))
    delimiter = delimiter_of(first[1], delimiter)
    records = _records(chain([first], lines), delimiter, problems)
    number, names = next(records, (0, []))
    if not names:
        return
    table = _Table(names, columns)
    table.check(number, problems, delimiter)
    for number, found in records:
        try:
            yield table.example(found, number)
        except InvalidInputError as error:
            problems.bad(number, error)


def delimiter_of(first: str, delimiter: str) -> str:
    """Tell what divides a table: something else, if only that divides its first line."""
    other = _OTHER_DELIMITERS.get(delimiter)
    return other if other and _divides(other, first) and not _divides(delimiter, first) else delimiter


def _divides(delimiter: str, record: str) -> bool:
    try:
        return len(cells(record, delimiter)) > 1
    except InvalidInputError:
        return False


class _Table:
    """Which column of a table is what."""

    def __init__(self, names: list[str], columns: Columns) -> None:
        self._names = [name.strip() for name in names]
        self._columns = columns
        self._wanted = {*columns.texts, *columns.numbers, columns.weight}
        self._kept = columns.keep

    def check(self, number: int, problems: Problems, delimiter: str) -> None:
        """Refuse a table that lacks what is wanted: no line of it could be read."""
        columns, names = self._columns, self._names
        got = f"the columns {', '.join(map(repr, names))} (divided by {delimiter!r})"
        twice = first_repeated(names)
        if twice is not None:
            problems.fatal("field-twice", f"the column {twice!r} comes twice", line=number, got=got)
        missing = [name for name in (*columns.numbers, *columns.texts) if name not in names]
        if isinstance(columns.text, str) and columns.numbers and missing == [columns.text]:
            missing = []  # the text is not there, and not wanted
        if missing:
            problems.fatal(
                "column-missing", f"there is no column {missing[0]!r}", line=number, got=got, hint=NAME_COLUMNS
            )
        lost = next((name for name in columns.keep if name not in names), None)
        if lost is not None:
            problems.fatal("field-missing", f"there is no column {lost!r} to keep", line=number, got=got)
        try:
            self._labels = columns.find_labels(names)
        except InvalidInputError as error:
            problems.fatal(error.code, error.what, line=number, got=got, hint=error.hint)

    def example(self, found: list[str], number: int) -> Example:
        """Make an example of the cells of a row."""
        if len(found) != len(self._names):
            row, table = number_of(len(found), "cell"), number_of(len(self._names), "column")
            raise InvalidInputError("cells-and-columns-differ", f"the row has {row}, but the table has {table}")
        fields: dict[str, Any] = {
            name: cell for name, cell in zip(self._names, found, strict=True) if name in self._wanted
        }
        weight = self._columns.weight
        if weight is not None and not fields.get(weight, "1").strip():
            del fields[weight]
        for name in self._columns.numbers:
            fields[name] = _number(name, fields[name])
        if self._labels is not None:
            fields[self._labels] = self._label_list(found[self._names.index(self._labels)])
        example = from_fields(fields, self._columns, number)
        if not self._kept:
            return example
        cells = dict(zip(self._names, found, strict=True))
        return example._replace(kept={name: cells[name] for name in self._kept})

    def _label_list(self, cell: str) -> list[str]:
        if self._labels == "label":
            if not cell.strip():
                raise InvalidInputError(
                    "name-not-valid",
                    "the label is empty",
                    hint="A column of lists, which may be empty, is called 'labels'.",
                )
            return [cell.strip()]
        parts = [part.strip() for part in cell.split(self._columns.separator)]
        return [] if parts == [""] else parts


def _number(name: str, cell: str) -> float | None:
    if not cell.strip():
        return None
    try:
        return as_number(cell)
    except ValueError:
        raise InvalidInputError("value-not-a-number", f"{name!r} must be a number", got=briefly(cell)) from None


class _Lines:
    """Lines, some of which may be read again."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._again: deque[Line] = deque()

    def take(self) -> Line | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def put_back(self, lines: list[Line]) -> None:
        self._again.extendleft(reversed(lines))


def _records(given: Iterator[Line], delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Divide lines into cells; a quoted cell may hold ends of lines.

    If a quote is not closed where it should be, only the line where it opens is bad: reading goes on with the next one.
    """
    lines = _Lines(given)
    while (first := lines.take()) is not None:
        number, text = first
        if not text.strip("\r\n"):
            continue
        more: list[Line] = []
        while True:
            try:
                yield number, cells(text, delimiter)
            except InvalidInputError as error:
                is_open = error.code == "quote-not-closed"  # it may be, in the next line
                if is_open and (rest := _up_to_quote(lines, more, MOST_LINE_BYTES - len(text))) is not None:
                    text += rest
                    continue
                lines.put_back(more)
                problems.bad(number, error)
            break


def _up_to_quote(lines: _Lines, more: list[Line], most: int) -> str | None:
    """Take lines up to the one that closes an open quote; None if there is none near enough."""
    taken: list[str] = []
    while most > 0 and (following := lines.take()) is not None:
        more.append(following)
        taken.append(following[1])
        most -= len(following[1])
        if _CLOSING_QUOTE.search(following[1]):
            return "".join(taken)
    return None


def cells(record: str, delimiter: str) -> list[str]:
    """Divide one record into its cells."""
    text = record.removesuffix("\n").removesuffix("\r")
    if '"' not in text:
        return text.split(delimiter)
    found, position = [], 0
    while True:
        if text.startswith('"', position):
            cell, position = _quoted(text, position, record)
        else:
            end = text.find(delimiter, position)
            end = len(text) if end < 0 else end
            cell, position = text[position:end], end
        found.append(cell)
        if position == len(text):
            return found
        if not text.startswith(delimiter, position):
            follows = repr(text[position : position + 20])
            raise InvalidInputError("quote-misplaced", "a delimiter must follow a quoted cell", got=follows)
        position += len(delimiter)


def _quoted(text: str, position: int, record: str) -> tuple[str, int]:
    """Read a quoted cell: its content, and where it ends."""
    end = position + 1
    while True:
        end = text.find('"', end)
        if end < 0:
            opened = repr(record[position : position + 20])
            raise InvalidInputError("quote-not-closed", f"a quote is opened and never closed: {opened}")
        if not text.startswith('""', end):
            return text[position + 1 : end].replace('""', '"'), end + 1
        end += 2


def header(delimiter: str) -> str:
    """Write the names of the columns."""
    return delimiter.join(["text", "labels", "weight"])


def line(example: Example, delimiter: str, separator: str) -> str:
    """Write an example as a row."""
    if not isinstance(example.x, str):
        raise InvalidInputError("not-writable", "a table is written of texts, but the example has features")
    labels = list(map(str, example.labels))
    bad = next((label for label in labels if separator in label or label != label.strip()), None)
    if bad is not None:
        raise InvalidInputError(
            "not-writable",
            f"labels of one cell are divided by {separator!r} and have no blanks around them",
            got=briefly(bad),
        )
    weight = "" if example.weight == 1 else repr(example.weight)
    return delimiter.join(as_cell(text, delimiter) for text in (example.x, separator.join(labels), weight))


def as_cell(text: str, delimiter: str) -> str:
    """Write a cell, in quotes if it must be."""
    needs_quotes = delimiter in text or re.search(r'["\r\n]', text) is not None
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text

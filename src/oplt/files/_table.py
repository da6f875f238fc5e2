# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""CSV and TSV tables, with the names of the columns in the first line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any

from oplt.doubts import looks_like_list, warn
from oplt.errors import InvalidInputError
from oplt.files._examples import NAME_COLUMNS, Columns, Example, Problems, as_number, did_you_mean, first_repeated
from oplt.files._jsonl import from_fields
from oplt.files._source import MOST_LINE_BYTES
from oplt.wording import briefly, number_of

__all__ = ["DELIMITERS", "as_cell", "cells", "delimiter_of", "examples", "header", "line"]

DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHER_DELIMITERS = {",": ";"}  # of spreadsheets in locales with a decimal comma

_CLOSING_QUOTE = re.compile(r'(?<!")(?:"")*"(?!")')  # quotes in pairs stand for themselves

_CELLS_LOOKED_AT = 1000  # of labels; a different separator is noticed by then

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
    """Detect the delimiter of a table: an alternative one, if only that occurs in its first line."""
    other = _OTHER_DELIMITERS.get(delimiter)
    return other if other and _divides(other, first) and not _divides(delimiter, first) else delimiter


def _divides(delimiter: str, record: str) -> bool:
    try:
        return len(cells(record, delimiter)) > 1
    except InvalidInputError:
        return False


class _Table:
    """The roles of the columns of a table."""

    def __init__(self, names: list[str], columns: Columns) -> None:
        given = [name.strip() for name in names]
        own_names = columns.own_names(given)
        self._names = [own_names.get(name, name) for name in given]
        self._given = given
        self._columns = columns
        self._doubts = _CellDoubts(columns)
        self._wanted = {*columns.texts, *columns.numbers, columns.weight}
        self._kept = columns.keep

    def check(self, number: int, problems: Problems, delimiter: str) -> None:
        """Reject a table that lacks a required column."""
        columns, names = self._columns, self._names
        got = f"the columns {', '.join(map(repr, self._given))} (delimited by {delimiter!r})"
        twice = first_repeated(names)
        if twice is not None:
            problems.fatal("field-twice", f"the column {twice!r} occurs twice", line=number, got=got)
        missing = [name for name in (*columns.numbers, *columns.texts) if name not in names]
        if isinstance(columns.text, str) and columns.numbers and missing == [columns.text]:
            missing = []  # the text is not there, and not wanted
        if missing:
            hint = f"{did_you_mean(missing, names)}{NAME_COLUMNS}"
            if not set(names) & {*columns.wanted}:
                hint += " The first line must name the columns: if it is an example, put a header above it."
            problems.fatal("column-missing", f"there is no column {missing[0]!r}", line=number, got=got, hint=hint)
        self._has_texts = bool(columns.texts) and set(columns.texts) <= set(names)
        lost = next((name for name in columns.keep if name not in (*names, *self._given)), None)
        if lost is not None:
            problems.fatal("field-missing", f"there is no column {lost!r} to keep", line=number, got=got)
        try:
            self._labels = columns.find_labels(names)
        except InvalidInputError as error:
            problems.fatal(error.code, error.what, line=number, got=got, hint=error.hint)

    def example(self, found: list[str], number: int) -> Example:
        """Make an example from the cells of a row."""
        if len(found) != len(self._names):
            row, table = number_of(len(found), "cell"), number_of(len(self._names), "column")
            raise InvalidInputError(
                "cells-and-columns-differ",
                f"the row has {row}, but the table has {table}",
                hint="Quote cells that contain the delimiter, or pass on_error='skip'. A quote may have been left open"
                " before.",
            )
        fields: dict[str, Any] = {
            name: cell for name, cell in zip(self._names, found, strict=True) if name in self._wanted
        }
        weight = self._columns.weight
        if weight is not None and not fields.get(weight, "1").strip():
            del fields[weight]
        for name in self._columns.numbers:
            fields[name] = _number(name, fields[name], may_be_text=self._has_texts)
        if self._labels is not None:
            fields[self._labels] = self._label_list(found[self._names.index(self._labels)])
        example = from_fields(fields, self._columns, number)
        if not self._kept:
            return example
        cells = dict(zip((*self._given, *self._names), (*found, *found), strict=True))
        return example._replace(kept={name: cells[name] for name in self._kept})

    def _label_list(self, cell: str) -> list[str]:
        if self._labels == "label":
            if not cell.strip():
                raise InvalidInputError(
                    "name-not-valid",
                    "the label is empty",
                    hint="If rows may have no label, call the column 'labels'.",
                )
            return [cell.strip()]
        if looks_like_list(cell.strip()):
            raise InvalidInputError(
                "labels-not-valid",
                "the cell looks like a Python list",
                got=briefly(cell),
                hint=f"Separate labels by {self._columns.separator!r}.",
            )
        parts = [part.strip() for part in cell.split(self._columns.separator)]
        if len(parts) == 1:
            self._doubts.look_at(cell)
        elif "" in parts:
            raise InvalidInputError(
                "name-not-valid",
                f"the cell has a separator {self._columns.separator!r} without a label before or after it",
                got=briefly(cell),
                hint="Remove the separator. A row without labels has an empty cell.",
            )
        else:
            self._doubts.forget()
        return [] if parts == [""] else parts


class _CellDoubts:
    """Notices cells whose labels are separated by something other than the separator, and warns once."""

    def __init__(self, columns: Columns) -> None:
        self._others = [other for other in ("|", ";") if other != columns.separator]  # a comma is in many names
        self._separator = columns.separator
        self._is_on = True
        self._n_cells = 0
        self._seen: dict[str, list[str]] = {other: [] for other in self._others}

    def forget(self) -> None:
        """Stop checking: the separator occurs, so it is the right one."""
        self._is_on = False

    def look_at(self, cell: str) -> None:
        if not self._is_on:
            return
        self._n_cells += 1
        for other, seen in self._seen.items():
            if other in cell:
                seen.append(cell)
                if len(seen) >= 2 and 2 * len(seen) >= self._n_cells and len(set(seen)) > 1:
                    self._tell(other, seen[0])
                    return
        self._is_on = self._n_cells < _CELLS_LOOKED_AT

    def _tell(self, other: str, cell: str) -> None:
        self._is_on = False
        warn(
            "labels-joined",
            f"cells of labels contain {other!r}, such as {briefly(cell)}, but none contains the separator"
            f" {self._separator!r}; each cell is read as one label",
            f"If several labels are meant, pass Columns(separator={other!r}).",
        )


def _number(name: str, cell: str, *, may_be_text: bool) -> float | str | list[Any] | None:
    if not cell.strip():
        return None
    try:
        return _numbers(cell) if cell.lstrip().startswith("[") else as_number(cell)
    except ValueError:
        if may_be_text:
            return cell.strip()  # a category
        raise InvalidInputError("value-not-a-number", f"{name!r} must be a number", got=briefly(cell)) from None


def _numbers(cell: str) -> list[Any]:
    """Parse a list of numbers, such as an embedding, separated by commas, or by blanks as NumPy prints it."""
    inner = cell.strip().removeprefix("[").removesuffix("]")
    return [as_number(number) for number in inner.replace(",", " ").split()]


class _Lines:
    """Lines that can be pushed back and read again."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._again: deque[Line] = deque()

    def take(self) -> Line | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def put_back(self, lines: list[Line]) -> None:
        self._again.extendleft(reversed(lines))


def _records(given: Iterator[Line], delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Split lines into cells; a quoted cell may contain line breaks.

    If a quote is never closed, only the line where it opens is invalid: reading continues with the next line.
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
    """Read lines up to the one that closes an open quote; None if there is none near enough."""
    taken: list[str] = []
    while most > 0 and (following := lines.take()) is not None:
        more.append(following)
        taken.append(following[1])
        most -= len(following[1])
        if _CLOSING_QUOTE.search(following[1]):
            return "".join(taken)
    return None


def cells(record: str, delimiter: str) -> list[str]:
    """Split a record into its cells."""
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
    """Parse a quoted cell; returns its content, and where it ends."""
    end = position + 1
    while True:
        end = text.find('"', end)
        if end < 0:
            opened = repr(record[position : position + 20])
            raise InvalidInputError(
                "quote-not-closed",
                f"a quote is opened and never closed: {opened}",
                hint="Close it, or pass on_error='skip'. A quote inside a quoted cell is written twice.",
            )
        if not text.startswith('""', end):
            return text[position + 1 : end].replace('""', '"'), end + 1
        end += 2


def header(delimiter: str) -> str:
    """Write the names of the columns."""
    return delimiter.join(["text", "labels", "weight"])


def line(example: Example, delimiter: str, separator: str) -> str:
    """Write an example as a row."""
    if not isinstance(example.x, str):
        raise InvalidInputError("not-writable", "CSV and TSV hold texts, but the example has features")
    labels = list(map(str, example.labels))
    bad = next((label for label in labels if separator in label or label != label.strip()), None)
    if bad is not None:
        raise InvalidInputError(
            "not-writable",
            f"a label cannot contain the separator {separator!r} or begin or end with a blank",
            got=briefly(bad),
        )
    weight = "" if example.weight == 1 else repr(example.weight)
    return delimiter.join(as_cell(text, delimiter) for text in (example.x, separator.join(labels), weight))


def as_cell(text: str, delimiter: str) -> str:
    """Write a cell, quoted if necessary."""
    needs_quotes = delimiter in text or re.search(r'["\r\n]', text) is not None
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text

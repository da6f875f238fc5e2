# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Predictions as lines of JSON, CSV, TSV or fastText."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oplt.cli._console import WrongDataError, WrongUsageError, json_line, without_nan
from oplt.compression import by_name
from oplt.errors import InvalidInputError
from oplt.wording import briefly

if TYPE_CHECKING:
    from oplt.files import Batch

__all__ = ["FORMATS", "Answers", "format_of"]

_SUFFIXES = {
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "fasttext": (".fasttext", ".ft"),
}
FORMATS = tuple(_SUFFIXES)
_OWN = ("line", "labels", "probabilities")  # reserved names of output fields

Row = list[tuple[Any, float]]


def format_of(out: Path | None) -> str:
    """Choose the output format by the suffix of the file; JSON lines if it has none."""
    if out is None:
        return "jsonl"
    compression = by_name(out.name)
    plain = Path(out.name[: -len(compression.suffix)]) if compression else out
    suffix = plain.suffix.lower()
    for name, suffixes in _SUFFIXES.items():
        if suffix in suffixes:
            return name
    if not suffix:
        return "jsonl"
    known = ", ".join(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)
    msg = f"{out}: cannot write {suffix} files. Use one of {known}, or pass --to with one of {', '.join(FORMATS)}."
    raise WrongUsageError(msg)


@dataclass(frozen=True)
class Answers:
    """Formats the predictions for batches of examples.

    Parameters
    ----------
    format
        One of `FORMATS`.
    keep
        Fields of the examples to copy to the output.
    separator
        Separates the labels in a CSV or TSV cell.
    numbered
        Write the line number of each example.
    """

    format: str
    keep: tuple[str, ...]
    separator: str
    numbered: bool

    def __post_init__(self) -> None:
        taken = next((name for name in self.keep if name in _OWN), None)
        if taken is not None:
            msg = f"--keep {taken}: the output already has a field of this name, so the input field cannot be kept"
            raise WrongUsageError(msg)
        other = next((name for name in self.keep if name != "text"), None)
        if self.format == "fasttext" and other is not None:
            msg = f"--keep {other}: fastText lines hold only labels and a text; use --to jsonl, csv or tsv"
            raise WrongUsageError(msg)
        if not self.separator:
            msg = "--to-separator must not be empty"
            raise WrongUsageError(msg)

    def header(self) -> bytes:
        """Format the header of the output."""
        if self.format not in ("csv", "tsv"):
            return b""
        return self._row([*self._numbers(["line"]), *self.keep, "labels", "probabilities"])

    def lines(self, found: Iterable[Any], batch: Batch) -> bytes:
        """Format one line per example."""
        kept = batch.kept or [{}] * len(batch)
        line = _LINES[self.format]
        lines: list[bytes] = []
        try:
            for row, fields, number in zip(found, kept, batch.numbers.tolist(), strict=True):
                lines.append(line(self, list(row), fields, number))
        except InvalidInputError as error:
            raise WrongDataError(str(error.at(batch.where(len(lines))))) from None
        return b"".join(lines)

    def _json(self, row: Row, fields: dict[str, Any], number: int) -> bytes:
        values = {
            **({"line": number} if self.numbered else {}),
            **without_nan(fields),
            "labels": [label for label, _ in row],
            "probabilities": [round(probability, 6) for _, probability in row],
        }
        return json_line(values) + b"\n"

    def _table(self, row: Row, fields: dict[str, Any], number: int) -> bytes:
        labels = [str(label) for label, _ in row]
        bad = next((label for label in labels if self.separator in label or label != label.strip()), None)
        if bad is not None:
            raise InvalidInputError(
                "not-writable",
                f"labels in a cell are separated by {self.separator!r}, so they must not contain it, nor start or end"
                " with a blank",
                got=f"the label {briefly(bad)}",
                hint="Pass a different --to-separator, or --to jsonl.",
            )
        numbers = [str(round(probability, 6)) for _, probability in row]
        kept = [_as_text(value) for value in fields.values()]
        return self._row(
            [*self._numbers([str(number)]), *kept, self.separator.join(labels), self.separator.join(numbers)]
        )

    def _fasttext(self, row: Row, fields: dict[str, Any], number: int) -> bytes:
        from oplt.files._examples import Example
        from oplt.files._fasttext import line

        text = _as_text(fields.get("text"))
        if not row and not text:
            return b"\n"  # one line per example, always
        written = line(Example(text, [label for label, _ in row], 1.0, number))
        return _encoded(written.rstrip(" ") + "\n")

    def _numbers(self, cell: list[str]) -> list[str]:
        return cell if self.numbered else []

    def _row(self, cells: list[str]) -> bytes:
        from oplt.files._table import DELIMITERS, as_cell

        delimiter = DELIMITERS[self.format]
        return _encoded(delimiter.join(as_cell(cell, delimiter) for cell in cells) + "\n")


_LINES: dict[str, Callable[[Answers, Row, dict[str, Any], int], bytes]] = {
    "jsonl": Answers._json,
    "csv": Answers._table,
    "tsv": Answers._table,
    "fasttext": Answers._fasttext,
}


def _as_text(value: Any) -> str:
    """Format a value for a cell: strings unchanged, null as an empty cell, other values as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(without_nan(value), ensure_ascii=False, default=str)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        what = "a text or a label has an unpaired surrogate, which UTF-8 cannot represent"
        raise InvalidInputError("not-utf-8", what, hint="Pass --to jsonl.") from None

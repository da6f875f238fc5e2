# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Detection of the format of a file from its first lines and its name."""

from __future__ import annotations

from pathlib import PurePath

from oplt.compression import by_name
from oplt.errors import InvalidInputError, InvalidParameterError
from oplt.files import _fasttext, _xmlc
from oplt.files._examples import Columns
from oplt.files._table import DELIMITERS, cells, delimiter_of
from oplt.wording import briefly

__all__ = ["FORMATS", "PLAIN", "SAMPLE", "checked", "chosen", "of_first_line", "of_name"]

FORMATS = ("xmlc", "jsonl", "csv", "tsv", "parquet", "fasttext", "vw")
PLAIN = "text"  # lines without labels: for prediction, not for training
SAMPLE = 10  # number of lines that are examined

_OTHER_NAMES = {"libsvm": "xmlc", "svmlight": "xmlc", "ndjson": "jsonl", "vowpalwabbit": "vw"}
_BY_SUFFIX = {
    **{f".{name}": name for name in FORMATS},
    ".svm": "xmlc",
    ".libsvm": "xmlc",
    ".svmlight": "xmlc",
    ".ndjson": "jsonl",
    ".tab": "tsv",
    ".pq": "parquet",
    ".ft": "fasttext",
}
_THERE_ARE = f"Pass format=, one of {', '.join(FORMATS)}."


def chosen(format: str | None, name: str, sample: list[bytes], columns: Columns) -> str:  # noqa: A002 (it is one)
    """Return the format: the given one, or the one that content and name agree on."""
    if format is not None:
        return checked(format)
    by_suffix = of_name(name)
    by_content = _of_lines([line for line in sample if line.strip()], columns)
    if by_content is None and by_suffix is None:
        first = next((line for line in sample if line.strip()), b"")
        if first.lstrip().startswith(b"["):
            raise InvalidInputError(
                "json-list",
                "the file begins like a JSON array, but JSONL has one object per line",
                where=name,
                hint="Convert it, for example with jq -c '.[]'.",
            )
        shown = briefly(first.removesuffix(b"\n"))
        what = "the format cannot be detected from the name or the first lines"
        raise InvalidInputError("format-not-told", what, where=name, got=f"the first line {shown}", hint=_THERE_ARE)
    if by_content is not None and by_suffix is not None and by_content != by_suffix:
        what = f"the name suggests the format {by_suffix}, but the first lines look like {by_content}"
        raise InvalidInputError("format-doubtful", what, where=name, hint=_THERE_ARE)
    return by_content or by_suffix or ""


def checked(format: str) -> str:  # noqa: A002
    """Validate the name of a format."""
    known = _OTHER_NAMES.get(format, format)
    if known not in (*FORMATS, PLAIN):
        raise InvalidParameterError("unknown-format", f"there is no format {format!r}", hint=_THERE_ARE)
    return known


def of_name(name: str) -> str | None:
    """Detect the format from the suffix of the name, before that of a compression."""
    compression = by_name(name)
    plain = name[: -len(compression.suffix)] if compression else name
    return _BY_SUFFIX.get(PurePath(plain).suffix.lower())


def _of_lines(lines: list[bytes], columns: Columns) -> str | None:
    """Detect the format from the first lines, if they leave no doubt."""
    if not lines:
        return None
    if by_first := of_first_line(lines[0], columns):
        return by_first
    if all(_is_vw(line) for line in lines):
        return "vw"
    return "xmlc" if _xmlc.looks_like(lines) else None


def of_first_line(line: bytes, columns: Columns) -> str | None:
    """Detect the format from the first line that is not blank, if it leaves no doubt."""
    first = line.decode(errors="replace")
    if first.lstrip().startswith("{"):
        return "jsonl"
    for name, delimiter in DELIMITERS.items():
        if _has_columns(first, delimiter_of(first, delimiter), columns):
            return name
    return "fasttext" if any(word.startswith(_fasttext.PREFIX) for word in first.split()) else None


def _has_columns(first: str, delimiter: str, columns: Columns) -> bool:
    try:
        given = {name.strip() for name in cells(first, delimiter)}
        own_names = columns.own_names(given)
        names = {own_names.get(name, name) for name in given}
        columns.find_labels(names)
    except InvalidInputError:
        return False
    wanted = [fields for fields in (columns.texts, columns.numbers) if fields]
    return len(names) > 1 and any(names.issuperset(fields) for fields in wanted)


def _is_vw(line: bytes) -> bool:
    """Check whether a line has at most labels, a weight and a tag before a bar."""
    head, bar, _ = line.partition(b"|")
    return bool(bar) and len(head.split()) <= 3

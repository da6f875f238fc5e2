# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Parquet files, by pyarrow if it is there."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oplt.errors import InvalidInputError, MissingPackageError
from oplt.files._examples import NAME_COLUMNS, Columns, Example, Problems, did_you_mean
from oplt.files._jsonl import from_fields
from oplt.files._source import Source

__all__ = ["MAGIC", "NOT_READABLE", "examples"]

MAGIC = b"PAR1"
NOT_READABLE = "A Parquet file is read from its end: give the path of a file that is not compressed again."


def examples(source: Source, size: int, columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples, so many rows at a time."""
    if source.path is None or source.compression is not None:
        problems.fatal("parquet-not-readable", "the data is a stream or compressed", hint=NOT_READABLE)
    for number, row in enumerate(_rows(source.path, size, columns, problems), 1):
        try:
            yield from_fields(_plain(row, columns), columns, number)
        except InvalidInputError as error:
            problems.bad(number, error)


def _rows(path: Path, size: int, columns: Columns, problems: Problems) -> Iterator[dict[str, Any]]:
    arrow, parquet = _package("pyarrow"), _package("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            there = file.schema_arrow.names
            own_names = columns.own_names(there)
            wanted = _wanted([own_names.get(name, name) for name in there], columns, problems)
            called = {name: own for own, name in own_names.items()}
            for part in file.iter_batches(batch_size=size, columns=[called.get(name, name) for name in wanted]):
                yield from part.rename_columns([own_names.get(name, name) for name in part.schema.names]).to_pylist()
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read; what is wrong with its content has no number
        problems.fatal("file-damaged", f"not a Parquet file, or a damaged one: {error}")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise MissingPackageError(
            "package-missing", "Parquet files need the package pyarrow", hint="Run: pip install 'oplt[parquet]'"
        ) from None


def _wanted(there: list[str], columns: Columns, problems: Problems) -> list[str]:
    """Only these columns are read from the disk. Refuses a table of which no row could be read."""
    got = f"the columns {', '.join(map(repr, there))}"
    try:
        labels = columns.find_labels(there)
    except InvalidInputError as error:
        problems.fatal(error.code, error.what, got=got, hint=error.hint)
    features = [columns.features] if isinstance(columns.features, str) else columns.numbers
    names = dict.fromkeys([*columns.texts, *features, labels, columns.weight])
    found = [name for name in names if name in there]
    twice = next((name for name in found if there.count(name) > 1), None)
    if twice is not None:
        problems.fatal("field-twice", f"the column {twice!r} comes twice", got=got)
    if not any(set(group).issubset(found) for group in (columns.texts, features) if group):
        missing = " nor ".join(repr(name) for name in (*columns.texts, *features) if name not in found)
        hint = f"{did_you_mean(columns.inputs, there)}{NAME_COLUMNS}"
        problems.fatal("column-missing", f"there is no column {missing}", got=got, hint=hint)
    return found


def _plain(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Leave out the null fields of a struct: they are absent features."""
    features = row.get(columns.features) if isinstance(columns.features, str) else None
    if isinstance(features, dict):
        row[str(columns.features)] = {name: value for name, value in features.items() if value is not None}
    return row

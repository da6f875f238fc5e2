# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Parquet files, read with the optional package pyarrow.

A small file can hold huge cells: pages are compressed, and an entry of a dictionary may occur in every row. So columns
are read as dictionaries, the size of rows is computed before any of them becomes a Python object, and a row that
exceeds the limit for a line of text is rejected.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oplt.errors import InvalidInputError, MissingPackageError
from oplt.files._examples import NAME_COLUMNS, Columns, Example, Problems, did_you_mean, first_repeated
from oplt.files._jsonl import from_fields
from oplt.files._source import MOST_LINE_BYTES, Source

__all__ = ["MAGIC", "NOT_READABLE", "examples"]

_MOST_ROW_BYTES = MOST_LINE_BYTES

MAGIC = b"PAR1"
NOT_READABLE = "A Parquet file is read from its end: pass the path of an uncompressed Parquet file."


def examples(source: Source, size: int, columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples, `size` rows at a time."""
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
            own_names = columns.own_names(file.schema_arrow.names)
            wanted = _wanted(file.schema_arrow.names, own_names, columns, problems)
            _refuse_long_rows(file.metadata, wanted, problems)
        encoded = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
        with parquet.ParquetFile(path, read_dictionary=encoded) as file:
            # One row group at a time: a batch that spans two of them cannot have dictionaries in lists.
            for group in range(file.num_row_groups):
                for part in file.iter_batches(batch_size=size, row_groups=[group], columns=wanted):
                    for rows in _pieces(part, problems):
                        for row in rows:
                            row.update({name: row[own] for own, name in own_names.items() if own in row})
                        yield from rows
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read; errors in its content have no errno
        problems.fatal(
            "file-damaged", "the file is not a Parquet file, or it is damaged", hint="Export or download it again."
        )


def _refuse_long_rows(metadata: Any, wanted: list[str], problems: Problems) -> None:
    """Reject row groups whose rows are too long on average, before anything is decompressed."""
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for column in map(group.column, range(group.num_columns)):
            if column.total_uncompressed_size > _MOST_ROW_BYTES * max(group.num_rows, 1):
                name = column.path_in_schema.partition(".")[0]
                if name in wanted:
                    _refuse_row(name, problems)


def _pieces(part: Any, problems: Problems) -> Iterator[list[dict[str, Any]]]:
    """Convert a few rows at a time to Python objects, together no larger than the limit for one row."""
    if sum(map(_n_bytes, part)) <= _MOST_ROW_BYTES:
        yield part.to_pylist()
    elif part.num_rows == 1:
        _refuse_row(max(part.schema.names, key=lambda name: _n_bytes(part[name])), problems)
    else:
        middle = part.num_rows // 2
        yield from _pieces(part.slice(0, middle), problems)
        yield from _pieces(part.slice(middle), problems)


def _n_bytes(column: Any) -> int:
    """Compute the size of each value of a column: the length of its strings, and 8 bytes per value."""
    arrow, compute = _package("pyarrow"), _package("pyarrow.compute")
    is_ = arrow.types
    if is_.is_dictionary(column.type):
        lengths = compute.binary_length(column.dictionary).take(column.indices)
        return 8 * len(column) + (compute.sum(lengths).as_py() or 0)
    if is_.is_struct(column.type):
        return sum(map(_n_bytes, column.flatten()))
    if is_.is_map(column.type):
        begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        return sum(_n_bytes(values.slice(begin, end - begin)) for values in (column.keys, column.items))
    if hasattr(column, "flatten"):  # all kinds of lists
        return 8 * len(column) + _n_bytes(column.flatten())
    try:
        return 8 * len(column) + (compute.sum(compute.binary_length(column)).as_py() or 0)
    except NotImplementedError:  # of numbers
        return 8 * len(column)


def _refuse_row(name: str, problems: Problems) -> None:
    what = f"a row is larger than {_MOST_ROW_BYTES >> 20} MiB, most of it in column {name!r}"
    problems.fatal("line-too-long", what, hint="Remove the row, or read other columns.")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise MissingPackageError(
            "package-missing", "Parquet files need the package pyarrow", hint="Run: pip install 'oplt[parquet]'"
        ) from None


def _wanted(written: list[str], own_names: dict[str, str], columns: Columns, problems: Problems) -> list[str]:
    """Choose the columns to read from disk. Rejects a table that lacks a required column."""
    there = [own_names.get(name, name) for name in written]
    got = f"the columns {', '.join(map(repr, written))}"
    try:
        labels = columns.find_labels(there)
    except InvalidInputError as error:
        problems.fatal(error.code, error.what, got=got, hint=error.hint)
    features = [columns.features] if isinstance(columns.features, str) else columns.numbers
    lost = next((name for name in columns.keep if name not in there and name not in written), None)
    if lost is not None:
        problems.fatal("field-missing", f"there is no column {lost!r} to keep", got=got)
    names = dict.fromkeys([*columns.texts, *features, labels, columns.weight, *columns.keep])
    found = [name for name in names if name in there]
    twice = first_repeated(name for name in there if name in names)
    if twice is not None:
        problems.fatal("field-twice", f"the column {twice!r} occurs twice", got=got)
    if not any(set(group).issubset(found) for group in (columns.texts, features) if group):
        missing = " nor ".join(repr(name) for name in (*columns.texts, *features) if name not in found)
        hint = f"{did_you_mean(columns.inputs, written)}{NAME_COLUMNS}"
        problems.fatal("column-missing", f"there is no column {missing}", got=got, hint=hint)
    return [own for own, name in zip(written, there, strict=True) if name in names or own in names]


def _plain(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Leave out the null fields of a struct: they are absent features."""
    features = row.get(columns.features) if isinstance(columns.features, str) else None
    if isinstance(features, dict):
        row[str(columns.features)] = {name: value for name, value in features.items() if value is not None}
    return row

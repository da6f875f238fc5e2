# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""JSON lines: one object per line, with a text or features, labels and a weight."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oplt.doubts import looks_like_list
from oplt.errors import InvalidInputError
from oplt.files._examples import (
    Columns,
    Example,
    Problems,
    as_features,
    as_label_list,
    as_positions,
    as_text_with,
    as_written_weight,
    did_you_mean,
    fields_of,
)
from oplt.files._json import object_of
from oplt.validation import holds_text
from oplt.wording import briefly

__all__ = ["examples", "from_fields", "line"]


def examples(lines: Iterator[tuple[int, bytes]], columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples; blank lines are ignored."""
    for number, line in lines:
        try:
            fields = object_of(line)
            if fields is not None:
                yield from_fields(fields, columns, number)
        except InvalidInputError as error:
            problems.bad(number, error)


def from_fields(fields: dict[str, Any], columns: Columns, number: int) -> Example:
    """Make an example of named values, such as those of a line of JSON or a row of a table."""
    if _lacks(fields, columns):
        own_names = columns.own_names(fields)
        fields = {**fields, **{name: fields[own] for own, name in own_names.items()}}
    name = columns.find_labels(fields)
    labels = [] if name is None else _labels(fields[name], name, columns)
    weight = as_written_weight(fields[columns.weight]) if columns.weight in fields else 1.0
    kept = {name: fields.get(name) for name in columns.keep} if columns.keep else None
    return Example(_x(fields, columns), labels, weight, number, kept)


def _lacks(fields: dict[str, Any], columns: Columns) -> bool:
    """Check whether labels, or both text and features, are missing: then names are matched ignoring case."""
    names = fields.keys()
    return (columns.labels is not None and names.isdisjoint(columns.label_names)) or names.isdisjoint(columns.inputs)


def _labels(given: Any, name: str, columns: Columns) -> list[Any]:
    if isinstance(given, str) and name != "label":
        if looks_like_list(given):
            what = f"{name!r} is a string that looks like a list"
            raise InvalidInputError("labels-not-valid", what, got=briefly(given), hint="Write it as a list, unquoted.")
        if columns.separator in given:
            what = f"{name!r} is one string that contains {columns.separator!r}, but strings are not split in JSONL"
            hint = 'Write a list, such as ["a", "b"]; for a single label, a list of one.'
            raise InvalidInputError("labels-not-valid", what, got=briefly(given), hint=hint)
    return as_label_list(given)


def _x(fields: dict[str, Any], columns: Columns) -> Any:
    has_text = not fields.keys().isdisjoint(columns.texts)
    features = columns.features if isinstance(columns.features, str) else None
    has_features = features in fields or not fields.keys().isdisjoint(columns.numbers)
    if has_text and columns.numbers:
        given = {name: fields[name] for name in columns.numbers if fields.get(name) is not None}
        return as_text_with(_text(fields, columns.texts), given)
    if has_text and has_features:
        raise InvalidInputError(
            "text-and-features",
            "the example has both a text and features",
            hint="Choose one by passing text=None or features=None.",
        )
    if has_text:
        return _text(fields, columns.texts)
    if features in fields:
        return as_features(fields[features])
    if has_features:
        return _of_columns(fields, columns.numbers)
    wanted = " nor ".join(map(repr, columns.inputs))
    raise InvalidInputError(
        "text-missing",
        f"there is {'neither' if ' nor ' in wanted else 'no'} {wanted}",
        got=fields_of(fields),
        hint=f"{did_you_mean(columns.inputs, fields)}Pass the name of the field as text= or features=.",
    )


def _of_columns(fields: dict[str, Any], names: list[str]) -> dict[str, float]:
    """Make features of fields that hold numbers or lists of numbers."""
    found: dict[str, float] = {}
    for name in names:
        value = fields.get(name)
        if isinstance(value, list):
            found.update(as_positions(name, value))
        elif value is not None:
            found[name] = value
    return as_features(found)


def _text(fields: dict[str, Any], names: list[str]) -> str:
    for name in names:
        if not isinstance(fields.get(name), str):
            got = briefly(fields[name]) if name in fields else "nothing"
            raise InvalidInputError("not-a-text", f"{name!r} must be a text", got=got)
    return " ".join(fields[name] for name in names)


def line(example: Example) -> str:
    """Write an example. If not all names of features are strings, as in JSON objects, features are written as pairs."""
    fields: dict[str, Any] = {"labels": example.labels}
    if isinstance(example.x, str):
        fields = {"text": example.x, **fields}
    elif holds_text(example.x):
        fields = {**example.x, **fields}
    else:
        by_text = all(isinstance(name, str) for name in example.x)
        fields = {"features": example.x if by_text else list(example.x.items()), **fields}
    if example.weight != 1:
        fields["weight"] = example.weight
    return json.dumps(fields, ensure_ascii=False)

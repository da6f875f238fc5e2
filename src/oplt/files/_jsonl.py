# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""JSON lines: one object per line, with a text or features, labels and a weight."""

from __future__ import annotations

import json
import sys
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
    first_repeated,
)
from oplt.validation import holds_text
from oplt.wording import briefly

__all__ = ["examples", "from_fields", "line"]


def examples(lines: Iterator[tuple[int, str]], columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples; blank lines are ignored."""
    for number, text in lines:
        if text.isspace():
            continue
        try:
            yield from_fields(_parsed(text), columns, number)
        except InvalidInputError as error:
            problems.bad(number, error)


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = _DECODER.decode(text)
    except InvalidInputError:
        raise
    except json.JSONDecodeError as error:
        raise InvalidInputError("not-json", f"not JSON: {_in_words(error)}") from None
    except ValueError:  # Python's limit, against numbers that take hours to read
        what = f"a whole number has more than {sys.get_int_max_str_digits():,} digits"
        raise InvalidInputError("not-json", what) from None
    except RecursionError:
        raise InvalidInputError("not-json", "not an example: nested too deeply") from None
    if not isinstance(found, dict):
        raise InvalidInputError(
            "not-json", 'an example must be an object, such as {"text": "...", "labels": ["..."]}', got=briefly(found)
        )
    return found


# Our messages by the beginning of those of Python's json module, which differ between versions. {} is the column.
_MISTAKES = {
    "Unterminated string": "the string that begins in column {} is never closed",
    "Expecting ':'": "a colon is missing in column {}",
    "Expecting ','": "a comma or a closing bracket is missing in column {}",
    "Expecting value": "a value is missing in column {}",
    "Expecting property name": "a name in double quotes is missing in column {}",
    "Illegal trailing comma": "the comma in column {} is superfluous",
    "Invalid control character": "the string has a control character in column {}, which must be an escape such"
    " as \\n or \\t",
    "Invalid \\u": "the escape in column {} must be \\u and four hexadecimal digits",
    "Invalid \\": "the backslash in column {} does not begin a JSON escape; a backslash itself is written \\\\",
    "Extra data": "the example is followed by something else in column {}; each line must hold one object",
}


def _in_words(error: json.JSONDecodeError) -> str:
    column = error.pos + 1
    if error.pos >= len(error.doc.rstrip()) and not error.msg.startswith("Unterminated"):
        return f"the line ends in the middle of the example, after column {len(error.doc.rstrip())}"
    words = next((words for begin, words in _MISTAKES.items() if error.msg.startswith(begin)), None)
    return f"there is a mistake in column {column}" if words is None else words.format(column)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of names and values. Python's default would silently keep only the last of duplicate names."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise InvalidInputError("field-twice", f"the name {briefly(twice)} occurs twice in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)


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
    no_labels = columns.labels is not None and not any(name in fields for name in columns.label_names)
    return no_labels or not any(name in fields for name in columns.inputs)


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
    has_text = any(name in fields for name in columns.texts)
    features = columns.features if isinstance(columns.features, str) else None
    has_features = features in fields or any(name in fields for name in columns.numbers)
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

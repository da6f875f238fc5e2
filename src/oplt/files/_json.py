# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Objects of JSON: by a fast decoder, or, if that refuses a line, by Python's, which says what is wrong."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import msgspec

from oplt.errors import InvalidInputError
from oplt.files._examples import first_repeated
from oplt.files._source import as_text
from oplt.wording import briefly

__all__ = ["object_of"]


def object_of(line: bytes) -> dict[str, Any] | None:
    """Parse a line of UTF-8; None if it is blank."""
    try:
        found = _FAST.decode(line)
    except (ValueError, RecursionError):  # NaN, numbers beyond all bounds, lone surrogates; or not JSON
        return _slowly(line)
    # Where names are repeated, the fast decoder keeps the last. Each name ends with a quote and a colon, so there are
    # at most as many names as such places; if that is the number of names that were kept, none is repeated.
    if type(found) is dict and len(_ENDS_OF_NAMES.findall(line)) == _n_names(found):
        return found
    return _slowly(line)


_FAST = msgspec.json.Decoder()
_ENDS_OF_NAMES = re.compile(rb'"[ \t\r\n]*:')


def _n_names(found: dict[str, Any]) -> int:
    """Count the names of an object and of those in it. Objects in lists or deeper ones are left to the slow decoder."""
    return len(found) + sum(len(value) for value in found.values() if type(value) is dict)


def _slowly(line: bytes) -> dict[str, Any] | None:
    text = as_text(line)
    return None if text.isspace() else _parsed(text)


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

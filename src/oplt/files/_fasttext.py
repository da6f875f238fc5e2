# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The fastText format: `__label__one __label__two the text`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oplt.errors import InvalidInputError
from oplt.files._examples import Columns, Example, Problems
from oplt.wording import briefly

__all__ = ["PREFIX", "examples", "line"]

PREFIX = "__label__"
_BLANKS = " \t\v\f\r\n\0"  # the characters that end a word in fastText
_LABEL = re.compile(rf"(?<![^{_BLANKS}]){PREFIX}([^{_BLANKS}]*)[{_BLANKS}]*")


def examples(lines: Iterator[tuple[int, str]], columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples; blank lines are ignored. Labels may be anywhere in a line, and a line may have none."""
    for number, text in lines:
        if not text.strip(_BLANKS):
            continue
        labels: list[str | int] = list(_LABEL.findall(text))
        if not all(labels):
            what = f"a label is empty: nothing follows {PREFIX!r}"
            problems.bad(number, InvalidInputError("name-not-valid", what))
            continue
        x = _LABEL.sub("", text).strip(_BLANKS)
        yield Example(x, labels, 1.0, number, {"text": x} if columns.keep else None)


def line(example: Example) -> str:
    """Write an example; line breaks in its text become spaces."""
    if not isinstance(example.x, str):
        raise InvalidInputError("not-writable", "fastText lines hold texts, but the example has features")
    if example.weight != 1:
        raise InvalidInputError("not-writable", "fastText lines have no weights", got=f"the weight {example.weight}")
    labels = list(map(str, example.labels))
    bad = next((label for label in labels if any(blank in label for blank in _BLANKS)), None)
    if bad is not None:
        raise InvalidInputError("not-writable", "a fastText label cannot contain whitespace", got=briefly(bad))
    text = re.sub(r"\r\n|\n|\r", " ", example.x).strip(_BLANKS)
    if _LABEL.search(text):
        what = f"the text has a word that begins with {PREFIX!r}, which would be read as a label"
        raise InvalidInputError("not-writable", what)
    if not labels and not text:
        what = "an example without labels and text cannot be written, because fastText ignores blank lines"
        raise InvalidInputError("not-writable", what)
    return " ".join([*(PREFIX + label for label in labels), text])

# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""The lines of fastText: `__label__one __label__two the text`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oplt.files._examples import Columns, Example, NotAnExampleError, Problems

__all__ = ["PREFIX", "examples", "line"]

PREFIX = "__label__"
_BLANKS = " \t\v\f\r\n\0"  # what fastText takes as the end of a word
_LABEL = re.compile(rf"(?<![^{_BLANKS}]){PREFIX}([^{_BLANKS}]*)[{_BLANKS}]*")


def examples(lines: Iterator[tuple[int, str]], _columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read examples; blank lines are ignored. Labels may stand anywhere, and a line may have none."""
    for number, text in lines:
        if not text.strip(_BLANKS):
            continue
        labels: list[str | int] = list(_LABEL.findall(text))
        if not all(labels):
            problems.bad(number, f"a label is empty: there is nothing behind {PREFIX!r}")
            continue
        yield Example(_LABEL.sub("", text).strip(_BLANKS), labels, 1.0, number)


def line(example: Example) -> str:
    """Write an example; ends of lines in its text become spaces."""
    if not isinstance(example.x, str):
        msg = "fastText lines hold texts, but the example has features"
        raise NotAnExampleError(msg)
    if example.weight != 1:
        msg = f"fastText lines have no weights, but that of the example is {example.weight}"
        raise NotAnExampleError(msg)
    labels = list(map(str, example.labels))
    bad = next((label for label in labels if any(blank in label for blank in _BLANKS)), None)
    if bad is not None:
        msg = f"a label of fastText has no blanks, got {bad!r}"
        raise NotAnExampleError(msg)
    text = re.sub(r"\r\n|\n|\r", " ", example.x).strip(_BLANKS)
    if _LABEL.search(text):
        msg = f"the text has a word that begins with {PREFIX!r}, which would be read as a label"
        raise NotAnExampleError(msg)
    if not labels and not text:
        msg = "it has neither labels nor a text: a blank line of fastText is no example"
        raise NotAnExampleError(msg)
    return " ".join([*(PREFIX + label for label in labels), text])

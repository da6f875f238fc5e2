# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Plain text: each line is an example, empty lines included, so that predictions match the input line by line."""

from __future__ import annotations

from collections.abc import Iterator

from oplt.files._examples import Columns, Example, Problems

__all__ = ["examples"]


def examples(lines: Iterator[tuple[int, str]], columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read texts. They have no labels, so asking for labels is an error."""
    if columns.labels is not None:
        problems.fatal(
            "labels-missing",
            "plain text has no labels",
            hint="Pass labels=None, or use a format that has labels.",
        )
    for number, text in lines:
        x = text.removesuffix("\n").removesuffix("\r")
        yield Example(x, [], 1.0, number, {"text": x} if columns.keep else None)

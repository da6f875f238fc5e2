# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Plain lines: each is a text, the empty ones, too, so that what is told of them stands beside them line by line."""

from __future__ import annotations

from collections.abc import Iterator

from oplt.files._examples import Columns, Example, Problems

__all__ = ["examples"]


def examples(lines: Iterator[tuple[int, str]], columns: Columns, problems: Problems) -> Iterator[Example]:
    """Read texts. They have no labels, so nobody may want them."""
    if columns.labels is not None:
        problems.fatal(
            "labels-missing",
            "lines of plain text have no labels",
            hint="Use labels=None, or a format that has them.",
        )
    for number, text in lines:
        x = text.removesuffix("\n").removesuffix("\r")
        yield Example(x, [], 1.0, number, {"text": x} if columns.keep else None)

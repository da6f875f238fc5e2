# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names and numbers as people read them."""

from __future__ import annotations

__all__ = ["number_of", "on_one_line"]


def on_one_line(name: str | int) -> str:
    r"""Write a name such that it stays in its place: what does not print, such as a newline, is an escape.

    Examples
    --------
    >>> on_one_line("two\nlines")
    'two\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))


def number_of(n: int, what: str) -> str:
    """Say how many.

    Examples
    --------
    >>> number_of(1, "label"), number_of(46414, "label")
    ('1 label', '46,414 labels')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"

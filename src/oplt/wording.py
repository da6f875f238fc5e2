# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names and numbers as people read them. It imports nothing: the help of a command is there at once."""

from __future__ import annotations

__all__ = ["number_of", "on_one_line", "size"]


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


def size(n_bytes: float) -> str:
    """Say how many bytes, in thousands, millions and so on.

    Examples
    --------
    >>> size(999), size(1_234_567)
    ('999 B', '1.2 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes:.0f} B"
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 999.95:  # what is more would be written as 1000.0
            return f"{n_bytes:.1f} {unit}"
    return f"{n_bytes / 1000:,.1f} TB"

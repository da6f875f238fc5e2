# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Formatting of names and numbers for people."""

from __future__ import annotations

from typing import Any
from unicodedata import category, combining, east_asian_width

__all__ = ["briefly", "for_terminals", "number_of", "on_one_line", "width"]

_JOINERS = "\u200c\u200d"  # joiners, which distinguish words in Persian and Hindi, and some emoji


def on_one_line(name: str | int) -> str:
    r"""Format a name on one line: characters that do not print, such as newlines, are escaped.

    Spaces of all scripts are left as they are, and so are the joiners that some scripts need within words.

    Examples
    --------
    >>> on_one_line("two\nlines")
    'two\\nlines'
    """
    return "".join(c if _stays(c) else c.encode("unicode_escape").decode() for c in str(name))


def _stays(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs" or character in _JOINERS


def for_terminals(text: str) -> str:
    r"""Escape characters that a terminal would interpret: control characters, and those that reorder text.

    Unlike `on_one_line`, it leaves newlines and tabs as they are, since the text is already laid out in lines.

    Examples
    --------
    >>> for_terminals("evil\x9b2J\u202egpj.oplt:\n  no such file")
    'evil\\x9b2J\\u202egpj.oplt:\n  no such file'
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _stays(c) else c.encode("unicode_escape").decode() for c in text)


def width(text: str) -> int:
    """Count the columns of a text in a fixed-width font: two for each Chinese, Japanese and Korean character.

    Accents and joiners take no columns.

    Examples
    --------
    >>> width("Käse"), width("チーズ")
    (4, 6)
    """
    return sum(0 if combining(c) or c in _JOINERS else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def number_of(n: int, what: str) -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> number_of(1, "label"), number_of(46414, "label")
    ('1 label', '46,414 labels')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def briefly(value: Any) -> str:
    """Format a received value for a message, shortened if necessary.

    Examples
    --------
    >>> briefly("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

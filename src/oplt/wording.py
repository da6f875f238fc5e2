# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Names and numbers as people read them."""

from __future__ import annotations

from typing import Any
from unicodedata import category, combining, east_asian_width

__all__ = ["briefly", "for_terminals", "number_of", "on_one_line", "width"]

_JOINERS = "\u200c\u200d"  # without which words of Persian and Hindi, and some emoji, are others


def on_one_line(name: str | int) -> str:
    r"""Write a name such that it stays in its place: what does not print, such as a newline, is an escape.

    Spaces of all scripts are left as they are; so are the joiners that some scripts write words with.

    Examples
    --------
    >>> on_one_line("two\nlines")
    'two\\nlines'
    """
    return "".join(c if _stays(c) else c.encode("unicode_escape").decode() for c in str(name))


def _stays(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs" or character in _JOINERS


def for_terminals(text: str) -> str:
    r"""Escape what a terminal would obey instead of showing: control characters, and those that reorder a text.

    Unlike `on_one_line`, it leaves ends of lines and tabs as they are: the text has been put in lines already.

    Examples
    --------
    >>> for_terminals("evil\x9b2J\u202egpj.oplt:\n  no such file")
    'evil\\x9b2J\\u202egpj.oplt:\n  no such file'
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _stays(c) else c.encode("unicode_escape").decode() for c in text)


def width(text: str) -> int:
    """Count the columns that a text takes where all letters are as wide: two for those of Chinese, Japanese and Korean.

    Accents and joiners take no room.

    Examples
    --------
    >>> width("Käse"), width("チーズ")
    (4, 6)
    """
    return sum(0 if combining(c) or c in _JOINERS else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def number_of(n: int, what: str) -> str:
    """Say how many.

    Examples
    --------
    >>> number_of(1, "label"), number_of(46414, "label")
    ('1 label', '46,414 labels')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def briefly(value: Any) -> str:
    """Show what was received, in a message.

    Examples
    --------
    >>> briefly("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

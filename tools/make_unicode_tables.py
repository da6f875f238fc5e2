# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""Write cpp/encode/unicode_tables.hpp from what this Python knows of Unicode.

Run: python tools/make_unicode_tables.py > cpp/encode/unicode_tables.hpp && make format

Only a newer version of Unicode is a reason to run it again, and then models that have learnt texts in the scripts
concerned see other words from then on.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby

# Scripts that put no space between words: each of their letters counts as a word.
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA LETTER",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)

HEADER = """\
// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Unicode {version}. Made by tools/make_unicode_tables.py: do not edit.
#pragma once

#include "oplt/unicode.hpp"

namespace oplt {{
"""


def kind(c: str) -> str:
    """How a character takes part in words; oplt/unicode.hpp says what each kind means."""
    category = unicodedata.category(c)
    if category[0] in "LN" or c == "_":
        alone = category[0] == "L" and unicodedata.name(c, "").startswith(UNSPACED)
        return "kAlone" if alone else "kWord"
    if c == "\u200b":  # "zero width space": the space of scripts that show none
        return "kOther"
    return {"M": "kMark", "Cf": "kIgnored"}.get(category if category == "Cf" else category[0], "kOther")


def fold(c: str) -> str:
    """Case folding to one character; one that would become several, as ß would, stays itself."""
    return next((folded for folded in (c.casefold(), c.lower()) if len(folded) == 1), c)


def kind_ranges() -> Iterator[str]:
    """Ranges of characters of one kind."""
    for found, group in groupby(range(sys.maxunicode + 1), lambda code: kind(chr(code))):
        if found != "kOther":
            codes = list(group)
            yield f"{{0x{codes[0]:X}, 0x{codes[-1]:X}, CharKind::{found}}}"


def fold_ranges() -> Iterator[str]:
    """Ranges of every or every second character whose folding is equally far away."""
    rest = [(code, ord(fold(chr(code))) - code) for code in range(sys.maxunicode + 1)]
    rest = [(code, distance) for code, distance in rest if distance]
    while rest:
        first, distance = rest[0]
        step = 1 if (first + 1, distance) in rest[1:2] else 2
        n = 1
        while n < len(rest) and rest[n] == (first + n * step, distance):
            n += 1
        yield f"{{0x{first:X}, 0x{rest[n - 1][0]:X}, {step}, {distance}}}"
        rest = rest[n:]


def table(of: str, name: str, ranges: Callable[[], Iterator[str]]) -> str:
    """C++ of an array."""
    return f"inline constexpr {of} {name}[] = {{{', '.join(ranges())}}};\n"


def main() -> None:
    """Print the header file."""
    print(HEADER.format(version=unicodedata.unidata_version))
    print(table("KindRange", "kKindRanges", kind_ranges))
    print(table("FoldRange", "kFoldRanges", fold_ranges))
    print("}  // namespace oplt")


if __name__ == "__main__":
    main()

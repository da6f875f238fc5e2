# SPDX-FileCopyrightText: The oplt developers
# SPDX-License-Identifier: MIT
"""A slow reference implementation of `oplt.text.TextFeatures`."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA LETTER",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)


def fold(c: str) -> str:
    """Lower case of one character, as long as that is one character."""
    return next((folded for folded in (c.casefold(), c.lower()) if len(folded) == 1), c)


EMOJI = re.compile(
    "[\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50-\u2b55\U0001f000-\U0001faff]"
)
FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")
SKIN_TONE = re.compile("[\U0001f3fb-\U0001f3ff]")
BLANKS = re.compile("[\\0- \x7f-\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ud800-\udfff]+")


def is_letter(c: str) -> bool:
    return unicodedata.category(c)[0] in "LN" or c == "_"


def is_alone(c: str) -> bool:
    return unicodedata.category(c)[0] == "L" and unicodedata.name(c, "").startswith(UNSPACED)


def symbols_at_end(text: str, place: int) -> str:
    run = re.compile(r"[+#]*").match(text, place)
    assert run is not None
    following = text[place + 1 : place + 2]
    goes_on = bool(following) and is_letter(following) and not is_alone(following)
    return run[0] if run[0] == "++" or (run[0] in ("+", "#") and not goes_on) else ""


def words(text: str, *, symbols: bool = True) -> list[str]:  # noqa: C901, PLR0912 (plain, and in one piece)
    found: list[str] = []
    is_open = False  # whether a letter would continue the last word
    has_word = False  # whether a mark would
    is_half_flag = False
    n_taken = 0
    for place, c in enumerate(text):
        if place < n_taken:
            continue
        if symbols and is_open and (end := symbols_at_end(text, place)):
            found[-1] += end
            n_taken = place + len(end)
            is_open = has_word = is_half_flag = False
            continue
        category = unicodedata.category(c)
        if (category == "Cf" and c != "\u200b") or (symbols and c == "\ufe0f"):
            continue
        if symbols and EMOJI.match(c):
            if (is_half_flag and FLAG_LETTER.match(c)) or (has_word and SKIN_TONE.match(c)):
                found[-1] += c
                is_half_flag = False
            else:
                found.append(c)
                is_half_flag = FLAG_LETTER.match(c) is not None
                is_open, has_word = False, True
            continue
        if category[0] != "M":
            is_half_flag = False
        if category[0] == "M":
            if has_word:
                found[-1] += fold(c)
        elif category[0] in "LN" or c == "_":
            if is_open and not is_alone(c):
                found[-1] += fold(c)
            else:
                found.append(fold(c))
            is_open, has_word = not is_alone(c), True
        else:
            is_open = has_word = False
    return found


def windows(sequence: list[str] | str, bounds: tuple[int, int] | None) -> Iterator[list[str] | str]:
    least, most = bounds or (1, 0)
    for n in range(least, most + 1):
        for i in range(len(sequence) - n + 1):
            yield sequence[i : i + n]


def terms(text: str, ngrams: tuple[int, int] | None, chars: tuple[int, int] | None, *, symbols: bool) -> Counter[str]:
    found = words(text, symbols=symbols)
    counted = Counter(" ".join(window) for window in windows(found, ngrams))
    chunks = ["".join(map(fold, chunk)) for chunk in BLANKS.split(text)] if symbols else found
    for chunk in chunks:
        counted.update("~" + "".join(window) for window in windows(f" {chunk} ", chars) if chunk)
    return counted


@dataclass
class TextFeatures:
    """Terms by feature, with their scores: see Space-Saving in the documentation of the real one."""

    ngrams: tuple[int, int] | None = (1, 1)
    chars: tuple[int, int] | None = None
    idf: bool = True
    sublinear: bool = True
    max_features: int | None = None
    symbols: bool = True

    n_texts: int = 0
    names: list[str] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    inherited: list[int] = field(default_factory=list)

    def learn(self, text: str) -> dict[str, float]:
        """Count a text, and compute its row from the updated counts."""
        self.n_texts += 1
        found = terms(text, self.ngrams, self.chars, symbols=self.symbols)
        present = {name for name in found if name in self.names}
        for name in present:
            self.scores[self.names.index(name)] += 1
        # By their bytes; characters after words of the same text.
        for name in sorted(set(found) - present, key=lambda name: (name.removeprefix("~").encode(), name[0] == "~")):
            if self.add(name, present):
                present.add(name)
        return self.transform(text)

    def add(self, name: str, present: set[str]) -> bool:
        if self.max_features is None or len(self.names) < self.max_features:
            self.names.append(name)
            self.scores.append(1)
            self.inherited.append(0)
            return True
        free = [i for i, old in enumerate(self.names) if old not in present]
        if not free:
            return False
        place = min(free, key=lambda i: (self.scores[i], i))
        self.names[place] = name
        self.inherited[place] = self.scores[place]
        self.scores[place] += 1
        return True

    def transform(self, text: str) -> dict[str, float]:
        row = {}
        for name, frequency in terms(text, self.ngrams, self.chars, symbols=self.symbols).items():
            if name in self.names:
                i = self.names.index(name)
                n_with = self.scores[i] - self.inherited[i]
                tf = 1 + math.log(frequency) if self.sublinear else frequency
                row[name] = tf * (1 + math.log((1 + self.n_texts) / (1 + n_with)) if self.idf else 1)
        norm = math.sqrt(sum(value * value for value in row.values())) or 1
        return {name: value / norm for name, value in row.items()}
